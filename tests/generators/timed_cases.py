"""Cases whose ports, networks, DMA engines and adders take time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from strategies import cases
from tilewright.architecture.machine import Architecture, Compute, Level, Memory
from tilewright.architecture.transfers import Dma, Networks
from tilewright.mapping.nodes import Mapping
from tilewright.workload.layer import Layer

Draw = Any
Timed = tuple[Layer, Architecture, Mapping, dict[str, str]]
RATES = st.sampled_from([None, 0.5, 1.0, 3.0])


@st.composite
def timed(draw: Draw, operations: int = 200) -> Timed:
    """Draw a case on a machine whose ports, networks, DMA engines and adders take time."""
    layer, architecture, mapping = draw(cases(operations=operations))
    levels = [draw(timed_level(level)) for level in architecture.levels]
    layouts = {}
    for tensor in layer.tensors:
        if draw(st.booleans()):
            axes = ["+".join(map(str, terms)) for terms in tensor.expressions]
            layouts[tensor.name] = ", ".join(draw(st.permutations(axes)))
    return layer, replace(architecture, levels=tuple(levels)), mapping, layouts


@st.composite
def timed_level(draw: Draw, level: Level) -> Level:
    if isinstance(level, Compute):
        return replace(level, cycles=draw(st.sampled_from([1.0, 2.0, 0.5, 1.5])))
    if isinstance(level, Memory):
        shared = draw(st.booleans())
        return replace(
            level,
            read_bandwidth=None if shared else draw(RATES),
            write_bandwidth=None if shared else draw(RATES),
            shared_bandwidth=draw(RATES) if shared else None,
            dma=draw(st.sampled_from([None, Dma(7.0, 0.5), Dma(3.0, 0.25, 2e9)])),
            block_bytes=draw(st.sampled_from([None, None, 4])),
            buffering=draw(st.sampled_from([1, 2])),
        )
    networks = draw(st.sampled_from([None, Networks(), Networks(2, 1, 1), Networks(3, 1, 1)]))
    adders = [None, "tree", "hops", *(["network"] if networks and networks.reduction else [])]
    return replace(
        level,
        bandwidth=draw(st.sampled_from([None, 1.0, 2.5])),
        networks=networks,
        adders=draw(st.sampled_from(adders)),
    )


def quick(examples: int) -> settings:
    return settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
