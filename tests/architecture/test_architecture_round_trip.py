"""A machine that is written and read again is the same machine."""

from hypothesis import given
from hypothesis import strategies as st

from tilewright.architecture import (
    Architecture,
    Array,
    Compute,
    Constraint,
    Memory,
    dump_architecture,
    parse_architecture,
)
from tilewright.architecture.constraints.relevance import EXAMPLES
from tilewright.document import parse

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,7}", fullmatch=True)
ROLES = st.sampled_from(["I", "W", "O", "Mask"])
ENERGIES = st.floats(0, 1e9)
RATES = st.none() | st.floats(1e-6, 1e9)
DIMENSIONS = st.from_regex(r"[A-Za-z_]\w*", fullmatch=True) | st.sampled_from(EXAMPLES)
TEXTS = st.text(st.characters(codec="ascii", categories=("L", "N", "P")), min_size=1, max_size=20)


@st.composite
def memories(draw: st.DrawFn, name: str, outermost: bool) -> Memory:
    word_bits = draw(st.sampled_from([1, 8, 16, 34]))
    buffering = draw(st.sampled_from([1, 2]))
    parts = None
    banks = None
    keep = None if outermost else draw(st.none() | st.frozensets(ROLES, min_size=1))
    capacity = None
    sizes = st.integers(word_bits * buffering, 2**40)
    if not outermost and draw(st.booleans()):
        roles = keep if keep is not None else draw(st.frozensets(ROLES, min_size=1))
        parts = {role: draw(sizes) for role in sorted(roles)}
        capacity = sum(parts.values())
    elif not outermost or draw(st.booleans()):
        capacity = draw(sizes)
    if capacity is not None:
        banks = draw(st.none() | st.sampled_from([n for n in range(1, 65) if capacity % n == 0]))
    may_keep = keep if keep is not None else parts.keys() if parts else frozenset("IWO")
    return Memory(
        name=name,
        word_bits=word_bits,
        capacity_bits=capacity,
        tensor_bits=parts,
        read_energy=draw(ENERGIES),
        write_energy=draw(ENERGIES),
        read_bandwidth=draw(RATES),
        write_bandwidth=draw(RATES),
        shared_bandwidth=draw(RATES),
        buffering=buffering,
        banks=banks,
        block_bytes=draw(st.none() | st.integers(1, 9).map(lambda n: n * word_bits)),
        keep=keep,
        must_keep=draw(st.frozensets(st.sampled_from(sorted(may_keep)))),
        leakage=draw(ENERGIES),
        area=draw(ENERGIES),
    )


@st.composite
def arrays(draw: st.DrawFn, name: str) -> Array:
    return Array(
        name=name,
        axes=draw(st.dictionaries(NAMES, st.integers(1, 16), min_size=1, max_size=2)),
        multicast=draw(st.booleans()),
        reduction=draw(st.booleans()),
        forwarding=draw(st.booleans()),
        hop_energy=draw(ENERGIES),
        area=draw(ENERGIES),
        bandwidth=draw(RATES),
    )


@st.composite
def machines(draw: st.DrawFn) -> Architecture:
    names = draw(st.lists(NAMES, min_size=2, max_size=6, unique=True))
    levels: list[Memory | Array | Compute] = [draw(memories(names[0], True))]
    for name in names[1:-1]:
        few_arrays = sum(isinstance(level, Array) for level in levels) < 2
        array = few_arrays and draw(st.booleans())
        levels.append(draw(arrays(name) if array else memories(name, False)))
    positive = st.floats(1e-3, 1e3)
    levels.append(
        Compute(
            names[-1],
            draw(ENERGIES),
            draw(positive),
            draw(ENERGIES),
            draw(ENERGIES),
            draw(st.booleans()),
        )
    )
    fan_outs = [level for level in levels if isinstance(level, Array)]
    constraints = []
    for array in draw(st.lists(st.sampled_from(fan_outs), max_size=2)) if fan_outs else []:
        axis = draw(st.none() | st.sampled_from(sorted(array.axes)))
        constraints.append(
            Constraint(array.name, axis, draw(st.frozensets(DIMENSIONS, max_size=3)))
        )
    clock = draw(st.floats(1e3, 1e12) | st.integers(1, 4000).map(lambda mhz: mhz * 1e6))
    source = draw(st.just("") | TEXTS)
    return Architecture(draw(TEXTS), tuple(levels), clock, tuple(constraints), source)


@given(machines())
def test_a_written_machine_reads_back_equal(machine: Architecture) -> None:
    assert parse_architecture(parse(dump_architecture(machine))) == machine


@given(machines())
def test_writing_is_deterministic(machine: Architecture) -> None:
    text = dump_architecture(machine)
    assert dump_architecture(parse_architecture(parse(text))) == text
