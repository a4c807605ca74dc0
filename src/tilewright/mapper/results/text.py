"""Tables and numbers as people read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = ()) -> list[str]:
    """Return rows as lines of equal columns; those that are not in `left` are flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def number(value: float) -> str:
    """Return a number with two decimals, or with four digits when that would show too few."""
    return f"{value:,.2f}" if 1 <= value < 1e9 or value == 0 else f"{value:.4g}"


def percent(share: float) -> str:
    """Return a share in percent; what is not zero does not look like it."""
    return f"{share:.1%}" if share == 0 or share >= 0.0005 else "<0.1%"
