"""The first events of a pipelined execution: what computes, what moves, what waits."""

from __future__ import annotations

from itertools import islice

from tilewright.architecture.machine import Architecture
from tilewright.mapping.nodes import Mapping
from tilewright.timing.latency import Nest
from tilewright.timing.result import Event
from tilewright.timing.stages import Layouts
from tilewright.timing.walk import Walk
from tilewright.workload.layer import Layer

MOST = 200


def first_events(
    layer: Layer,
    architecture: Architecture,
    mapping: Mapping,
    *,
    most: int = MOST,
    layouts: Layouts | None = None,
) -> list[Event]:
    """Return the first events of a pipelined execution, in the order in which they begin.

    Parameters
    ----------
    layer, architecture, mapping
        What is carried out, on what, and how: a valid mapping.
    most : int
        How many events at most.
    layouts : mapping of str to str, optional
        Order of each tensor's axes in the outermost memory, see `stages.axis_order`.

    Returns
    -------
    list of Event
        Those of `tilewright.reference.timeline.simulate_latency`, as far as they go.
    """
    nest = Nest(layer, architecture, mapping, layouts)
    names = [*(stage.memory for stage in nest.stages), architecture.compute.name]
    events = (
        Event(names[each.stage], each.what, each.start, each.end)
        for each in Walk(nest).slices()
        if each.end > each.start
    )
    return sorted(islice(events, most), key=lambda event: event.start)
