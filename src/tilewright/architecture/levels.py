"""The levels of an architecture file, one at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tilewright.architecture import units
from tilewright.architecture.machine import Array, Compute, Memory
from tilewright.architecture.roles import role
from tilewright.architecture.schema import (
    MAX_NUMBER,
    Arithmetic,
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
from tilewright.architecture.technology.asked import (
    Model,
    Operation,
    OperationCost,
    Storage,
    StorageCost,
)
from tilewright.architecture.technology.dram import Dram, dram_kinds
from tilewright.architecture.technology.memory_table import OutOfTableError
from tilewright.architecture.technology.pricing import Wiring, operation_cost, storage_cost
from tilewright.architecture.transfers import Dma, Networks
from tilewright.document import Document, KeyPath, describe
from tilewright.errors import InputError, nearest

KINDS: tuple[Kind, ...] = ("dram", "sram", "registers")
ARITHMETICS: tuple[Arithmetic, ...] = ("integer", "float", "bfloat")
# formats that say their width: int8, fp16, bf16
FORMATS: dict[str, Arithmetic] = {"int": "integer", "fp": "float", "bf": "bfloat"}
FORMAT = re.compile(r"(int|fp|bf)([1-9][0-9]{0,2})")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

Keys = TypeVar("Keys", MemoryLevel, ArrayLevel, ComputeLevel)


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
    technology : callable or None
        Of the machine, for energies and areas that are left out.
    word_bits : int or None
        Word of the nearest memory above the level.
    kind : str
        Kind of a memory here when it does not say: ``"dram"`` for the outermost,
        ``"registers"`` below an array, ``"sram"`` otherwise.
    notes : list of str
        Takes what numbers rest on that were not published as they are.
    """

    document: Document
    path: KeyPath
    clock_hz: float
    technology: Model | None
    word_bits: int | None
    kind: Kind
    notes: list[str] = field(default_factory=list)

    def error(self, message: str, *keys: str | int) -> InputError:
        """Return an error that points at a key of the level."""
        return self.document.error(message, (*self.path, *keys))


def named_technology(document: Document, path: KeyPath, name: str | None) -> Model | None:
    """Return the technology that the key ``technology`` at `path` names, if any."""
    if name is None:
        return None
    from tilewright.architecture.technology.files import load_model

    try:
        return load_model(name, Path(document.source).parent)
    except InputError as failure:
        if failure.source is not None:
            raise
        raise document.error(failure.message, (*path, "technology")) from None


def _keys(around: Surroundings, model: type[Keys], name_key: str) -> tuple[Keys, Model | None]:
    keys = around.document.validate(model, around.path)
    _check_name(around.document, (*around.path, name_key), getattr(keys, name_key))
    own = named_technology(around.document, around.path, keys.technology)
    return keys, own or around.technology


def read_memory(around: Surroundings) -> Memory:
    """Return the memory that a level describes."""
    keys, technology = _keys(around, MemoryLevel, "memory")
    word_bits = _bits(around, keys.word, None, "word")
    capacity, parts = _size(around, keys.size, word_bits)
    kind, product = _kind(around, keys.kind)
    energy = _energies(around, keys.energy)
    missing = [name for name, given in energy.model_dump().items() if given is None]
    published = None
    if product is not None:
        each = product.energy * word_bits
        published = StorageCost(each, each)
    elif technology is not None:
        sizes = [] if parts is None else list(parts.values())
        width = word_bits if keys.width is None else _width(around, keys.width, word_bits)
        # An access to a partitioned memory goes to one part; the largest stands for all.
        accessed = max(sizes, default=capacity)
        asked = Storage(kind, accessed, word_bits, width, keys.ports, keys.banks or 1)
        try:
            published = storage_cost(technology, asked, sizes, addresses=keys.address_generator)
        except OutOfTableError as failure:
            if missing:
                raise around.error(
                    f"no {' and '.join(missing)} energy: {failure}; give it (for example "
                    "'energy: {read: 6, write: 6}') or name another table"
                ) from None
            around.notes.append(f"{keys.memory}: no area: {failure}")
    if published is None and missing:
        what = f"{' and '.join(missing)} energy"
        raise _no_energy(around, what, "energy: {read: 6, write: 6}", technology, f"kind '{kind}'")
    if published is not None and (missing or keys.area is None):
        around.notes.extend(f"{keys.memory}: {note}" for note in published.notes)
    rates = _bandwidths(around, keys.bandwidth, word_bits)
    if keys.channels is not None:
        if product is None or rates:
            raise around.error(
                "'channels' goes with a kind of DRAM such as 'kind: LPDDR4' and no 'bandwidth'",
                "channels",
            )
        rates["shared"] = product.words_per_cycle(keys.channels, word_bits, around.clock_hz)
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
        read_energy=_first(energy.read, published.read if published else None),
        write_energy=_first(energy.write, published.write if published else None),
        read_bandwidth=rates.get("read"),
        write_bandwidth=rates.get("write"),
        shared_bandwidth=rates.get("shared"),
        buffering=2 if keys.buffering == "double" else 1,
        retention=keys.retention,
        banks=keys.banks,
        block_bytes=block_bytes,
        keep=None if keys.keep is None else frozenset(map(role, keys.keep)),
        must_keep=frozenset(map(role, keys.must_keep)),
        leakage=_first(keys.leakage, published.leakage if published else 0.0),
        area=_first(keys.area, (published and published.area) or 0.0),
        dma=_dma(around, keys.dma),
    )


def _kind(around: Surroundings, given: str | None) -> tuple[Kind, Dram | None]:
    """Return the kind of a memory, and the DRAM that it is when that is named."""
    for kind in KINDS:
        if given == kind:
            return kind, None
    if given is None:
        return around.kind, None
    if given in dram_kinds():
        return "dram", dram_kinds()[given]
    accepted = (*KINDS, *dram_kinds())
    raise around.error(
        f"no kind '{given}'; accepted: {', '.join(accepted)}{nearest(given, accepted)}", "kind"
    )


def _width(around: Surroundings, given: object, word_bits: int) -> int:
    width = _bits(around, given, word_bits, "width")
    if width % word_bits:
        raise around.error(
            f"an access of {width} bits is not a whole number of words of {word_bits} bits", "width"
        )
    return width


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


def read_array(around: Surroundings) -> tuple[Array, Wiring | None]:
    """Return the array that a level describes, and what it leaves to its technology."""
    keys, technology = _keys(around, ArrayLevel, "array")
    if not keys.axes:
        raise around.error("an array needs at least one axis, for example {X: 16, Y: 16}", "axes")
    for axis in keys.axes:
        _check_name(around.document, (*around.path, "axes", axis), axis)
    for i, axis in enumerate(keys.split):
        if axis not in keys.axes or axis in keys.split[:i]:
            accepted = f"accepted, each once: {', '.join(keys.axes)}"
            raise around.error(f"no axis '{axis}' to split along; {accepted}", "split", i)
    network = NetworkKeys()
    if keys.network is not None:
        network = around.document.validate(NetworkKeys, (*around.path, "network"))
    word_bits = around.word_bits or 1
    if network.word is not None:
        word_bits = _bits(around, network.word, None, "network", "word")
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
    wiring = None
    if technology is not None and (network.energy is None or keys.area is None):
        wiring = Wiring(technology, word_bits, network.energy, keys.area)
    array = Array(
        name=keys.array,
        axes=dict(keys.axes),
        multicast=network.multicast,
        reduction=network.reduction,
        forwarding=network.forwarding,
        hop_energy=network.energy or 0.0,
        bandwidth=bandwidth,
        networks=networks,
        adders=network.adders,
        area=keys.area or 0.0,
        split=tuple(keys.split),
    )
    return array, wiring


def read_compute(around: Surroundings) -> Compute:
    """Return the compute unit that a level describes."""
    keys, technology = _keys(around, ComputeLevel, "compute")
    arithmetic, format_bits = _arithmetic(around, keys.arithmetic)
    word_bits = format_bits or around.word_bits or 1
    if keys.word is not None:
        word_bits = _bits(around, keys.word, None, "word")
    published: OperationCost | None = None
    if technology is not None:
        published = operation_cost(technology, Operation(word_bits, arithmetic))
    if keys.energy is None and published is None:
        raise _no_energy(
            around, "energy per operation", "energy: 1", technology, f"{arithmetic} arithmetic"
        )
    if published is not None and (keys.energy is None or keys.area is None):
        around.notes.extend(f"{keys.compute}: {note}" for note in published.notes)
    return Compute(
        name=keys.compute,
        energy=_first(keys.energy, published.energy if published else None),
        cycles=keys.cycles,
        leakage=_first(keys.leakage, published.leakage if published else 0.0),
        area=_first(keys.area, (published and published.area) or 0.0),
        gated=keys.gated,
    )


def _arithmetic(around: Surroundings, given: str) -> tuple[Arithmetic, int | None]:
    """Return the arithmetic that is meant, and its width when the format says it."""
    for arithmetic in ARITHMETICS:
        if given == arithmetic:
            return arithmetic, None
    if match := FORMAT.fullmatch(given):
        return FORMATS[match[1]], int(match[2])
    accepted = (*ARITHMETICS, "int8", "int16", "fp16", "bf16", "fp32")
    raise around.error(
        f"no arithmetic '{given}'; accepted: {', '.join(accepted)} and the like"
        f"{nearest(given, accepted)}",
        "arithmetic",
    )


def _no_energy(
    around: Surroundings, what: str, example: str, technology: Model | None, lacking: str
) -> InputError:
    if technology is None:
        from tilewright.architecture.technology.files import technology_names

        tables = ", ".join(technology_names())
        return around.error(
            f"no {what}: give it (for example '{example}'), "
            f"or name a table with 'technology' ({tables})"
        )
    name = getattr(technology, "name", None) or getattr(technology, "__name__", "of Python code")
    return around.error(
        f"no {what}, and technology '{name}' has none for {lacking}: "
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
