"""Which machine to build: spaces of designs, and the proven best of them."""

from tilewright.explore.reading import load_space, parse_space
from tilewright.explore.result import Certificate, Exploration, Point
from tilewright.explore.search import explore
from tilewright.explore.space import Box, Space

__all__ = [
    "Box", "Certificate", "Exploration", "Point", "Space", "explore", "load_space", "parse_space",
]  # fmt: skip
