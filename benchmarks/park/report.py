"""How the mapper fares on the park: values after some seconds, gaps, limits, memory."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import Section
from benchmarks.park.case import OBJECTIVES, QUICK, SMALL, Case, case, cases
from benchmarks.park.known import FILE, Known
from benchmarks.park.measure import Answer, Call, asked
from tilewright.errors import InputError
from tilewright.mapper.results.searched_space import ALL, DIVISORS

SLACK = 0.5  # seconds beyond a limit that are within it
NEAR = 1.05  # of the best known value
SETTLED = 0.01  # gap
ROUNDING = 1e-9


@dataclass(frozen=True)
class Outcome:
    """What the mapper answered for one case.

    Attributes
    ----------
    case : Case
    tiles : str
    answers : dict of float to Answer
        By time limit in seconds. A proof holds for longer limits as well.
    best : float
        The least value that is known; infinite where there is none.
    """

    case: Case
    tiles: str
    answers: dict[float, Answer]
    best: float

    def ratio(self, limit: float) -> float:
        """Return the value after a limit over the least one that is known."""
        value = self.answers[limit].value
        return inf if value is None else value / self.best

    @property
    def last(self) -> Answer:
        """The answer of the longest limit."""
        return self.answers[max(self.answers)]

    @property
    def overrun(self) -> float:
        """Seconds by which a limit was exceeded at most."""
        return max(answer.seconds - limit for limit, answer in self.answers.items())

    @property
    def faults(self) -> list[str]:
        """What went wrong."""
        found = [f"{limit:g} s: {a.fault}" for limit, a in self.answers.items() if a.fault]
        for limit, a in self.answers.items():
            if a.bound is not None and self.best < a.bound * (1 - ROUNDING):
                what = "false proof" if a.optimal else "wrong bound"
                found.append(f"{limit:g} s: {what}: nothing below {a.bound!r}, known {self.best!r}")
        return found

    def row(self) -> tuple[str, ...]:
        """Return the cells of the table."""
        last = self.last
        return (
            f"{self.case.name}: {self.case.text()}",
            self.case.objective,
            *(times(self.ratio(limit)) for limit in sorted(self.answers)),
            "proven" if last.optimal else f"{last.gap:.1%}",
            f"{last.seconds:.2f}" if last.optimal else "",
            f"{self.overrun:+.1f}",
            f"{max(answer.memory for answer in self.answers.values()):.0f}",
            "; ".join(self.faults),
        )


def times(ratio: float) -> str:
    """Return how much larger a value is than the least that is known."""
    return "none" if ratio == inf else f"{ratio:.3f}" if ratio < 100 else f"{ratio:.2g}"


def measured(
    each: Case,
    tiles: str,
    limits: Sequence[float],
    workers: int | None,
    known: Known,
    again: bool = False,
) -> Outcome:
    """Map one case under every limit; under longer ones than that of a proof only `again`."""
    answers: dict[float, Answer] = {}
    with TemporaryDirectory() as folder:
        layer, machine = map(str, each.write(Path(folder)))
        for limit in sorted(limits):
            proven = next((answer for answer in answers.values() if answer.optimal), None)
            call = Call(layer, machine, each.objective, tiles, limit, workers)
            answers[limit] = asked(call) if again or proven is None else proven
            value = answers[limit].value
            if value is not None and not answers[limit].fault:
                known.add(each, tiles, value, f"map, {limit:g} s")
    return Outcome(each, tiles, answers, known.best(each, tiles))


def section(outcomes: Sequence[Outcome], limits: Sequence[float], tiles: str) -> Section:
    """Return the table of all cases."""
    ordered = sorted(limits)
    return Section(
        f"Park of machines, tile sizes: {tiles}",
        (
            "case", "objective", *(f"after {limit:g} s / best known" for limit in ordered),
            f"gap after {ordered[-1]:g} s", "s to proof", "s beyond limit", "peak MB", "faults",
        ),
        tuple(outcome.row() for outcome in outcomes),
        summary(outcomes, limits),
    )  # fmt: skip


def summary(outcomes: Sequence[Outcome], limits: Sequence[float]) -> str:
    """Return what counts of all cases, in two sentences."""
    first, last, count = min(limits), max(limits), len(outcomes)
    near = sum(outcome.ratio(first) <= NEAR for outcome in outcomes)
    settled = sum(outcome.last.gap <= SETTLED for outcome in outcomes)
    proven = sum(outcome.last.optimal for outcome in outcomes)
    without = sum(outcome.last.value is None for outcome in outcomes)
    broken = [o.case.name for o in outcomes if o.overrun > SLACK]
    faulty = [o.case.name for o in outcomes if o.faults]
    memory = max(answer.memory for o in outcomes for answer in o.answers.values())
    return (
        f"Of {count} cases {near / count:.0%} are within 5 % of the best known value after "
        f"{first:g} s; {settled / count:.0%} are proven or have a gap of at most 1 % after "
        f"{last:g} s ({proven} proven, {without} without any mapping). Greatest gap "
        f"{max(o.last.gap for o in outcomes):.1%}, most memory {memory:.0f} MB; limits broken by "
        f"more than {SLACK:g} s: {', '.join(broken) or 'none'}; faults: "
        f"{', '.join(faulty) or 'none'}."
    )


def chosen(options: argparse.Namespace) -> list[Case]:
    """Return the cases that the command line asks for."""
    if options.case:
        return [case(name, options.objective) for name in options.case]
    if options.quick:
        return [case(name, options.objective) for name in QUICK]
    if options.seeds:
        kind = SMALL if options.small else ""
        return [case(f"{kind}{seed}", options.objective) for seed in options.seeds]
    return list(cases(range(30), options.objective))


def seeds(text: str) -> range:
    """Return the seeds of ``A:B``, the last one excluded."""
    first, _, last = text.partition(":")
    return range(int(first), int(last) if last else int(first) + 1)


def numbers(text: str) -> tuple[float, ...]:
    """Return seconds with commas in between."""
    return tuple(float(part) for part in text.split(","))


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks --park", description=__doc__)
    options.add_argument("--seeds", type=seeds, help="A:B, these seeds alone")
    options.add_argument("--small", action="store_true", help="with --seeds: parts of layers")
    options.add_argument("--case", action="append", help="a seed or a name such as npu.conv")
    options.add_argument("--quick", action="store_true", help=f"{len(QUICK)} cases")
    options.add_argument("--seconds", type=numbers, default=(1.0, 2.0, 20.0), help="limits")
    options.add_argument("--again", action="store_true", help="longer limits after a proof too")
    options.add_argument("--objective", choices=OBJECTIVES, help="for all, not their own")
    options.add_argument("--tiles", choices=(DIVISORS, ALL), default=DIVISORS)
    options.add_argument("--workers", type=int, help="processes of the mapper")
    options.add_argument("--rival", type=float, default=0.0, help="seconds for another search")
    options.add_argument("--json", type=Path, help="write all answers to this file")
    options.add_argument("--known", type=Path, default=FILE, help="least values ever found")
    options.add_argument("--files", type=Path, help="only write layers and machines, to a folder")
    options.add_argument("--markdown", action="store_true")
    return options


def write_files(wanted: Iterable[Case], folder: Path) -> None:
    """Write layers and machines, and say how to map them."""
    for each in wanted:
        layer, machine = each.write(folder)
        print(f"tilewright map {layer} {machine} --objective {each.objective}")


def park(arguments: Sequence[str]) -> Section | None:
    """Measure what the command line asks for; None where it asks for files alone."""
    options = parser().parse_args(arguments)
    try:
        wanted = chosen(options)
    except InputError as failure:
        raise SystemExit(f"error: {failure}") from None
    if options.files:
        write_files(wanted, options.files)
        return None
    known = Known.read(options.known)
    outcomes = []
    for number, each in enumerate(wanted, 1):
        if options.rival:
            from benchmarks.rivals import rival

            best = rival(each.layer, each.machine, each.objective, options.rival, options.tiles)
            source = f"rival, {options.rival:g} s"
            known.add(each, options.tiles, best.value, source, best.mapping)
        outcomes.append(
            measured(each, options.tiles, options.seconds, options.workers, known, options.again)
        )
        print(f"{number}/{len(wanted)} {' | '.join(outcomes[-1].row())}", file=sys.stderr)
        if options.json:
            data = [
                {"case": o.case.key, "text": o.case.text(), "tiles": o.tiles, "best": o.best}
                | {"answers": {f"{limit:g}": asdict(a) for limit, a in o.answers.items()}}
                | {"faults": o.faults}
                for o in outcomes
            ]
            options.json.write_text(json.dumps(data, indent=1) + "\n")
    return section(outcomes, options.seconds, options.tiles)
