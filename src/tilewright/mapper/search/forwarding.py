"""Machines whose neighbours forward words: a mapping to begin with, and a machine for bounds.

What an array forwards depends on what all its elements hold, which a search by single tensors does
not see. Without windows they forward nothing, as long as tile sizes divide: elements that work in
step never hold what comes next. With windows the search leaves out what the senders read, see
`tensor_costs.chain_costs`, which makes its bound one of all mappings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from tilewright.architecture.machine import Architecture, Array
from tilewright.mapper.results.searched_space import forwards
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import Mapping
from tilewright.workload.layer import Layer, Tensor

FIRST = 2.0  # seconds for a mapping to begin with


def forwards_words(layer: Layer, architecture: Architecture) -> bool:
    """Whether some tensor of a layer has words that neighbours may forward in step."""
    return forwards(architecture) and any(slides(tensor, layer) for tensor in layer.inputs)


def slides(tensor: Tensor, layer: Layer) -> bool:
    """Whether windows of a tensor may overlap."""
    return any(
        sum(layer.bounds[term.dimension] > 1 for term in terms) > 1 for terms in tensor.expressions
    )


def without_forwarding(architecture: Architecture) -> Architecture:
    """Return a machine on which every word is read from above."""
    levels = tuple(
        replace(level, forwarding=False) if isinstance(level, Array) else level
        for level in architecture.levels
    )
    return replace(architecture, levels=levels)


def of_reading_all(
    layer: Layer, architecture: Architecture, objective: str, stop: Callable[[], bool]
) -> Mapping | None:
    """Return a good mapping for a machine that forwards, by counting every word as read.

    On the machine it costs no more than was counted.
    """
    end = perf_counter() + FIRST
    search = Search(layer, without_forwarding(architecture), objective)
    return search.solve(lambda: stop() or perf_counter() >= end).mapping
