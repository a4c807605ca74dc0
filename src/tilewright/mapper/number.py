"""Numbers as people read them."""

from __future__ import annotations


def number(value: float) -> str:
    """Return a number with two decimals, or with four digits when that would show too few."""
    return f"{value:,.2f}" if 1 <= value < 1e9 or value == 0 else f"{value:.4g}"


def percent(share: float) -> str:
    """Return a share in percent; what is not zero does not look like it."""
    return f"{share:.1%}" if share == 0 or share >= 0.0005 else "<0.1%"
