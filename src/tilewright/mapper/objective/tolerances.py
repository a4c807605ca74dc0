"""How far two numbers may differ that stand for the same."""

from __future__ import annotations

TIE = 1e-12


TOLERANCE = 1e-9
