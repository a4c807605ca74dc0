"""The least data movement of a matrix product for every size of the memory beside it.

python -m reproduce.orojenesis [--write]

Prints the table of docs/reproductions/orojenesis.md; with --write puts it into that page.
"""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import tilewright
from reproduce.pages import Rows, publish
from tilewright.architecture.reading import parse_architecture
from tilewright.document import parse
from tilewright.workload.operators import matmul

PAGE = Path(__file__).parents[1] / "docs" / "reproductions" / "orojenesis.md"
MACHINE = """
name: dram-and-l2
levels:
  - {memory: DRAM, word: 16 bits, energy: 1}
  - {memory: L2, word: 16 bits, size: 2 MiB, energy: 0}
  - {compute: MAC, energy: 0}
"""
MIB = 1 << 20
SIZES = (2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 50)


def movement(extent: int = 4096, sizes: tuple[int, ...] = SIZES) -> Rows:
    """Return the least words between DRAM and an L2 of each size (MiB), proven."""
    layer = matmul(M=extent, N=extent, K=extent, name="product")
    machine = parse_architecture(parse(MACHINE, "machine.yaml"))
    found = tilewright.frontier(layer, machine, "L2", traffic="DRAM")
    assert found.optimal
    rows: Rows = [
        ("L2 (MiB)", "least movement (MiB)", "over each word once", "2 n^3 / sqrt(S) (MiB)",
         "operations per byte"),
    ]  # fmt: skip
    once = 3 * extent**2 * 2
    for size in sizes:
        words = min(p.value for p in found.points if p.bits[0] <= size * MIB * 8)
        capacity = size * MIB / 2
        classic = 2 * extent**3 / sqrt(capacity) * 2
        rows.append((
            str(size), f"{words * 2 / MIB:.0f}", f"{words * 2 / once:.2f}x", f"{classic / MIB:.0f}",
            f"{extent**3 / (words * 2):.0f}",
        ))  # fmt: skip
    return rows


def main() -> None:
    """Print the table, and put it into the page with --write."""
    publish({"movement": movement}, PAGE)


if __name__ == "__main__":
    main()
