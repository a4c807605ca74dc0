"""Bars on a terminal: how far the search of each layer has come."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from math import isfinite

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.table import Column

from tilewright.mapper.network.running.progress import Lines
from tilewright.mapper.results.searched_space import ALL
from tilewright.mapper.results.ticking import every, so_far
from tilewright.workload.layer import Layer

WIDE = 100  # columns of a terminal


class Bars(Lines):
    """A bar per layer that is being searched: best value, lower bound and gap."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        super().__init__(
            lambda line: self.console.print(line, markup=False, highlight=False, soft_wrap=True)
        )
        # on a narrow terminal the state is cut, not the name or the time
        cut, whole = Column(no_wrap=True, overflow="ellipsis"), Column(no_wrap=True, min_width=7)
        self.bars = RichProgress(
            TextColumn(
                "{task.description}", markup=False, table_column=replace(whole, min_width=18)
            ),
            BarColumn(bar_width=20 if self.console.width >= WIDE else 8),
            TextColumn("{task.fields[status]}", markup=False, table_column=cut),
            TimeElapsedColumn(table_column=whole),
            console=self.console,
            transient=True,
        )
        self.tasks: dict[Layer, TaskID] = {}
        self.whole = self.bars.add_task("layers", status="")

    def begin(self, layers: int, objective: str, tiles: str = ALL) -> None:
        """Show the bar of the whole network."""
        super().begin(layers, objective, tiles)
        self.bars.update(self.whole, total=layers, status=f"0 of {layers}")

    def watch(self) -> None:
        """Show the bars."""
        self.bars.start()

    def started(self, layer: Layer) -> None:
        """Add the bar of a layer."""
        with self.lock:
            self.tasks[layer] = self.bars.add_task(layer.name, total=1.0, status="")

    def improved(self, layer: Layer, best: float, bound: float) -> None:
        """Move the bar: full when the bound has reached the best value."""
        reached = bound / best if best > 0 and isfinite(best) else 0.0
        with self.lock:
            self.bars.update(self.tasks[layer], completed=reached, status=so_far(best, bound))

    def widened(self, layer: Layer, best: float) -> None:
        """Say that the bar is full, and why the search goes on."""
        with self.lock:
            text = f"best {best:.5g}, now all tile sizes"
            self.bars.update(self.tasks[layer], status=text)

    def working(self, line: Callable[[], str]) -> AbstractContextManager[object]:
        """Show how far the work inside has come."""
        return every(lambda: [line()], self.write)

    def count(self, layer: Layer, text: str) -> None:
        """Replace the bar of a layer by its line."""
        super().count(layer, text)
        with self.lock:
            if layer in self.tasks:
                self.bars.remove_task(self.tasks.pop(layer))
            status = f"{self.finished} of {self.layers}"
            self.bars.update(self.whole, completed=self.finished, status=status)

    def end(self) -> None:
        """Take the bars away."""
        self.bars.stop()
