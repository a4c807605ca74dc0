"""What strategies without proof tell: how good their fronts became with time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tilewright.errors import InputError
from tilewright.exploration.metrics import METRICS, column
from tilewright.exploration.proof.front import Values, as_good, hypervolume
from tilewright.text import aligned

# A value that a file keeps and one that is computed anew differ by less than this share.
CLOSE = 1e-9
# Corner of volumes: as much above the greatest values of the front on each axis.
MARGIN = 1.1
MOST_ROWS = 12


class Moment(NamedTuple):
    """How far a strategy was when its front changed.

    Attributes
    ----------
    seconds : float
        Since the start.
    designs : int
        Designs that were tried, also those that make no machine or are beyond a limit.
    value : float
        With one axis the best value. With several the hypervolume of the front, as a share of that
        of the proven front, or of the run's own last one where no proven one is known. Volumes
        reach up to 1.1 times the greatest values of that front.
    """

    seconds: float
    designs: int
    value: float


@dataclass(frozen=True)
class Trial:
    """How a strategy came to its front.

    Attributes
    ----------
    strategy : str
        ``"random"``, ``"nsga2"`` or ``"tpe"``.
    seed : int
        Of its random numbers.
    designs : int
        Different designs that it tried.
    moments : tuple of Moment
        One for each change of the front.
    proven : int or None
        Designs of the proven front that it is compared with; None without one.
    reached : int or None
        For how many of these it found a design that is as good on every axis.
    stuck : bool
        Whether it ended because it proposed nothing new.
    """

    strategy: str
    seed: int
    designs: int
    moments: tuple[Moment, ...]
    proven: int | None = None
    reached: int | None = None
    stuck: bool = False

    def statement(self, open_designs: int) -> str:
        """Return in a few sentences what is known."""
        text = (
            f"Not proven: strategy '{self.strategy}' (seed {self.seed}) tried {self.designs:,} "
            f"designs, and nothing is known of the other {open_designs:,}."
        )
        return f"{text} It proposed nothing new any more." if self.stuck else text

    def comparison(self) -> str:
        """Return what was found of the proven front, or nothing without one."""
        if self.proven is None:
            return ""
        return (
            f"For {self.reached:,} of {self.proven:,} designs of the proven front it found one "
            "that is as good."
        )

    def table(self, axes: Sequence[str], width: int | None) -> list[str]:
        """Return the lines of a table of front against time."""
        name = f"best {axes[0]} ({METRICS[axes[0]]})" if len(axes) == 1 else "hypervolume"
        rows = [
            (f"{m.seconds:.2f}", f"{m.designs:,}", f"{m.value:.5g}") for m in thinned(self.moments)
        ]
        return aligned([("seconds", "designs", name), *rows], width=width)

    def to_dict(self, axes: Sequence[str]) -> dict[str, Any]:
        """Return everything as plain data."""
        value = "best" if len(axes) == 1 else "hypervolume"
        return {
            "strategy": self.strategy,
            "seed": self.seed,
            "designs": self.designs,
            "history": [
                {"seconds": m.seconds, "designs": m.designs, value: m.value} for m in self.moments
            ],
            "proven_designs": self.proven,
            "proven_designs_reached": self.reached,
            "proposed_nothing_new": self.stuck,
        }


def thinned(moments: Sequence[Moment]) -> list[Moment]:
    """Return so many moments that they make a short table, the first and the last among them."""
    if len(moments) <= MOST_ROWS:
        return list(moments)
    step = (len(moments) - 1) / (MOST_ROWS - 1)
    return [moments[round(i * step)] for i in range(MOST_ROWS)]


@dataclass(frozen=True)
class Proven:
    """The proven front that others are compared with.

    Attributes
    ----------
    points : tuple of tuple of float
        What its designs have on the axes.
    source : str or None
        The file that it is from.
    """

    points: tuple[Values, ...]
    source: str | None = None

    def refuse(self, found: Values) -> None:
        """Raise an error where a design is better than a front of the same question can be."""
        values = [value * (1 + CLOSE) for value in found]
        if not any(as_good(point, values) for point in self.points):
            raise _refused(
                "a design was found that no design of this front is as good as: the front of "
                "the same space, workloads, axes and objective is accepted",
                self.source,
            )

    def reached(self, front: Sequence[Values]) -> int:
        """Return how many points a front has a design for that is as good on every axis."""
        return sum(
            any(as_good(found, [value * (1 + CLOSE) for value in point]) for found in front)
            for point in self.points
        )


def moments_of(
    fronts: Sequence[tuple[float, int, Sequence[Values]]], proven: Proven | None
) -> tuple[Moment, ...]:
    """Return how good fronts are, each given with its time and the number of designs."""
    if not fronts:
        return ()
    last = fronts[-1][2]
    if len(last[0]) == 1:
        return tuple(Moment(s, n, min(front)[0]) for s, n, front in fronts)
    whole = last if proven is None or not proven.points else proven.points
    corner = tuple(MARGIN * max(column) or 1.0 for column in zip(*whole, strict=True))
    most = hypervolume(whole, corner)
    return tuple(Moment(s, n, hypervolume(front, corner) / most) for s, n, front in fronts)


def proven_front(data: Any, wanted: Mapping[str, Any], source: str | None) -> Proven:
    """Return the proven front of a result as plain data.

    Parameters
    ----------
    data : object
        As `Exploration.to_dict` returns it.
    wanted : mapping
        What ``space``, ``axes`` and ``objective`` have to be, and ``designs``, how many the space
        has.
    source : str or None
        The file that it is from.

    Raises
    ------
    InputError
        When it is of another question, or not proven.
    """
    try:
        told = {key: data[key] for key in ("space", "axes", "objective")}
        told["designs"] = data["certificate"]["designs"]
        columns = [column(axis) for axis in told["axes"]]
        points = tuple(tuple(float(row[c]) for c in columns) for row in data["front"])
        optimal = data["optimal"]
    except (KeyError, TypeError, ValueError):
        raise _refused(
            "is no result of an exploration: what 'explore --json' wrote is accepted",
            source,
        ) from None
    for key, value in wanted.items():
        if told[key] != value:
            raise _refused(
                f"is of another question: its {key} is {told[key]}, expected {value}",
                source,
            )
    if optimal is not True:
        raise _refused("its front is not proven", source)
    return Proven(points, source)


def _refused(message: str, source: str | None) -> InputError:
    """Return an error about the front to compare with: a file, or else an argument."""
    return InputError(message, source=source, key="against" if source is None else None)
