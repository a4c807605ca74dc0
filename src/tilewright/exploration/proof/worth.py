"""What each value of each parameter is worth: the best design that has it, proven."""

from __future__ import annotations

from dataclasses import replace

from tilewright.exploration.designs.space import Box
from tilewright.exploration.proof.boxes import Search
from tilewright.exploration.proof.front import Front
from tilewright.exploration.proof.problem import Problem
from tilewright.exploration.proof.solver import Solver
from tilewright.exploration.result import Worth


def worth_of_values(problem: Problem, axis: str, solver: Solver) -> tuple[Worth, ...]:
    """Return what every value of every parameter is worth on one axis.

    Parameters
    ----------
    problem : Problem
        What was explored; its axes do not matter.
    axis : str
        What is minimised.
    solver : Solver
        Knows what was solved before.
    """
    space = problem.space
    search = Search(replace(problem, axes=(axis,)), solver)
    found: list[Worth] = []
    for place, parameter in enumerate(space.parameters):
        for k in range(len(parameter.values)):
            ranges = list(space.whole.ranges)
            ranges[place] = k, k + 1
            search.front, search.entered = Front(space, (axis,)), set()
            search.run(None, Box(tuple(ranges)))
            best = search.front.points()
            found.append(
                Worth(
                    parameter=parameter.name,
                    value=parameter.shown(k),
                    point=best[0] if best else None,
                    proven=not search.open,
                )
            )
            if search.open:
                return tuple(found)
    return tuple(found)
