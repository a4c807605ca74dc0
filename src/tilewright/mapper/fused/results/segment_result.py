"""What is known of the best fused mapping of one segment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tilewright.counts import Counts
from tilewright.fusion.result import FusedEvaluation
from tilewright.mapper.results.result import LayerResult
from tilewright.mapping.fused import FusedMapping, Segment, fused_data


@dataclass(frozen=True)
class ExchangedTile:
    """Where an exchanged tensor lives.

    Attributes
    ----------
    tensor, memory : str
    extents : tuple of int
        Of the tile, along the axes of the tensor as its producer makes it.
    words : int
        Of the whole tensor.
    """

    tensor: str
    memory: str
    extents: tuple[int, ...]
    words: int

    def __str__(self) -> str:
        return f"{self.tensor} {'x'.join(map(str, self.extents))} in {self.memory}"


@dataclass(frozen=True)
class SegmentResult:
    """The best fused mapping of one segment.

    Attributes
    ----------
    segment : Segment
        Its layers, and how often it occurs.
    mapping : FusedMapping
        The tree.
    evaluation : FusedEvaluation
        What that costs, for one run.
    alone : tuple of LayerResult
        Its layers by themselves.
    exchanged : tuple of ExchangedTile
    value, lower_bound : float
        What was minimised, of one run, and what no fused mapping of the space undercuts.
    seconds : float
        Of the search.
    """

    segment: Segment
    mapping: FusedMapping
    evaluation: FusedEvaluation
    alone: tuple[LayerResult, ...]
    exchanged: tuple[ExchangedTile, ...]
    value: float
    lower_bound: float
    seconds: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the layers in the graph."""
        return tuple(layer.name for layer in self.segment.layers)

    @property
    def repeat(self) -> int:
        """How often it occurs in its network."""
        return self.segment.repeat

    @property
    def optimal(self) -> bool:
        """Whether no fused mapping of the space is better."""
        return self.lower_bound >= self.value

    @property
    def gap(self) -> float:
        """By what share of its value it may be improved at most."""
        return (self.value - self.lower_bound) / self.value if self.value else 0.0

    @cached_property
    def value_alone(self) -> float:
        """What its layers cost by themselves."""
        return sum(result.proof.value for result in self.alone)

    @cached_property
    def outer_words_saved(self) -> int:
        """Words that the outermost memory does not send or receive because layers are fused."""
        outermost = self.alone[0].evaluation.architecture.memories[0].name
        before = sum(outer_words(r.evaluation.counts, outermost) for r in self.alone)
        after = sum(outer_words(c, outermost) for c in self.evaluation.counts.layers.values())
        return before - after

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "layers": list(self.names),
            "repeat": self.repeat,
            "value": self.value,
            "value_alone": self.value_alone,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "optimal": self.optimal,
            "outer_words_saved": self.outer_words_saved,
            "exchanged": [
                {"tensor": t.tensor, "memory": t.memory, "tile": list(t.extents), "words": t.words}
                for t in self.exchanged
            ],
            "seconds": self.seconds,
            **fused_data(self.mapping, self.segment),
            "evaluation": self.evaluation.to_dict(),
        }


def outer_words(counts: Counts, outermost: str) -> int:
    """Return the words that the outermost memory sends and receives."""
    return sum(one.reads + one.writes for one in counts.memories[outermost].values())


def shortened(names: tuple[str, ...]) -> str:
    """Return the names of layers in a row, without what they all begin with."""
    stems = {name.rpartition(".")[0] for name in names}
    if len(stems) == 1 and (stem := stems.pop()):
        return f"{stem}: " + ", ".join(name[len(stem) + 1 :] for name in names)
    return ", ".join(names)
