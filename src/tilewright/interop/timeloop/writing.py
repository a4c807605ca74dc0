"""Layers and machines as problems and architectures of Timeloop, version 0.4."""

from __future__ import annotations

import json
from typing import Any

from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.errors import InputError
from tilewright.workload.layer import Layer, Tensor

VERSION = "0.4"
AXES = ("meshX", "meshY")


def flow(value: Any) -> str:
    """Return data as YAML on one line."""
    return json.dumps(value, ensure_ascii=False)


def problem_text(layer: Layer, left_out: list[str]) -> str:
    """Return a layer as a problem; what Timeloop has no words for is added to `left_out`."""
    coefficients: dict[str, int] = {}
    spaces = []
    for tensor in layer.tensors:
        axes = [
            [term_data(tensor, t.dimension, t.coefficient, coefficients) for t in terms]
            for terms in tensor.expressions
        ]
        ending = ", read_write: true" if tensor.is_output else ""
        spaces.append(f"    - {{name: {tensor.name}, projection: {flow(axes)}{ending}}}")
        if tensor.bits is not None:
            left_out.append(f"{tensor.name} has {tensor.bits} bits: words are those of memories")
        if tensor.layout is not None:
            left_out.append(f"the layout of {tensor.name}")
    if layer.operation != "mac":
        left_out.append(f"operation '{layer.operation}': Timeloop multiplies and accumulates")
    if layer.repeat != 1:
        left_out.append(f"{layer.repeat} layers are equal: the problem is one of them")
    lines = ["problem:", f"  version: {VERSION}", "  shape:", f"    name: {flow(layer.name)}"]
    lines.append(f"    dimensions: {flow(list(layer.dimensions))}")
    if coefficients:
        lines.append("    coefficients:")
        lines += [f"    - {{name: {name}, default: {c}}}" for name, c in coefficients.items()]
    lines += ["    data_spaces:", *spaces, "  instance:"]
    lines += [f"    {name}: {bound}" for name, bound in layer.bounds.items()]
    sparse = {tensor.name: tensor.density for tensor in layer.tensors if tensor.density != 1.0}
    if sparse:
        lines.append("    densities:")
        lines += [
            f"      {name}: {{distribution: hypergeometric, density: {density!r}}}"
            for name, density in sparse.items()
        ]
    return "\n".join(lines) + "\n"


def term_data(
    tensor: Tensor, dimension: str, coefficient: int, coefficients: dict[str, int]
) -> list[str]:
    """Return a term of a projection; its coefficient gets a name."""
    if coefficient == 1:
        return [dimension]
    name = f"{tensor.name}_{dimension}_step"
    coefficients[name] = coefficient
    return [dimension, name]


def architecture_text(machine: Architecture, left_out: list[str]) -> str:
    """Return a machine as an architecture; what Timeloop has no words for is added to `left_out`.

    Raises
    ------
    InputError
        When an array has more than two axes.
    """
    lines = ["architecture:", f"  version: {VERSION}", "  nodes:"]
    lines += ["  - !Container", f"    name: {flow(machine.name)}"]
    for level in machine.levels:
        if isinstance(level, Array):
            lines += array_lines(level, left_out)
            continue
        attributes = (
            compute_data(level, left_out)
            if isinstance(level, Compute)
            else memory_data(level, machine, left_out)
        )
        kind = attributes.pop("class")
        lines += ["  - !Component", f"    name: {level.name}", f"    class: {kind}"]
        if attributes:
            lines.append("    attributes:")
            lines += [f"      {key}: {flow(value)}" for key, value in attributes.items()]
    if machine.constraints:
        left_out.append("constraints of the machine")
    lines += ["variables:", f"  version: {VERSION}"]
    lines.append(f"  global_cycle_seconds: {1 / machine.clock_hz!r}")
    return "\n".join(lines) + "\n"


def array_lines(array: Array, left_out: list[str]) -> list[str]:
    """Return an array as a container with a mesh."""
    if len(array.axes) > len(AXES):
        raise InputError(
            f"array '{array.name}' has {len(array.axes)} axes; a mesh of Timeloop has X and Y",
            key="architecture",
        )
    mesh = dict(zip(AXES, array.axes.values(), strict=False))
    if tuple(array.axes) == ("Y",):
        mesh = {"meshY": array.axes["Y"]}
    elif any(name != mark[-1] for name, mark in zip(array.axes, AXES, strict=False)):
        left_out.append(f"names of the axes of '{array.name}': they are X and Y there")
    unsaid = {
        "multicast: false": not array.multicast,
        "reduction: false": not array.reduction,
        "forwarding": array.forwarding,
        "bandwidth": array.bandwidth is not None,
        "energy of hops": array.hop_energy != 0,
        "networks": array.networks is not None,
        "adders": array.adders is not None,
        "area": array.area != 0,
    }
    left_out += [f"{what} of array '{array.name}'" for what, given in unsaid.items() if given]
    return ["  - !Container", f"    name: {array.name}", f"    spatial: {flow(mesh)}"]


def memory_data(memory: Memory, machine: Architecture, left_out: list[str]) -> dict[str, Any]:
    """Return the class and attributes of a memory."""
    below = any(
        isinstance(level, Array) for level in machine.levels[: machine.position[memory.name]]
    )
    bits = memory.total_bits
    kind = "DRAM" if bits is None else "regfile" if below else "SRAM"
    data: dict[str, Any] = {"class": kind, "width": memory.word_bits, "datawidth": memory.word_bits}
    if bits is not None:
        data["depth"] = bits // memory.word_bits
        if bits % memory.word_bits:
            left_out.append(f"the {bits % memory.word_bits} last bits of '{memory.name}'")
    for name in ("read_bandwidth", "write_bandwidth", "shared_bandwidth"):
        rate = getattr(memory, name)
        if rate is not None:
            data[name] = rate
    if memory.buffering != 1:
        data["multiple_buffering"] = memory.buffering
    data["vector_access_energy"] = memory.read_energy
    unsaid = {
        "energy of writes": memory.write_energy != memory.read_energy,
        "parts for single tensors": memory.tensor_bits is not None,
        "optimal retention": memory.retention != "tile",
        "banks": memory.banks is not None,
        "bursts": memory.block_bytes is not None,
        "what may or must be kept": memory.keep is not None or bool(memory.must_keep),
        "leakage": memory.leakage != 0,
        "area": memory.area != 0,
        "the DMA engine": memory.dma is not None,
    }
    left_out += [f"{what} of '{memory.name}'" for what, given in unsaid.items() if given]
    return data


def compute_data(compute: Compute, left_out: list[str]) -> dict[str, Any]:
    """Return the class and attributes of the compute unit."""
    unsaid = {
        "cycles per operation": compute.cycles != 1,
        "leakage": compute.leakage != 0,
        "area": compute.area != 0,
        "gating": compute.gated,
    }
    left_out += [f"{what} of '{compute.name}'" for what, given in unsaid.items() if given]
    return {"class": "intmac", "energy_per_op": compute.energy}
