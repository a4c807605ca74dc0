"""Which machine to build: spaces of designs, and the proven best of them."""

from tilewright.exploration.designs.reading import load_space, parse_space
from tilewright.exploration.designs.space import Box, Space
from tilewright.exploration.result import Certificate, Exploration, Point
from tilewright.exploration.search import explore
from tilewright.exploration.trial import Moment, Trial

__all__ = [
    "Box", "Certificate", "Exploration", "Moment", "Point", "Space", "Trial", "explore",
    "load_space", "parse_space",
]  # fmt: skip
