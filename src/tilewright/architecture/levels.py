"""The levels of an architecture file, one at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tilewright.architecture import units
from tilewright.architecture.machine import Array, Compute, Memory
from tilewright.architecture.schema import (
    MAX_NUMBER,
    ArrayLevel,
    BandwidthKeys,
    ComputeLevel,
    DmaKeys,
    EnergyKeys,
    Kind,
    MemoryLevel,
    NetworkKeys,
    NetworksKeys,
)
from tilewright.architecture.technology import Technology, load_technology, technology_names
from tilewright.architecture.transfers import Dma, Networks
from tilewright.document import Document, KeyPath, describe
from tilewright.errors import InputError

ROLE_NAMES = {"input": "I", "inputs": "I", "weight": "W", "weights": "W"}
ROLE_NAMES |= {"output": "O", "outputs": "O"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

Keys = TypeVar("Keys", MemoryLevel, ArrayLevel, ComputeLevel)


def role(name: str) -> str:
    """Return the role that a tensor name in an architecture stands for.

    ``inputs``, ``weights`` and ``outputs`` are ``I``, ``W`` and ``O``; other names are kept.
    """
    return ROLE_NAMES.get(name.lower(), name)


@dataclass(frozen=True)
class Surroundings:
    """What the keys of one level need to know of the rest of the file.

    Attributes
    ----------
    document : Document
        The file.
    path : tuple of str and int
        Where in it the level stands.
    clock_hz : float
        Clock of the machine, for bandwidths per second.
    technology : Technology or None
        Table of the machine, for energies that are left out.
    word_bits : int or None
        Word of the nearest memory above the level.
    kind : str
        Kind of a memory here when it does not say: ``"dram"`` for the outermost,
        ``"registers"`` below an array, ``"sram"`` otherwise.
    """

    document: Document
    path: KeyPath
    clock_hz: float
    technology: Technology | None
    word_bits: int | None
    kind: Kind

    def error(self, message: str, *keys: str | int) -> InputError:
        """Return an error that points at a key of the level."""
        return self.document.error(message, (*self.path, *keys))


def named_technology(document: Document, path: KeyPath, name: str | None) -> Technology | None:
    """Return the table that the key ``technology`` at `path` names, if any."""
    if name is None:
        return None
    try:
        return load_technology(name, Path(document.source).parent)
    except InputError as failure:
        if failure.source is not None:
            raise
        raise document.error(failure.message, (*path, "technology")) from None


def _keys(around: Surroundings, model: type[Keys], name_key: str) -> tuple[Keys, Technology | None]:
    keys = around.document.validate(model, around.path)
    _check_name(around.document, (*around.path, name_key), getattr(keys, name_key))
    own = named_technology(around.document, around.path, keys.technology)
    return keys, own or around.technology


def read_memory(around: Surroundings) -> Memory:
    """Return the memory that a level describes."""
    keys, technology = _keys(around, MemoryLevel, "memory")
    word_bits = _bits(around, keys.word, None, "word")
    capacity, parts = _size(around, keys.size, word_bits)
    kind = keys.kind or around.kind
    # An access to a partitioned memory goes to one part; the largest stands for all.
    accessed = max(parts.values()) if parts else capacity
    published = technology.memory_energy(kind, accessed, word_bits) if technology else None
    energy = _energies(around, keys.energy)
    missing = [name for name, given in energy.model_dump().items() if given is None]
    if published is None and missing:
        what = f"{' and '.join(missing)} energy"
        raise _no_energy(around, what, "energy: {read: 6, write: 6}", technology, f"kind '{kind}'")
    rates = _bandwidths(around, keys.bandwidth, word_bits)
    block_bytes = None
    if keys.block is not None:
        block_bits = _bits(around, keys.block, word_bits, "block")
        if block_bits % 8:
            raise around.error(f"must be whole bytes, found {block_bits} bits", "block")
        block_bytes = block_bits // 8
    return Memory(
        name=keys.memory,
        word_bits=word_bits,
        capacity_bits=capacity,
        tensor_bits=parts,
        read_energy=_first(energy.read, published),
        write_energy=_first(energy.write, published),
        read_bandwidth=rates.get("read"),
        write_bandwidth=rates.get("write"),
        shared_bandwidth=rates.get("shared"),
        buffering=2 if keys.buffering == "double" else 1,
        retention=keys.retention,
        banks=keys.banks,
        block_bytes=block_bytes,
        keep=None if keys.keep is None else frozenset(map(role, keys.keep)),
        must_keep=frozenset(map(role, keys.must_keep)),
        leakage=keys.leakage,
        area=keys.area,
        dma=_dma(around, keys.dma),
    )


def _dma(around: Surroundings, given: object) -> Dma | None:
    if given is None:
        return None
    keys = around.document.validate(DmaKeys, (*around.path, "dma"))
    clock_hz = None
    if keys.clock is not None:
        try:
            clock_hz = units.hertz(keys.clock)
        except ValueError as failure:
            raise around.error(str(failure), "dma", "clock") from None
    return Dma(keys.startup, keys.per_byte, clock_hz)


def _energies(around: Surroundings, given: Any) -> EnergyKeys:
    if given is None:
        return EnergyKeys()
    if isinstance(given, dict):
        return around.document.validate(EnergyKeys, (*around.path, "energy"))
    if (
        isinstance(given, bool)
        or not isinstance(given, int | float)
        or not 0 <= given <= MAX_NUMBER
    ):
        raise around.error(
            "expected pJ per word, a number of at least 0 or {read: , write: }, "
            f"found {describe(given)}",
            "energy",
        )
    return EnergyKeys(read=given, write=given)


def _bandwidths(around: Surroundings, given: object, word_bits: int) -> dict[str, float]:
    """Return words per cycle by direction; one value bounds reads and writes together."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        return {"shared": _words_per_cycle(around, given, word_bits, "bandwidth")}
    keys = around.document.validate(BandwidthKeys, (*around.path, "bandwidth"))
    return {
        name: _words_per_cycle(around, rate, word_bits, "bandwidth", name)
        for name, rate in keys.model_dump().items()
        if rate is not None
    }


def read_array(around: Surroundings) -> Array:
    """Return the array that a level describes."""
    keys, technology = _keys(around, ArrayLevel, "array")
    if not keys.axes:
        raise around.error("an array needs at least one axis, for example {X: 16, Y: 16}", "axes")
    for axis in keys.axes:
        _check_name(around.document, (*around.path, "axes", axis), axis)
    network = NetworkKeys()
    if keys.network is not None:
        network = around.document.validate(NetworkKeys, (*around.path, "network"))
    word_bits = around.word_bits or 1
    if network.word is not None:
        word_bits = _bits(around, network.word, None, "network", "word")
    hop = technology.hop_energy(word_bits) if technology else 0.0
    bandwidth = network.bandwidth
    if bandwidth is not None:
        bandwidth = _words_per_cycle(around, bandwidth, word_bits, "network", "bandwidth")
    networks = None
    if network.networks is not None:
        path = (*around.path, "network", "networks")
        given = around.document.validate(NetworksKeys, path)
        networks = Networks(given.read, given.write, given.reduction)
    if network.adders == "network" and (networks is None or not networks.reduction):
        raise around.error(
            "partial sums need a network to be added up on: give their number, for example "
            "'networks: {read: 3, write: 1, reduction: 1}'; 'tree' and 'hops' need none",
            "network", "adders",
        )  # fmt: skip
    return Array(
        name=keys.array,
        axes=dict(keys.axes),
        multicast=network.multicast,
        reduction=network.reduction,
        forwarding=network.forwarding,
        hop_energy=_first(network.energy, hop),
        bandwidth=bandwidth,
        networks=networks,
        adders=network.adders,
    )


def read_compute(around: Surroundings) -> Compute:
    """Return the compute unit that a level describes."""
    keys, technology = _keys(around, ComputeLevel, "compute")
    word_bits = around.word_bits or 1
    if keys.word is not None:
        word_bits = _bits(around, keys.word, None, "word")
    published = technology.mac_energy(word_bits, keys.arithmetic) if technology else None
    if keys.energy is None and published is None:
        raise _no_energy(
            around, "energy per operation", "energy: 1", technology, f"{keys.arithmetic} arithmetic"
        )
    return Compute(
        name=keys.compute,
        energy=_first(keys.energy, published),
        cycles=keys.cycles,
        leakage=keys.leakage,
        area=keys.area,
        gated=keys.gated,
    )


def _no_energy(
    around: Surroundings, what: str, example: str, technology: Technology | None, lacking: str
) -> InputError:
    if technology is None:
        tables = ", ".join(technology_names())
        return around.error(
            f"no {what}: give it (for example '{example}'), "
            f"or name a table with 'technology' ({tables})"
        )
    return around.error(
        f"no {what}, and technology '{technology.name}' has none for {lacking}: "
        f"give it (for example '{example}') or name another table"
    )


def _size(
    around: Surroundings, given: object, word_bits: int
) -> tuple[int | None, dict[str, int] | None]:
    if given is None:
        return None, None
    if not isinstance(given, dict):
        return _bits(around, given, word_bits, "size"), None
    parts: dict[str, int] = {}
    for name, value in given.items():
        if role(name) in parts:
            raise around.error(f"tensor '{role(name)}' is given a size twice", "size", name)
        parts[role(name)] = _bits(around, value, word_bits, "size", name)
    if not parts:
        raise around.error("give a size, or a size per tensor such as {I: 24 B, W: 448 B}", "size")
    return sum(parts.values()), parts


def _first(given: float | None, otherwise: float | None) -> float:
    value = otherwise if given is None else given
    assert value is not None
    return float(value)


def _bits(around: Surroundings, value: object, word_bits: int | None, *keys: str) -> int:
    try:
        return units.bits(value, word_bits)
    except ValueError as failure:
        raise around.error(str(failure), *keys) from None


def _words_per_cycle(around: Surroundings, value: object, word_bits: int, *keys: str) -> float:
    try:
        return units.words_per_cycle(value, word_bits, around.clock_hz)
    except ValueError as failure:
        raise around.error(str(failure), *keys) from None


def _check_name(document: Document, path: KeyPath, name: str) -> None:
    if not NAME.fullmatch(name):
        raise document.error(
            f"a name is letters, digits, '_' and '-' after a letter or '_', found {name!r}",
            path,
        )
