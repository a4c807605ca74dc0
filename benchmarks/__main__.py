"""Run every benchmark and print the results.

python -m benchmarks [--markdown]
                     [--accelforge | --explore [NETWORK] [SPACE] [SECONDS] [EVERY] |
                      --explore-strategies [DESIGNS ...] | --fusion | --park ...
                      | --zoo ... | --tile-sizes ... | --ablations | --guards [--long]]

With ``--accelforge`` another exact mapper is compared; with ``--explore`` a front of machines is
proven; with ``--explore-strategies`` it is compared with what strategies without proof find; with
``--fusion`` layers are fused; with ``--park`` many plausible machines are mapped, with ``--zoo``
all that ship; ``--tile-sizes`` says how many layers are proven with all tile sizes (``--help``
behind them lists their options); with ``--ablations`` parts of the search are switched off, one
after the other; with ``--guards`` results are compared with those of the last release. Nothing else
is measured then.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import (
    Section,
    ablations,
    evaluate,
    exploration,
    fusion,
    harder,
    identical,
    layout,
    mapper,
    offchip,
    peers,
    styles,
    tile_sizes,
    zoo,
)
from benchmarks.park import report

# of each option that has options of its own: what reads them, and what measures
MEASURED = {
    "--park": (report.parser, report.park),
    "--zoo": (zoo.parser, zoo.zoo),
    "--tile-sizes": (tile_sizes.parser, tile_sizes.tile_sizes),
}


def machine() -> str:
    """Return what the benchmarks run on, in a line."""
    processor = platform.processor() or platform.machine()
    description = Path("/proc/cpuinfo")
    if description.exists():
        for line in description.read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    load = f", load average {os.getloadavg()[0]:.1f} before" if hasattr(os, "getloadavg") else ""
    return (
        f"{os.cpu_count()} cores of {processor}, {platform.system()}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}"
        f"{load}"
    )


def evaluation() -> Section:
    """Return the table of single evaluations and batches."""
    rows = tuple(
        (m.what, f"{m.best:.3g}", f"{m.typical:.3g}", f"{1e6 / m.best:,.0f}", m.note)
        for m in evaluate.measurements()
    )
    return Section(
        "Evaluation, CPU time of one core, machine simple, a mapping of 15 loops",
        ("what", "us, best", "us, median", "per second, best", "rows"),
        rows,
    )


def parser() -> argparse.ArgumentParser:
    """Return the options, but for those behind ``--park`` and its like, which have their own."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks", allow_abbrev=False,
        description="Run every benchmark and print the results; with one of the first options, "
        "that one alone.",
    )  # fmt: skip
    one = options.add_mutually_exclusive_group()
    one.add_argument(
        "--ablations", action="store_true", help="what each part of the search is worth"
    )
    one.add_argument("--accelforge", action="store_true", help="another exact mapper")
    one.add_argument(
        "--explore", nargs="*", metavar="WORD",
        help="a proven front of machines: network, file of the space, and seconds at most",
    )  # fmt: skip
    one.add_argument(
        "--explore-strategies", nargs="*", type=int, metavar="DESIGNS",
        help="strategies that stop after so many designs, beside a proven front of machines",
    )  # fmt: skip
    one.add_argument("--fusion", action="store_true", help="layers that share loops")
    one.add_argument(
        "--guards", action="store_true", help="whether results are those of the last release"
    )
    one.add_argument(
        "--park", action="store_true", help="a park of machines; add --help for its options"
    )
    one.add_argument(
        "--zoo", action="store_true",
        help="every network that ships on every machine that ships; add --help for its options",
    )  # fmt: skip
    one.add_argument(
        "--tile-sizes", action="store_true",
        help="what is proven with all tile sizes; add --help for its options",
    )  # fmt: skip
    options.add_argument("--long", action="store_true", help="with --guards: searches of minutes")
    options.add_argument(
        "--write", action="store_true", help="with --guards: later runs are compared with this one"
    )
    options.add_argument("--markdown", action="store_true", help="tables in Markdown")
    return options


def chosen(words: list[str]) -> argparse.Namespace:
    """Return what is asked for; what is unknown, or has no effect, ends the program."""
    options = parser()
    asked = options.parse_args(words)
    if (asked.long or asked.write) and not asked.guards:
        options.error("--long and --write go with --guards")
    return asked


def sections(asked: argparse.Namespace) -> Iterator[Section]:
    """Yield the tables one after the other, as they are measured."""
    if asked.accelforge:
        yield peers.section()
        return
    if asked.ablations:
        yield from ablations.sections()
        return
    if asked.fusion:
        yield from fusion.sections()
        return
    if asked.explore is not None:
        yield exploration.proof(asked.explore)
        return
    if asked.explore_strategies is not None:
        yield exploration.section(asked.explore_strategies)
        return
    yield from mapper.sections()
    yield harder.section()
    yield evaluation()
    yield styles.section()
    yield layout.section()
    yield offchip.section()


def many(words: list[str]) -> Iterator[Section]:
    """Yield the table of an option that has options of its own, which follow it."""
    option = next(option for option in MEASURED if option in words)
    parsed, measured = MEASURED[option]
    rest = [word for word in words if word != option]
    parsed().parse_args(rest)  # what is unknown is told before kernels are compiled
    mapper.in_process("every_kernel")
    table = measured(rest)
    if table is not None:
        yield table


def show(section: Section, console: Console) -> None:
    """Print a table for people."""
    table = Table(title=section.title, title_justify="left")
    for i, column in enumerate(section.columns):
        table.add_column(column, justify="right" if i else "left")
    for row in section.rows:
        table.add_row(*row)
    console.print(table)
    if section.note:
        console.print(section.note, markup=False)
    console.print()


def main() -> None:
    words = sys.argv[1:]
    wide = bool(MEASURED.keys() & set(words))
    if wide:
        tables = many(words)
    else:
        asked = chosen(words)
        if asked.guards:
            sys.exit(identical.main(words) != 0)
        tables = sections(asked)
    console = Console(width=220 if wide else 120)
    if "--markdown" in words:
        print(machine() + ".", flush=True)
        for section in tables:
            print("\n" + section.markdown(), flush=True)
        return
    console.print(machine() + "\n", markup=False, highlight=False)
    for section in tables:
        show(section, console)


if __name__ == "__main__":
    main()
