"""Run every benchmark and print the results.

python -m benchmarks [--markdown]
                     [--accelforge | --explore-strategies [DESIGNS ...] | --fusion | --park ...
                      | --zoo ... | --tile-sizes ... | --guards [--long]]

With ``--accelforge`` another exact mapper is compared; with ``--explore-strategies`` a proven front
of machines is compared with what strategies without proof find; with ``--fusion`` layers are fused;
with ``--park`` many plausible machines are mapped, with ``--zoo`` all that ship; ``--tile-sizes``
says how many layers are proven with all tile sizes (``--help`` behind them lists their options);
with ``--guards`` results are compared with those of the last release. Nothing else is measured
then.
"""

from __future__ import annotations

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

MEASURED = {"--park": report.park, "--zoo": zoo.zoo, "--tile-sizes": tile_sizes.tile_sizes}


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


def sections() -> Iterator[Section]:
    """Yield the tables one after the other, as they are measured."""
    if "--accelforge" in sys.argv[1:]:
        yield peers.section()
        return
    if "--fusion" in sys.argv[1:]:
        yield from fusion.sections()
        return
    if "--explore-strategies" in sys.argv[1:]:
        yield exploration.section([word for word in sys.argv[1:] if not word.startswith("--")])
        return
    for option, measured in MEASURED.items():
        if option in sys.argv[1:]:
            mapper.in_process("every_kernel")
            table = measured([word for word in sys.argv[1:] if word != option])
            if table is not None:
                yield table
            return
    yield from mapper.sections()
    yield harder.section()
    yield evaluation()
    yield styles.section()
    yield layout.section()
    yield offchip.section()


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
    if "--guards" in sys.argv[1:]:
        sys.exit(identical.main(sys.argv[1:]) != 0)
    wide = {"--park", "--zoo"} & set(sys.argv[1:])
    console = Console(width=220 if wide else 120)
    if "--markdown" in sys.argv[1:]:
        print(machine() + ".", flush=True)
        for section in sections():
            print("\n" + section.markdown(), flush=True)
        return
    console.print(machine() + "\n", markup=False, highlight=False)
    for section in sections():
        show(section, console)


if __name__ == "__main__":
    main()
