"""A machine: a chain of memories, arrays and one compute unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from tilewright.architecture.constraints.constraint import Constraint
from tilewright.architecture.constraints.relevance import is_relevance
from tilewright.architecture.roles import resolved
from tilewright.architecture.transfers import Dma, Networks


@dataclass(frozen=True)
class Memory:
    """A memory level. One instance per element of the arrays above it.

    Attributes
    ----------
    name : str
        Unique within the machine.
    word_bits : int
        Width of a word. Energy and bandwidth are per word of this width.
    capacity_bits : int or None
        Bits of one instance, shared by all tensors; None when unbounded.
    tensor_bits : mapping of str to int, or None
        Bits of one instance per tensor role (``I``, ``W``, ``O``) when it is partitioned;
        a role that is missing may not be stored.
    read_energy, write_energy : float
        pJ per word.
    read_bandwidth, write_bandwidth, shared_bandwidth : float or None
        Words per cycle and instance; None when unlimited. ``shared_bandwidth`` limits
        the sum of reads and writes.
    buffering : int
        2 when double buffered: every tile takes its space twice.
    retention : str
        What stays beside the tile: ``"tile"`` (nothing) or ``"optimal"`` (what saves most).
    banks : int or None
        Number of banks.
    block_bytes : int or None
        Burst of the memory in bytes.
    keep : frozenset of str or None
        Roles that it may store; None means any.
    must_keep : frozenset of str
        Roles that it may not bypass.
    leakage : float
        Power of one instance in mW, whether used or not.
    area : float
        Area of one instance in mm2.
    dma : Dma or None
        Engine that moves what this memory sends and receives, under pipelined latency.
    """

    name: str
    word_bits: int
    capacity_bits: int | None = None
    tensor_bits: Mapping[str, int] | None = None
    read_energy: float = 0.0
    write_energy: float = 0.0
    read_bandwidth: float | None = None
    write_bandwidth: float | None = None
    shared_bandwidth: float | None = None
    buffering: int = 1
    retention: str = "tile"
    banks: int | None = None
    block_bytes: int | None = None
    keep: frozenset[str] | None = None
    must_keep: frozenset[str] = frozenset()
    leakage: float = 0.0
    area: float = 0.0
    dma: Dma | None = None

    @property
    def total_bits(self) -> int | None:
        """Bits of one instance, all its parts together; None when unbounded."""
        if self.tensor_bits is not None:
            return sum(self.tensor_bits.values())
        return self.capacity_bits

    def read_price(self, tensor: str) -> float:
        """Return the pJ of a word of a tensor that is read; here it is the same for all tensors."""
        return self.read_energy

    def write_price(self, tensor: str) -> float:
        """Return the pJ of a word of a tensor that is written."""
        return self.write_energy

    def bits_held(self, tensor: str, bits: int | None) -> int:
        """Return the bits that a word of a tile takes, given those of an element if it has any."""
        return (bits or self.word_bits) * self.buffering

    def may_store(self, role: str) -> bool:
        """Whether tensors of this role may be stored here."""
        if self.tensor_bits is not None and role not in self.tensor_bits:
            return False
        return self.keep is None or role in self.keep


@dataclass(frozen=True)
class Array:
    """A spatial fan-out: everything below it exists once per element.

    Attributes
    ----------
    name : str
        Unique within the machine.
    axes : mapping of str to int
        Size of each axis; the number of elements is their product.
    multicast : bool
        A word that several elements need in the same step is read and sent once.
    reduction : bool
        Partial sums of several elements are added on their way up.
    forwarding : bool
        A word that some element already holds is passed on by it, not read from above.
    hop_energy : float
        pJ per word and hop; a word that is delivered to n elements makes n hops.
    bandwidth : float or None
        Words per cycle that enter or leave one instance of the array; None when unlimited.
    networks : Networks or None
        Separate networks, each with an equal share of the bandwidth; None when words of all
        operands share all of it. Pipelined latency alone looks at it.
    adders : str or None
        What adds up partial sums of several elements takes, under pipelined latency: ``"tree"``
        (the levels of an adder tree), ``"hops"`` (from element to element), ``"network"`` (a word
        per element and sum over the reduction networks); None when it takes no time.
    area : float
        Area of the network of one instance, in mm2.
    split : tuple of str
        Axes along which layers that run at the same time may each have a part of the array.
    """

    name: str
    axes: Mapping[str, int]
    multicast: bool = True
    reduction: bool = True
    forwarding: bool = False
    hop_energy: float = 0.0
    bandwidth: float | None = None
    networks: Networks | None = None
    adders: str | None = None
    area: float = 0.0
    split: tuple[str, ...] = ()

    @property
    def elements(self) -> int:
        """Number of elements, the product of the axes."""
        return prod(self.axes.values())


@dataclass(frozen=True)
class Compute:
    """The compute unit below all memories and arrays.

    Attributes
    ----------
    name : str
        Unique within the machine.
    energy : float
        pJ per operation.
    cycles : float
        Cycles per operation.
    leakage : float
        Power of one unit in mW.
    area : float
        Area of one unit in mm2.
    gated : bool
        An operation with a zero operand costs no energy (but its cycles).
    """

    name: str
    energy: float = 0.0
    cycles: float = 1.0
    leakage: float = 0.0
    area: float = 0.0
    gated: bool = False


Level = Memory | Array | Compute


@dataclass(frozen=True, repr=False)
class Architecture:
    """A chain of memories and arrays, from outermost to innermost, and one compute unit.

    Attributes
    ----------
    name : str
        Name of the machine.
    levels : tuple of Memory, Array or Compute
        From outermost (a memory) to innermost (the compute unit).
    clock_hz : float
        Clock of the arrays in Hz.
    constraints : tuple of Constraint
        What the machine can do; empty when anything.
    source : str
        Publications that the numbers were taken from.
    latency : str
        How cycles are counted where a call does not say: ``"throughput"`` or ``"pipelined"``.
    notes : tuple of str
        What energies and areas of its technology rest on where they were not published as they are.
    """

    name: str
    levels: tuple[Level, ...]
    clock_hz: float = 1e9
    constraints: tuple[Constraint, ...] = field(default=())
    source: str = ""
    latency: str = "throughput"
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        from tilewright.architecture.description import chain

        return f"<Architecture {self.name}: {chain(self)}>"

    def _repr_html_(self) -> str:
        from tilewright.architecture.description import architecture_html

        return architecture_html(self)

    def replace(self, key: str | Mapping[str, object], value: object = None) -> Architecture:
        """Return the same machine with other values, for sweeps.

        Energies per access stay what they are: they do not follow a size.

        Parameters
        ----------
        key : str or mapping of str to value
            What changes, as an architecture file has it: a level and a key of it, such as
            ``"GLB.size"``, ``"PE.axes.X"`` or ``"DRAM.bandwidth"``, or a key of the machine, such
            as ``"clock"`` or ``"name"``. Or several of those with their values.
        value : text, number, list or dict, optional
            As an architecture file would have it, such as ``"256 KiB"``.

        Returns
        -------
        Architecture

        Raises
        ------
        InputError
            When there is no such level or key, or the value is none of it.
        """
        from tilewright.architecture.replacing import replaced

        return replaced(self, {key: value} if isinstance(key, str) else key)

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        """The memories, from outermost to innermost."""
        return tuple(level for level in self.levels if isinstance(level, Memory))

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays, from outermost to innermost."""
        return tuple(level for level in self.levels if isinstance(level, Array))

    @cached_property
    def compute(self) -> Compute:
        """The compute unit."""
        level = self.levels[-1]
        assert isinstance(level, Compute)
        return level

    @cached_property
    def position(self) -> dict[str, int]:
        """Position of each level in the chain, by name."""
        return {level.name: i for i, level in enumerate(self.levels)}

    def instances(self, name: str) -> int:
        """Instances of a level: the product of the elements of the arrays above it."""
        above = self.levels[: self.position[name]]
        return prod(level.elements for level in above if isinstance(level, Array))

    def allowed_dimensions(self, array: str, axis: str) -> frozenset[str] | None:
        """Dimensions that may be spatial on an axis; None when any may.

        The machine is one that `mapping.relevance.in_letters` returns for a layer.
        """
        assert not self.names_relevance, "letters are known for a layer alone: see in_letters"
        allowed: frozenset[str] | None = None
        for statement in self.statements:
            if statement.dims is None or statement.at != array:
                continue
            if statement.axis in (None, axis):
                allowed = statement.dims if allowed is None else allowed & statement.dims
        return allowed

    @cached_property
    def names_relevance(self) -> bool:
        """Whether a constraint names dimensions by the tensors that they are relevant to."""
        return any(is_relevance(name) for item in self.constraints for name in item.dimensions)

    @cached_property
    def statements(self) -> tuple[Constraint, ...]:
        """The constraints, one demand each, with the names of levels and axes for their roles."""
        return resolved(self.constraints, self)

    def __hash__(self) -> int:
        # axes and some limits are dictionaries; machines of a family differ in these numbers
        sizes = tuple([(m.capacity_bits, m.read_energy) for m in self.memories])
        return hash((self.name, self.clock_hz, len(self.levels), sizes))
