"""No word of an intermediate tensor is needed that its memory has no room for."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings

from fused_cases import FusedCase, fused_cases
from tilewright.fusion.count import count_fused
from tilewright.fusion.room import tiles_alive
from tilewright.mapping.fused.scopes import Leaf, resolve_fused
from tilewright.mapping.fused.turns import Span
from tilewright.reference.fused import FusedSimulation
from tilewright.reference.fused_words import Words, footprint


@dataclass(frozen=True)
class Turn:
    """What a turn of a layer reads and makes of the intermediates."""

    layer: str
    read: Dict[str, Words]
    made: Dict[str, Words]


class Recorded(FusedSimulation):
    """A simulation that remembers its turns."""

    def turn(self, leaf: Leaf, box: Dict[str, Span]) -> None:
        super().turn(leaf, box)
        layer = self.segment.layer_of[leaf.layer]
        read: dict[str, Words] = {}
        for exchange in self.segment.exchanges:
            if exchange.reader.layer == leaf.layer:
                words = read.get(exchange.tensor, frozenset())
                read[exchange.tensor] = words | self.words.read(exchange, box)
        name = self.segment.shared_name_of_output(leaf.layer)
        self.log.append(Turn(leaf.layer, read, {name: footprint(layer.output, box)}))

    @property
    def log(self) -> list[Turn]:
        """The turns so far."""
        found: list[Turn] = self.__dict__.setdefault("recorded", [])
        return found


def alive(turns: list[Turn], tensor: str) -> list[int]:
    """Return how many words of a tensor have to be somewhere during each turn.

    Those that have been made, or are, and that this turn or a later one reads before they are made
    again; a sum that is not complete counts as read by the next turn that goes on with it.
    """
    wanted: set[tuple[int, ...]] = set()
    counts = []
    for i in reversed(range(len(turns))):
        before = {w for turn in turns[:i] for w in turn.made.get(tensor, ())}
        made = turns[i].made.get(tensor, frozenset())
        read = turns[i].read.get(tensor, frozenset())
        counts.append(len(((wanted | read) & (before | made)) | made))
        wanted = (wanted - made) | read
    return counts[::-1]


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=fused_cases(modes=("retain", "recompute")))
def test_all_words_alive_have_room(case: FusedCase) -> None:
    segment, architecture, mapping = case
    resolved = resolve_fused(mapping, segment)
    run = Recorded(segment, architecture, resolved)
    run.counts()
    room = tiles_alive(resolved, architecture, count_fused(resolved, architecture).stores)
    for tensor in segment.intermediates:
        stores = [store for store in resolved.stores if store.tensor == tensor.name]
        if len(stores) != 1:
            continue
        for turn, words in zip(run.log, alive(run.log, tensor.name), strict=True):
            tiles = room[stores[0].memory][turn.layer]
            held = sum(tile.words for tile in tiles if tile.tensor == tensor.name)
            assert words <= held, f"{tensor.name} during {turn.layer}"
