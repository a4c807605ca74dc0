"""What frontiers over memory sizes have in common: points, from the smallest size on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tilewright.mapper.objective.objective import parse_objective

if TYPE_CHECKING:
    import pandas as pd

SizePoint = TypeVar("SizePoint")


class BySize(Generic[SizePoint]):
    """The least cost for every size of memories, as a collection of the points where it falls."""

    if TYPE_CHECKING:
        objective: str
        traffic: str | None
        points: tuple[SizePoint, ...]

        def text(self, width: int | None = None) -> str:
            """Return all as text."""

        def record(self, point: SizePoint) -> dict[str, Any]:
            """Return the numbers of one point."""

        def to_dict(self) -> dict[str, Any]:
            """Return everything as plain data."""

    @property
    def unit(self) -> str:
        """Unit of the values."""
        return "words" if self.traffic is not None else parse_objective(self.objective).unit

    @property
    def what(self) -> str:
        """What is minimised, in words."""
        return f"{self.traffic} traffic" if self.traffic is not None else self.objective

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[SizePoint]:
        return iter(self.points)

    def __getitem__(self, i: int) -> SizePoint:
        """Return a point; 0 is that of the least size."""
        return self.points[i]

    def __str__(self) -> str:
        return self.text()

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per point: sizes in bits, value, words of memories."""
        import pandas as pd

        return pd.DataFrame([self.record(point) for point in self.points])

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)
