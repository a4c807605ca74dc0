"""Tables and numbers as people read them."""

from __future__ import annotations

from tilewright.text import aligned, number, percent

__all__ = ["aligned", "number", "percent"]
