"""Which parts of a search are on: all of them, except where the worth of one is measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Parts of the search of one layer that can be switched off, each by itself.

    All make a search shorter, and none changes what is optimal: without a bound more is looked at,
    and without a first mapping bounds have nothing to be compared with for longer. What each part
    is worth is measured by ``python -m benchmarks --ablations``.

    Attributes
    ----------
    dominance : bool
        Leave out labels that another one makes superfluous (`label/dominance.py`).
    symmetry : bool
        Leave out one of two mappings in which dimensions have changed places
        (`problem/symmetry.py`).
    tables_across : bool
        Bound what crosses each array by a table over shapes
        (`bounds/tables/choice_tables.py: inner_bounds`).
    table_above : bool
        Bound the way to the first array by a table of step functions
        (`bounds/tables/above_array.py`).
    port_tables : bool
        Bound the cycles of scarce ports above the first array by tables, where that pays
        (`bounds/tables/port_table.py`).
    screening : bool
        Leave out entries of tables that no mapping below the ceiling passes
        (`bounds/tables/screening.py`).
    joint_windows : bool
        Let tensors share a memory in the bound of how often a sliding word is used
        (`bounds/crossing/window_reuse.py`); else each has all of it.
    combinations : bool
        Bound bypass choices by combinations of spatial choices of all arrays
        (`bounds/spatial_choices.py`).
    closed_form : bool
        Bound bypass choices with large tables by the closed form of all tile sizes
        (`relaxations/stays/`).
    ceilings : bool
        Search a bypass choice a little above its bound first, and higher only when it is its turn
        again (`search/best_first.py`); else below the best value at once.
    annealing : bool
        Look for a first mapping by annealing (`heuristics/annealing.py`).
    dives : bool
        Look for a first mapping by following the most promising labels (`engine/dive.py`).
    canonical : bool
        Choose among equal mappings the one of the least memory (`search/ties.py`). Without it the
        mapping may be another one of the same value.
    regular_bound : bool
        Tile sizes that do not divide: bound regular mappings by enumerating tiles
        (`relaxations/nests/`), and begin with tiles that it finds promising.
    joint_bound : bool
        Tile sizes that do not divide: bound regular mappings with all memories, energy and cycles
        together (`relaxations/joint/`), and begin with the mappings that this stands for.
    shares : bool
        Tile sizes that do not divide: bound all mappings also by the share that each element of an
        array pays of a word (`relaxations/stays/elements.py: Pays.EITHER`).
    """

    dominance: bool = True
    symmetry: bool = True
    tables_across: bool = True
    table_above: bool = True
    port_tables: bool = True
    screening: bool = True
    joint_windows: bool = True
    combinations: bool = True
    closed_form: bool = True
    ceilings: bool = True
    annealing: bool = True
    dives: bool = True
    canonical: bool = True
    regular_bound: bool = True
    joint_bound: bool = True
    shares: bool = True


EVERY_PART = Settings()
