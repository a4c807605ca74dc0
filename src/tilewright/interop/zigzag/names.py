"""What ZigZag calls loops and operands, and what they are called here."""

from __future__ import annotations

DIMENSIONS = {"B": "N", "OY": "P", "OX": "Q", "FY": "R", "FX": "S"}
OPERANDS = {"I1": "I", "I2": "W", "O": "O"}


def dimension(name: str) -> str:
    """Return a loop under tilewright's name; N, P, Q, R and S mean what they are there already."""
    upper = name.upper()
    return DIMENSIONS.get(upper, upper)
