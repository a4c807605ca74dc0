"""How a search tells what it has reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from threading import Lock

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from tilewright.mapper.objective import parse_objective
from tilewright.mapper.sizes import ALL, SIZES
from tilewright.workload.layer import Layer


class Progress:
    """What `map_network` tells while it searches; this one listens to nothing.

    Its methods are called from several threads.
    """

    def begin(self, layers: int, objective: str, tiles: str = ALL) -> None:
        """So many different layers are going to be searched, with these tile sizes."""

    def recalled(self, layer: Layer, best: float, bound: float, proven: bool) -> None:
        """Tell that a layer need not be searched: its result is in the cache."""

    def started(self, layer: Layer) -> None:
        """Tell that the search of a layer begins."""

    def improved(self, layer: Layer, best: float, bound: float) -> None:
        """Tell a new best value (infinite before there is one) or lower bound."""

    def done(self, layer: Layer, best: float, bound: float, proven: bool) -> None:
        """Tell that the search of a layer has ended."""

    def better_style(self, style: str, best: float) -> None:
        """Tell that all layers have been mapped in a style that is better than those before."""

    def stopping(self) -> None:
        """Tell that the user has asked the search to end."""

    def end(self) -> None:
        """All searches have ended."""

    def unkept(self, reason: str) -> None:
        """Tell that results could not be kept in the cache."""


class Lines(Progress):
    """One line per layer, for logs.

    Parameters
    ----------
    console : rich Console
        Where they go; the standard error stream by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.unit = self.among = ""
        self.layers = self.finished = 0
        self.lock = Lock()

    def begin(self, layers: int, objective: str, tiles: str = ALL) -> None:
        """Say that the search has to be compiled, if it has."""
        from tilewright.mapper.compilation import SECONDS, is_compiled

        self.unit = parse_objective(objective).unit
        self.among = f" among {SIZES[tiles]}" if tiles != ALL else ""
        self.layers, self.finished = layers, 0
        if not is_compiled():
            self.write(f"compiling kernels once (about {SECONDS} s)")

    def recalled(self, layer: Layer, best: float, bound: float, proven: bool) -> None:
        """Write the line of a layer that need not be searched."""
        self.count(layer, f"{self.known(best, bound, proven)}, from the cache")

    def done(self, layer: Layer, best: float, bound: float, proven: bool) -> None:
        """Write the line of a layer."""
        self.count(layer, self.known(best, bound, proven))

    def known(self, best: float, bound: float, proven: bool) -> str:
        """Return a value and how good it is."""
        found = f"{best:.6g} {self.unit}" if isfinite(best) else "no mapping yet"
        good = "proven optimal" if proven else f"gap {gap_text(best, bound)}"
        return f"{found}, {good}{self.among}"

    def count(self, layer: Layer, text: str) -> None:
        """Write how far the network is, and what is known of a layer."""
        with self.lock:
            self.finished += 1
            self.write(f"[{self.finished}/{self.layers}] {layer.name}: {text}")

    def better_style(self, style: str, best: float) -> None:
        """Write the line of a style."""
        self.write(f"style {style}: {best:.6g} {self.unit}")

    def stopping(self) -> None:
        """Say that the end is near."""
        self.write("stopping with the best so far; Ctrl-C again ends at once")

    def unkept(self, reason: str) -> None:
        """Say why these results will be searched again."""
        self.write(f"note: results are not kept in the cache: {reason}")

    def write(self, text: str) -> None:
        """Write a line as it is, whatever its length."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


class Bars(Lines):
    """A bar per layer that is being searched: best value, lower bound and gap."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self.bars = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[status]}", markup=False),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
        )
        self.tasks: dict[Layer, TaskID] = {}
        self.whole = self.bars.add_task("layers", status="")

    def begin(self, layers: int, objective: str, tiles: str = ALL) -> None:
        """Show the bar of the whole network."""
        super().begin(layers, objective, tiles)
        self.bars.update(self.whole, total=layers, status=f"0 of {layers}")
        self.bars.start()

    def started(self, layer: Layer) -> None:
        """Add the bar of a layer."""
        with self.lock:
            self.tasks[layer] = self.bars.add_task(layer.name, total=1.0, status="")

    def improved(self, layer: Layer, best: float, bound: float) -> None:
        """Move the bar: full when the bound has reached the best value."""
        reached = bound / best if best > 0 and isfinite(best) else 0.0
        value = f"{best:.5g}" if isfinite(best) else "none yet"
        status = f"best {value}, bound {bound:.5g} {self.unit}, gap {gap_text(best, bound)}"
        with self.lock:
            self.bars.update(self.tasks[layer], completed=reached, status=status)

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


def watching() -> Progress:
    """Return bars where the standard error stream is a terminal, lines elsewhere."""
    console = Console(stderr=True)
    return Bars(console) if console.is_terminal else Lines(console)


def gap_text(best: float, bound: float) -> str:
    """Return by how much of the best value a better one could be less."""
    return f"{(best - bound) / best:.1%}" if best > 0 and isfinite(best) else "unknown"


@contextmanager
def counted(what: str, shown: bool, sweep: bool = False) -> Iterator[Callable[[int], None]]:
    """Show on the standard error stream, if that is a terminal, how many there are so far.

    Whether or not it is one, it says that the search, or a sweep, has to be compiled.
    """
    from tilewright.mapper.compilation import SECONDS, is_compiled

    console = Console(stderr=True)
    if shown and not is_compiled(sweep):
        console.print(f"compiling kernels once (about {SECONDS} s)", highlight=False)
    if not shown or not console.is_terminal:
        yield lambda count: None
        return
    with console.status(what) as status:
        yield lambda count: status.update(f"{what}: {count}")
