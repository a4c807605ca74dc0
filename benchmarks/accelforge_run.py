"""Map one layer with AccelForge; runs under a Python of its own, without tilewright.

Reads from the standard input what to map, as JSON, and writes what was found; its argument is how
many CPU seconds it may take. Sizes of memories are in bits, energies in pJ per word of 16 bits,
throughputs in words per cycle.
"""

import json
import resource
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import accelforge
from accelforge.mapper.FFM.main import map_workload_to_arch

ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    leak_power: 0
    area: 0
    tensors: {{keep: All}}
    total_latency: "max(a.n_calls / a.throughput for a in actions)"
    actions:
    - {{name: read, energy: 200, throughput: 16, bits_per_action: 16}}
    - {{name: write, energy: 200, throughput: 16, bits_per_action: 16}}
  - !Memory
    name: GLB
    size: 65536 * 16
    leak_power: 0
    area: 0
    tensors: {tensors}
    total_latency: "max(a.n_calls / a.throughput for a in actions)"
    actions:
    - {{name: read, energy: 6, throughput: 64, bits_per_action: 16}}
    - {{name: write, energy: 6, throughput: 64, bits_per_action: 16}}
  - !Container
    name: PE
    spatial:
    - {{name: X, fanout: 16}}
    - {{name: Y, fanout: 16}}
  - !Memory
    name: RF
    size: 256 * 16
    leak_power: 0
    area: 0
    tensors: {tensors}
    actions:
    - {{name: read, energy: 1, throughput: inf, bits_per_action: 16}}
    - {{name: write, energy: 1, throughput: inf, bits_per_action: 16}}
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions:
    - {{name: compute, energy: 1, throughput: 1}}
"""


def workload(layer: dict) -> str:
    """Return a layer in its format; ranks of the tensors are named after their expressions."""
    sizes = [f"    {d.lower()}: 0 <= {d.lower()} < {n}" for d, n in layer["bounds"].items()]
    accesses = []
    for name, expressions in layer["tensors"].items():
        ranks = ", ".join(
            f"{name}{i}: {expression.lower()}" for i, expression in enumerate(expressions)
        )
        output = ", output: True" if name == layer["output"] else ""
        accesses.append(f"    - {{name: {name}, projection: {{{ranks}}}{output}}}")
    return "\n".join(
        ["workload:", "  iteration_space_shape:", *sizes, "  bits_per_value: {All: 16}",
         "  einsums:", "  - name: layer", "    tensor_accesses:", *accesses, ""]
    )  # fmt: skip


def main() -> None:
    most = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
    case = json.load(sys.stdin)
    keep = "{keep: All}" if case["keep"] else "{may_keep: All}"
    with TemporaryDirectory() as folder:
        arch, layer = Path(folder) / "arch.yaml", Path(folder) / "workload.yaml"
        arch.write_text(ARCH.format(tensors=keep))
        layer.write_text(workload(case["layer"]))
        spec = accelforge.Spec.from_yaml(str(arch), str(layer))
    accelforge.set_n_parallel_jobs(1)
    metrics = accelforge.Metrics
    spec.mapper.metrics = {
        "energy": metrics.ENERGY,
        "latency": metrics.LATENCY,
        "edp": metrics.ENERGY_DELAY_PRODUCT,
    }[case["objective"]]
    begin, cpu = perf_counter(), process_time()
    # a detailed evaluation would draw the mapping with Graphviz
    found = map_workload_to_arch(spec, print_progress=False, eval_in_detail=False)
    times = {"wall": perf_counter() - begin, "cpu": process_time() - cpu}
    data = found.data
    columns = {
        c: data[c].tolist() for c in data.columns if c.startswith("Total") and "mapping" not in c
    }
    json.dump({"version": version("accelforge"), "columns": columns, **times}, sys.stdout)


if __name__ == "__main__":
    main()
