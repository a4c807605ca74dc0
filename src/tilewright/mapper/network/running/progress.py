"""How a search tells what it has reached."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from math import inf, isfinite
from threading import Lock
from time import perf_counter

from tilewright.kernels.announcement import listen
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.searched_space import ALL, DIVISORS, SIZES
from tilewright.mapper.results.ticking import Told, every, gap_text, so_far
from tilewright.text import say
from tilewright.workload.layer import Layer

SHOWN = 4  # layers that are told of at one time


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

    def widened(self, layer: Layer, best: float) -> None:
        """Tell that tile sizes that divide are done, with this value, and all others follow."""

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

    def working(self, line: Callable[[], str]) -> AbstractContextManager[object]:
        """Tell now and then how far the work inside has come that is no search of a layer."""
        return nullcontext()


class Lines(Progress):
    """One line per layer, and every few seconds one for each that is under way, for logs.

    Parameters
    ----------
    tell : callable
        Who is told; the standard error stream by default.
    """

    def __init__(self, tell: Callable[[str], None] = say) -> None:
        self.write = tell
        self.unit = self.among = self.first = ""
        self.layers = self.finished = 0
        self.running: dict[Layer, tuple[float, str]] = {}
        self.open = ExitStack()
        self.lock = Lock()
        listen(self.write)

    def begin(self, layers: int, objective: str, tiles: str = ALL) -> None:
        """Begin to tell what is under way."""
        self.unit = parse_objective(objective).unit
        self.among = f" among {SIZES[tiles]}" if tiles != ALL else ""
        self.first = f" among {SIZES[DIVISORS]}" if tiles == ALL else ""
        self.layers, self.finished = layers, 0
        self.watch()

    def watch(self) -> None:
        """Begin to write now and then."""
        self.open.close()
        self.open.enter_context(every(self.under_way, self.write))

    def under_way(self) -> list[str]:
        """Return a line for each layer that has been searched longest, and how many others are."""
        with self.lock:
            running = list(self.running.items())
        lines = [
            f"{layer.name}: {text}, {perf_counter() - since:.0f} s"
            for layer, (since, text) in running[:SHOWN]
        ]
        if more := len(running) - SHOWN:
            lines += [f"and {more} more under way"] if more > 0 else []
        return lines

    def started(self, layer: Layer) -> None:
        """Note when the search of a layer began."""
        with self.lock:
            self.running[layer] = (perf_counter(), so_far(inf, 0.0, self.unit))

    def improved(self, layer: Layer, best: float, bound: float) -> None:
        """Note how far the search of a layer is."""
        self.note(layer, f"{so_far(best, bound, self.unit)}{self.first}")

    def widened(self, layer: Layer, best: float) -> None:
        """Note what the first tile sizes have given."""
        self.note(layer, f"best {best:.5g} {self.unit}{self.first}; now all tile sizes")

    def note(self, layer: Layer, text: str) -> None:
        """Note what is told of a layer while it is searched."""
        with self.lock:
            if layer in self.running:
                self.running[layer] = (self.running[layer][0], text)

    def working(self, line: Callable[[], str]) -> AbstractContextManager[object]:
        """Write now and then how far the work inside has come."""
        return every(lambda: [line()], self.write)

    def end(self) -> None:
        """Fall silent."""
        self.open.close()
        self.running.clear()

    def recalled(self, layer: Layer, best: float, bound: float, proven: bool) -> None:
        """Write the line of a layer that need not be searched."""
        self.count(layer, f"{self.known(best, bound, proven)}, from the cache")

    def done(self, layer: Layer, best: float, bound: float, proven: bool) -> None:
        """Write the line of a layer."""
        self.count(layer, self.known(best, bound, proven))

    def known(self, best: float, bound: float, proven: bool) -> str:
        """Return a value and how good it is."""
        if not isfinite(best):
            return f"no mapping yet{self.among}"
        found = f"{best:.6g} {self.unit}"
        good = "proven optimal" if proven else f"gap {gap_text(best, bound)}"
        return f"{found}, {good}{self.among}"

    def count(self, layer: Layer, text: str) -> None:
        """Write how far the network is, and what is known of a layer."""
        with self.lock:
            self.finished += 1
            self.running.pop(layer, None)
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


def watching() -> Progress:
    """Return bars where the standard error stream is a terminal, lines elsewhere."""
    if not has_terminal():
        return Lines()
    from tilewright.mapper.network.running.bars import Bars

    return Bars()


def has_terminal() -> bool:
    """Whether the standard error stream is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def counted(name: str, what: str, shown: bool) -> Iterator[Told]:
    """Show on the standard error stream how many there are so far.

    Parameters
    ----------
    name : str
        Of the workload.
    what : str
        Of which there are some.
    shown : bool
        Whether to show anything.
    """
    start = perf_counter()
    state = [f"0 {what}"]

    def told(count: int, now: str = "") -> None:
        state[0] = f"{count} {what}{f'; {now}' if now else ''}"

    def line() -> str:
        return f"{name}: {state[0]}, {perf_counter() - start:.0f} s"

    if not shown:
        yield told
        return
    listen(say)
    if not has_terminal():
        with every(lambda: [line()]):
            yield told
        return
    from rich.console import Console

    # a spinner of plain characters, for terminals of any encoding
    with Console(stderr=True).status(line(), spinner="line") as status:

        def show(count: int, now: str = "") -> None:
            told(count, now)
            status.update(line())

        yield show
