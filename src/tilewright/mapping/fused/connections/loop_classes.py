"""The dimensions that a shared loop cuts: one of each layer below it, tied to each other."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tilewright.errors import MappingError
from tilewright.mapping.fused.connections.names import named_dimensions
from tilewright.mapping.fused.connections.segments import Access, Exchange, Segment, Tie


@dataclass(frozen=True)
class Reading:
    """How a layer below a loop reads what another one below it makes."""

    reader: str
    tie: Tie


@dataclass(frozen=True, eq=False)
class LoopClass:
    """Dimensions, one of each layer below a loop, that the loop cuts together.

    Attributes
    ----------
    dims : mapping of str to str
        By layer the name of the dimension.
    ends : tuple of str
        Layers whose output nobody below the loop reads.
    makers : tuple of (layer, readings)
        The other layers, each after all that read what it makes.
    """

    dims: Dict[str, str]
    ends: tuple[str, ...]
    makers: tuple[tuple[str, tuple[Reading, ...]], ...]


def fault(message: str, node: str) -> MappingError:
    """Return the error for a node of the tree."""
    return MappingError(message, key=node)


@lru_cache(maxsize=4096)
def loop_class(segment: Segment, below: tuple[str, ...], name: str) -> LoopClass:
    """Return what a loop over a dimension of that name cuts in the layers below it.

    A plain name such as ``M`` is accepted where all layers below that have such a dimension have
    it cut; otherwise ``layer.M``.

    Raises
    ------
    MappingError
        When the layers below cannot share the loop.
    """
    path = "mapping"
    meant = [access for access in named_dimensions(name, segment) if access.layer in below]
    if not meant:
        raise fault(f"no layer below has a dimension '{name}'", path)
    exchanges = [
        e for e in segment.exchanges if e.producer.layer in below and e.reader.layer in below
    ]
    dims = tied(meant[0], exchanges, path)
    for layer in below:
        if layer not in dims:
            raise fault(
                f"layer '{layer}' has no dimension tied to {meant[0].layer}.{meant[0].tensor}: it "
                "cannot share this loop; run it in a branch outside of it",
                path,
            )
    for access in meant[1:]:
        if dims[access.layer] != access.tensor:
            raise fault(
                f"'{name}' is ambiguous: {meant[0].layer}.{name} and {access.layer}.{name} are "
                f"not tied; write '{meant[0].layer}.{name}' or '{access.layer}.{name}'",
                path,
            )
    readings: dict[str, tuple[Reading, ...]] = {}
    for e in exchanges:
        made, read = e.producer.layer, e.reader.layer
        tie = next((t for t in e.ties if (t.made, t.read) == (dims[made], dims[read])), None)
        if tie is None:
            raise fault(
                f"a loop on {made}.{dims[made]} cannot be shared: in each of its iterations layer "
                f"'{read}' needs words of {e.tensor} that other iterations make",
                path,
            )
        readings[made] = (*readings.get(made, ()), Reading(read, tie))
    ends = tuple(layer for layer in below if layer not in readings)
    makers = tuple((layer, readings[layer]) for layer in reversed(below) if layer in readings)
    bounds = {segment.layer_of[layer].bounds[dims[layer]] for layer in ends}
    if len(bounds) > 1:
        found = ", ".join(f"{e}.{dims[e]}" for e in ends)
        raise fault(f"the layers at the end run over different bounds: {found}", path)
    if not any(_same_steps(a, dims, ends, readings) for a in meant):
        raise fault(
            f"a tile of '{name}' counts other iterations than the layer that reads last: write "
            f"'{ends[0]}.{dims[ends[0]]}'",
            path,
        )
    return LoopClass(dims, ends, makers)


def _same_steps(
    access: Access,
    dims: Dict[str, str],
    ends: Sequence[str],
    readings: Dict[str, tuple[Reading, ...]],
) -> bool:
    """Return whether a dimension counts the same iterations as those at the end."""
    if access.layer in ends:
        return True
    return all(
        r.tie.plain and _same_steps(Access(r.reader, dims[r.reader]), dims, ends, readings)
        for r in readings[access.layer]
    )


def tied(start: Access, exchanges: Sequence[Exchange], path: str) -> dict[str, str]:
    """Return by layer the dimension that exchanges tie to one of some layer."""
    dims = {start.layer: start.tensor}
    todo = [start.layer]
    while todo:
        layer = todo.pop()
        for e in exchanges:
            for tie in e.ties:
                pair = ((e.producer.layer, tie.made), (e.reader.layer, tie.read))
                for (near, own), (far, other) in (pair, pair[::-1]):
                    if near != layer or dims[near] != own:
                        continue
                    if far not in dims:
                        dims[far] = other
                        todo.append(far)
                    elif dims[far] != other:
                        raise fault(
                            f"the loop would cut two dimensions of layer '{far}' at once: "
                            f"{dims[far]} and {other}",
                            path,
                        )
    return dims
