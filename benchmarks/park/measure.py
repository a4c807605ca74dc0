"""One call of the mapper in a process of its own, so that crashes, hangs and memory are its own.

python -m benchmarks.park.measure '{"layer": FILE, "machine": FILE, "objective": "edp", ...}'
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from tempfile import TemporaryFile
from time import perf_counter, sleep
from typing import IO, Any

MARK = "compiles"  # on standard error: times are those of a compiler
PATIENCE = 30.0  # seconds beyond the limit until a call counts as hanging
COMPILATION = 300.0  # seconds that it may take besides
POLL = 0.02
MEGABYTE = 1e6


@dataclass(frozen=True)
class Call:
    """What is asked of the mapper.

    Attributes
    ----------
    workload, machine : str
        Names of what ships, or files.
    objective, tiles : str
    limit : float
        Seconds.
    workers : int or None
        None for as many as there are processors.
    """

    workload: str
    machine: str
    objective: str
    tiles: str
    limit: float
    workers: int | None = None


@dataclass(frozen=True)
class Answer:
    """What came of it.

    Attributes
    ----------
    value, bound : float or None
        Of the mapping, and below which none is; None without a mapping.
    optimal : bool
    gap : float
        By what share another mapping of the space may be better.
    seconds, cpu : float
        Wall time of the call, and CPU time of its processes.
    memory : float
        Most memory of the process and of the largest that it started, in MB.
    utilization : float
        Operations / (cycles x compute units).
    fault : str
        What went wrong: a crash, a hang, a value that the model does not confirm.
    layers, proven : int
        Layers of the network, and those whose mapping is proven to be the best.
    worst : float
        The largest gap of a layer.
    """

    value: float | None
    bound: float | None
    optimal: bool
    gap: float
    seconds: float
    cpu: float
    memory: float
    utilization: float = 0.0
    fault: str = ""
    layers: int = 1
    proven: int = 0
    worst: float = 0.0


def answer(call: Call) -> Answer:
    """Map, in this process; the kernels are loaded before."""
    import tilewright
    from benchmarks.harder import cpu_seconds
    from benchmarks.mapper import every_kernel, peak_memory

    every_kernel()
    begin, cpu_begin = perf_counter(), cpu_seconds()
    found = tilewright.map(
        call.workload, call.machine, call.objective, tiles=call.tiles, time_limit=call.limit,
        workers=call.workers, cache=False,
    )  # fmt: skip
    seconds, cpu, memory = perf_counter() - begin, cpu_seconds() - cpu_begin, peak_memory()
    count = len(found.network.layers)
    if not found.layers:
        return Answer(None, None, False, 1.0, 1.0, seconds, cpu, memory, layers=count, worst=1.0)
    proofs = [layer.proof for layer in found.layers]
    faults = []
    for layer in found.layers:
        priced = tilewright.evaluate(layer.layer, found.architecture, layer.mapping)
        exact = {
            "energy": priced.energy_pj, "latency": priced.cycles, "edp": priced.edp_pj_cycles
        }[call.objective]  # fmt: skip
        if abs(exact - layer.proof.value) > 1e-9 * exact:
            faults.append(f"{layer.layer.name}: {layer.proof.value!r}, the model says {exact!r}")
    units = found.architecture.instances(found.architecture.compute.name)
    return Answer(
        value=proofs[0].value if count == 1 else None,
        bound=proofs[0].lower_bound if count == 1 else None,
        optimal=found.optimal,
        gap=1.0 if found.unmapped else found.gap,
        seconds=seconds,
        cpu=cpu,
        memory=memory,
        utilization=found.operations / (found.cycles * units),
        fault="; ".join(faults),
        layers=count,
        proven=sum(proof.optimal for proof in proofs),
        worst=1.0 if found.unmapped else max(proof.gap for proof in proofs),
    )


def asked(call: Call) -> Answer:
    """Map in a process of its own, again where it had to compile."""
    for _ in range(3):
        given, compiled = once(call)
        if not compiled:
            break
    return given


def once(call: Call) -> tuple[Answer, bool]:
    """Map in a process of its own; return what came of it and whether something was compiled."""
    command = [sys.executable, "-m", __name__, json.dumps(asdict(call))]
    with TemporaryFile() as out, TemporaryFile() as errors:
        begin = perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=errors, start_new_session=True)
        killed, ended = False, 0
        while not ended:
            ended, status, usage = os.wait4(child.pid, os.WNOHANG)
            patience = call.limit + PATIENCE
            if perf_counter() - begin > patience and MARK in read(errors):
                patience += COMPILATION
            if perf_counter() - begin > patience and not ended:
                killed = True
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
            sleep(POLL)
        seconds = perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        said, compiled = read(errors), MARK in read(errors)
        text = read(out)
    if not child.returncode and not killed:
        return Answer(**json.loads(text)), compiled
    cpu = usage.ru_utime + usage.ru_stime
    memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MEGABYTE
    lines = [line for line in said.splitlines() if line.strip() and line != MARK]
    fault = lines[-1] if lines else f"ended with {child.returncode}"
    if killed:
        fault = f"hangs: killed after {seconds:.0f} s"
    return Answer(
        None, None, False, 1.0, 1.0, seconds, cpu, memory, fault=fault, worst=1.0
    ), compiled


def read(file: IO[bytes]) -> str:
    """Return all that a process has written into a file."""
    return os.pread(file.fileno(), 1 << 20, 0).decode(errors="replace")


def main(given: str) -> None:
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            print(MARK, file=sys.stderr, flush=True)

        def on_end(self, event: Any) -> None:
            pass

    call = Call(**json.loads(given))
    with event.install_listener("numba:compile", Listener()):
        found = answer(call)
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main(sys.argv[1])
