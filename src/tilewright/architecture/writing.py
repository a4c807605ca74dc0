"""Machines written as architecture files."""

from __future__ import annotations

from io import StringIO
from typing import Any

from tilewright.architecture.constraints.files import constraint_data
from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.architecture.units import clock_text, size_text


def dump_architecture(architecture: Architecture) -> str:
    """Return a machine as the text of an architecture file.

    Energies are written as numbers, whether they were given or came from a technology table.
    Reading the text gives an equal machine.
    """
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 100
    text = StringIO()
    yaml.dump(architecture_data(architecture), text)
    return text.getvalue()


def architecture_data(architecture: Architecture) -> dict[str, Any]:
    """Return a machine as the plain data of an architecture file."""
    data: dict[str, Any] = {
        "name": architecture.name,
        "clock": clock_text(architecture.clock_hz),
    }
    if architecture.source:
        data["source"] = architecture.source
    if architecture.latency != "throughput":
        data["latency"] = architecture.latency
    data["levels"] = [_level(level) for level in architecture.levels]
    if architecture.constraints:
        data["constraints"] = [constraint_data(item) for item in architecture.constraints]
    return data


def _level(level: Level) -> dict[str, Any]:
    if isinstance(level, Memory):
        return _memory(level)
    if isinstance(level, Array):
        return _array(level)
    return _compute(level)


def _memory(memory: Memory) -> dict[str, Any]:
    data: dict[str, Any] = {"memory": memory.name}
    if memory.tensor_bits is not None:
        data["size"] = {role: size_text(size) for role, size in memory.tensor_bits.items()}
    elif memory.capacity_bits is not None:
        data["size"] = size_text(memory.capacity_bits)
    data["word"] = f"{memory.word_bits} bits"
    if memory.banks is not None:
        data["banks"] = memory.banks
    if memory.buffering == 2:
        data["buffering"] = "double"
    if memory.retention != "tile":
        data["retention"] = memory.retention
    if memory.keep is not None:
        data["keep"] = sorted(memory.keep)
    if memory.must_keep:
        data["must_keep"] = sorted(memory.must_keep)
    data["energy"] = {"read": _number(memory.read_energy), "write": _number(memory.write_energy)}
    bandwidth = {
        "read": memory.read_bandwidth,
        "write": memory.write_bandwidth,
        "shared": memory.shared_bandwidth,
    }
    given = {name: _number(rate) for name, rate in bandwidth.items() if rate is not None}
    if given:
        data["bandwidth"] = given["shared"] if set(given) == {"shared"} else given
    if memory.block_bytes is not None:
        data["block"] = f"{memory.block_bytes} B"
    if memory.dma is not None:
        data["dma"] = {
            "startup": _number(memory.dma.startup),
            "per_byte": _number(memory.dma.per_byte),
        }
        if memory.dma.clock_hz is not None:
            data["dma"]["clock"] = clock_text(memory.dma.clock_hz)
    return data | _costs(memory.leakage, memory.area)


def _array(array: Array) -> dict[str, Any]:
    network: dict[str, Any] = {
        "multicast": array.multicast,
        "reduction": array.reduction,
        "forwarding": array.forwarding,
        "energy": _number(array.hop_energy),
    }
    if array.bandwidth is not None:
        network["bandwidth"] = _number(array.bandwidth)
    if array.networks is not None:
        networks = array.networks
        network["networks"] = {
            "read": networks.read, "write": networks.write, "reduction": networks.reduction
        }  # fmt: skip
    if array.adders is not None:
        network["adders"] = array.adders
    data = {"array": array.name, "axes": dict(array.axes), "network": network}
    if array.split:
        data["split"] = list(array.split)
    return data | _costs(0.0, array.area)


def _compute(compute: Compute) -> dict[str, Any]:
    data: dict[str, Any] = {
        "compute": compute.name,
        "energy": _number(compute.energy),
        "cycles": _number(compute.cycles),
    }
    if compute.gated:
        data["gated"] = True
    return data | _costs(compute.leakage, compute.area)


def _costs(leakage: float, area: float) -> dict[str, Any]:
    costs = {"leakage": leakage, "area": area}
    return {name: _number(value) for name, value in costs.items() if value}


def _number(value: float) -> float | int:
    return int(value) if value.is_integer() and value < 1e15 else value
