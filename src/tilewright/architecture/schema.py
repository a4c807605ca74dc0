"""The keys of an architecture file. Quantities with units are read in `reading`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from tilewright.document import Strict

# Beyond it, products of energies and counts would not be finite.
MAX_NUMBER = 1e100
Positive = Annotated[float, Field(gt=0, le=MAX_NUMBER)]
NotNegative = Annotated[float, Field(ge=0, le=MAX_NUMBER)]
Kind = Literal["dram", "sram", "registers"]
Arithmetic = Literal["integer", "float", "bfloat"]
Latency = Literal["throughput", "pipelined"]
Adders = Literal["tree", "hops", "network"]
Retention = Literal["tile", "optimal"]


class ArchitectureFile(Strict):
    """A whole file."""

    name: Annotated[str, Field(min_length=1)]
    clock: Any = "1 GHz"
    technology: str | None = None
    levels: Annotated[list[Any], Field(min_length=1)]
    constraints: list[Any] = Field(default_factory=list)
    source: str = ""
    latency: Latency = "throughput"


class MemoryLevel(Strict):
    """A level that starts with ``memory``."""

    memory: str
    word: Any
    size: Any = None
    kind: str | None = None
    technology: str | None = None
    width: Any = None
    ports: Annotated[int, Field(gt=0)] = 1
    channels: Annotated[int, Field(gt=0)] | None = None
    address_generator: bool = False
    energy: Any = None
    bandwidth: Any = None
    buffering: Literal["single", "double"] = "single"
    retention: Retention = "tile"
    banks: Annotated[int, Field(gt=0)] | None = None
    block: Any = None
    dma: Any = None
    keep: list[str] | None = None
    must_keep: list[str] = Field(default_factory=list)
    leakage: NotNegative | None = None
    area: NotNegative | None = None


class NetworkKeys(Strict):
    """The network of an array."""

    multicast: bool = True
    reduction: bool = True
    forwarding: bool = False
    energy: NotNegative | None = None
    bandwidth: Any = None
    word: Any = None
    networks: Any = None
    adders: Adders | None = None


class DmaKeys(Strict):
    """The DMA engine of a memory, in cycles of its own clock."""

    startup: NotNegative = 0.0
    per_byte: NotNegative = 0.0
    clock: Any = None


class NetworksKeys(Strict):
    """How many networks an array has."""

    read: Annotated[int, Field(gt=0, le=1000)] = 1
    write: Annotated[int, Field(gt=0, le=1000)] = 1
    reduction: Annotated[int, Field(ge=0, le=1000)] = 0


class ArrayLevel(Strict):
    """A level that starts with ``array``."""

    array: str
    axes: dict[str, Annotated[int, Field(gt=0)]]
    split: list[str] = Field(default_factory=list)
    network: Any = None
    technology: str | None = None
    area: NotNegative | None = None


class ComputeLevel(Strict):
    """A level that starts with ``compute``."""

    compute: str
    energy: NotNegative | None = None
    cycles: Positive = 1.0
    gated: bool = False
    word: Any = None
    arithmetic: str = "integer"
    technology: str | None = None
    leakage: NotNegative | None = None
    area: NotNegative | None = None


class EnergyKeys(Strict):
    """Energy of a memory, in pJ per word."""

    read: NotNegative | None = None
    write: NotNegative | None = None


class BandwidthKeys(Strict):
    """Bandwidth of a memory instance."""

    read: Any = None
    write: Any = None
    shared: Any = None


LEVELS: dict[str, type[Strict]] = {
    "memory": MemoryLevel,
    "array": ArrayLevel,
    "compute": ComputeLevel,
}
