"""Ways in which something may be that is not decided, one of which holds for each mapping."""

from __future__ import annotations

from collections.abc import Hashable
from math import inf, log
from typing import NamedTuple

from tilewright.mapper.relaxations.joint.windows.words import Slide


class Assumption(NamedTuple):
    """One of several ways in which something may be.

    Attributes
    ----------
    ranges : tuple of (int, float, float)
        A variable, and between what it is.
    inside : tuple of (int, int)
        Pairs of stays, of which the second one is inside of the first one.
    slide : tuple of (int, Slide)
        A stay, and how it may slide.
    run : tuple of (int, int, bool)
        Of a stay and one outside of it, whether that is part of its run.
    part : tuple of (int, int)
        One of the halves, and a part of its spatial choices.
    """

    ranges: tuple[tuple[int, float, float], ...] = ()
    inside: tuple[tuple[int, int], ...] = ()
    slide: tuple[tuple[int, Slide], ...] = ()
    run: tuple[tuple[int, int, bool], ...] = ()
    part: tuple[tuple[int, int], ...] = ()


class Decision(NamedTuple):
    """Ways in which something may be, one of which holds for each mapping.

    Attributes
    ----------
    name : hashable
        What it is about.
    worth : float
        An estimate of what it raises the bound by, as a logarithm.
    ways : list of Assumption
    """

    name: Hashable
    worth: float
    ways: list[Assumption]


def at_a_number(variable: int, whole: int) -> list[Assumption]:
    """Return the ways for a variable to be up to a whole number, or more."""
    return [
        Assumption(ranges=((variable, -inf, log(whole)),)),
        Assumption(ranges=((variable, log(whole + 1), inf),)),
    ]
