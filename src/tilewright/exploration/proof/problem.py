"""What an exploration is asked."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.exploration.designs.space import Space
from tilewright.exploration.proof.solver import Workload
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Problem:
    """What is asked, see `search.explore`."""

    space: Space
    workloads: tuple[Workload, ...]
    axes: tuple[str, ...]
    objective: str
    maximum: bool

    @property
    def runs(self) -> list[Layer]:
        """The layers of all workloads."""
        return [layer for each in self.workloads for layer in each.network.layers]
