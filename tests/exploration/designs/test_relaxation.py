"""The level that is at least as good as several: what it does not know makes no bound."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.architecture.machine import Array, Compute, Memory
from tilewright.exploration.designs.relaxation import at_least_as_good

MEMORY = Memory("GLB", 16, 4096, read_energy=2.0, write_energy=3.0, read_bandwidth=4.0)


@dataclass(frozen=True)
class Tagged(Memory):
    """A memory with a cost of which bounds of machines know nothing."""

    tag_energy: float = 0.0


def test_sizes_are_the_largest_and_energies_the_least() -> None:
    other = replace(MEMORY, capacity_bits=8192, read_energy=2.5, write_energy=1.0, leakage=0.5)
    best = at_least_as_good([MEMORY, other])
    assert best == replace(MEMORY, capacity_bits=8192, write_energy=1.0)
    arrays = [Array("PE", {"X": 4, "Y": 2}), Array("PE", {"X": 2, "Y": 8}, hop_energy=1.0)]
    assert at_least_as_good(arrays) == Array("PE", {"X": 4, "Y": 8})
    units = [Compute("MAC", 1.0, cycles=2.0), Compute("MAC", 0.5, cycles=4.0)]
    assert at_least_as_good(units) == Compute("MAC", 0.5, cycles=2.0)


def test_levels_that_differ_in_what_is_not_ordered_have_none() -> None:
    assert at_least_as_good([MEMORY, replace(MEMORY, buffering=2)]) is None
    assert at_least_as_good([MEMORY, replace(MEMORY, keep=frozenset("I"))]) is None
    assert at_least_as_good([Array("PE", {"X": 4}), Array("PE", {"Y": 4})]) is None
    assert at_least_as_good([Array("PE", {"X": 4}), Array("PE", {"X": 4}, adders="tree")]) is None
    assert at_least_as_good([Compute("MAC", 1.0), Compute("MAC", 1.0, gated=True)]) is None


def test_a_field_that_bounds_do_not_know_has_to_be_the_same() -> None:
    one, two = (Tagged("GLB", 16, 4096, read_energy=2.0, tag_energy=tag) for tag in (1.0, 9.0))
    assert at_least_as_good([one, two]) is None
    assert at_least_as_good([one, replace(one, capacity_bits=1024)]) == one
