"""What each layer carries out in each iteration of the shared loops: a box, turn by turn.

A loop cuts the layers at the end into chunks. A layer whose output is read below the loop carries
out what brings its output as far as the chunk needs, at the last chunk to its end: by default from
where the chunk before has ended, so that every word is made once; where it makes the words that
neighbouring chunks share *anew*, from the first one that the chunk needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tilewright.errors import MappingError
from tilewright.mapping.fused.connections.loop_classes import LoopClass
from tilewright.mapping.fused.connections.segments import Segment, Tie
from tilewright.mapping.fused.scopes import SharedLoop

MOST_STEPS = 2**16

Span = tuple[int, int]
# iterations of the dimension that a loop cuts, by layer: from the first to before the last
State = Mapping[str, Span]


def cut(loop: SharedLoop, state: State) -> list[dict[str, Span]]:
    """Return what each chunk of a loop leaves of the dimensions that it cuts.

    Parameters
    ----------
    loop : SharedLoop
        The loop.
    state : mapping of str to (first, end)
        By layer what the loops above leave.
    """
    cuts, tile = loop.cuts, loop.tile
    count = max(1, *(-(-(state[e][1] - state[e][0]) // tile) for e in cuts.ends))
    check_count(loop, count)
    chunks: list[dict[str, Span]] = []
    before = {layer: state[layer][0] for layer in cuts.dims}
    for i in range(count):
        ends = _ends(cuts, tile, state, i, last=i == count - 1)
        spans: dict[str, Span] = {}
        for layer in cuts.ends:
            spans[layer] = (min(ends[layer], state[layer][0] + i * tile), ends[layer])
        for layer, readings in cuts.makers:
            first = before[layer]
            if i and layer in loop.anew:
                needed = [
                    first_needed(r.tie, spans[r.reader][0])
                    for r in readings
                    if spans[r.reader][0] < spans[r.reader][1]
                ]
                first = min([first, *(max(n, state[layer][0]) for n in needed)])
            spans[layer] = (first, ends[layer])
        before = ends
        chunks.append(spans)
    return chunks


def _ends(cuts: LoopClass, tile: int, state: State, i: int, *, last: bool) -> dict[str, int]:
    """Return where the iterations of each layer end in chunk i."""
    ends = {e: min(state[e][1], state[e][0] + (i + 1) * tile) for e in cuts.ends}
    for layer, readings in cuts.makers:
        first, end = state[layer]
        if not last:
            needs = [
                reached(r.tie, ends[r.reader])
                for r in readings
                if ends[r.reader] > state[r.reader][0]
            ]
            end = min(end, max([first, *needs]))
        ends[layer] = end
    return ends


def first_needed(tie: Tie, first: int) -> int:
    """Return the first iteration of a producer that a reader needs from iteration `first` on."""
    return (tie.step * first + tie.offset) // tie.made_step


def reached(tie: Tie, end: int) -> int:
    """Return up to where a producer comes for a reader that ends before iteration `end`.

    At least up to the first word of the reader's next iteration: no word is left out.
    """
    words = max(tie.step * end, tie.step * (end - 1) + tie.span) + tie.offset
    return -(-words // tie.made_step)


def needed(tie: Tie, span: Span, bound: int) -> Span:
    """Return the iterations of a producer of `bound` whose words a reader's iterations read."""
    first, end = span
    if first >= end:
        return (0, 0)
    last = tie.step * (end - 1) + tie.offset + tie.span - 1
    return max(0, first_needed(tie, first)), min(bound, last // tie.made_step + 1)


def most_chunks(loop: SharedLoop, above: Sequence[SharedLoop], segment: Segment) -> int:
    """Return the chunks of a loop where it has most, given the loops above it."""
    end = loop.cuts.ends[0]
    dimension = loop.cuts.dims[end]
    own = [outer for outer in above if outer.cuts.dims[end] == dimension]
    counts = Counter(step.at[:-1] for step in steps([*own, loop], segment))
    return max(counts.values())


@dataclass(frozen=True)
class Step:
    """One step of some of the shared loops: the index in each, and what it leaves by layer."""

    at: tuple[int, ...]
    spans: Mapping[str, Span]


def steps(loops: Sequence[SharedLoop], segment: Segment) -> Sequence[Step]:
    """Return the steps of the loops that cut together, in order.

    Parameters
    ----------
    loops : sequence of SharedLoop
        Loops above some layer, at least one, outermost first, that cut the same dimension of it.
    segment : Segment
        The layers.
    """
    end = loops[-1].cuts.ends[0]
    bound = segment.layer_of[end].bounds[loops[-1].cuts.dims[end]]
    check_count(loops[-1], -(-bound // min(loop.tile for loop in loops)))
    return all_steps(*chain_of(loops, segment))


def spans(
    loops: Sequence[SharedLoop], segment: Segment, layer: str
) -> Sequence[tuple[tuple[int, ...], Span]]:
    """Return the steps, as `steps`, in which a layer has something to do, with its iterations."""
    steps(loops, segment)
    return _all_spans(*chain_of(loops, segment), layer)


Chain = tuple[tuple[LoopClass, int, frozenset[str]], ...]
Bounds = tuple[tuple[str, int], ...]


def chain_of(loops: Sequence[SharedLoop], segment: Segment) -> tuple[Chain, Bounds]:
    """Return what the steps of loops depend on."""
    dims = loops[0].cuts.dims
    whole = tuple((layer, segment.layer_of[layer].bounds[d]) for layer, d in dims.items())
    return tuple((loop.cuts, loop.tile, loop.anew) for loop in loops), whole


def check_count(loop: SharedLoop, chunks: int) -> None:
    """Refuse loops with too many steps: each of them is looked at."""
    if chunks > MOST_STEPS:
        end = loop.cuts.ends[0]
        raise MappingError(
            f"the shared loops on {end}.{loop.cuts.dims[end]} make about {chunks} steps; at most "
            f"{MOST_STEPS} are counted",
            key=loop.node or "mapping",
        )


@lru_cache(maxsize=128)  # a loop over a thousand rows takes a megabyte
def all_steps(chain: Chain, whole: Bounds) -> Sequence[Step]:
    """Return the steps of loops that cut together; those of one dimension occur in many trees."""
    loops = [SharedLoop(i, tile, cuts, anew, "") for i, (cuts, tile, anew) in enumerate(chain)]
    state = {layer: (0, bound) for layer, bound in whole}
    return [Step(at, spans) for at, spans in _steps(loops, state, ())]


@lru_cache(maxsize=512)
def _all_spans(chain: Chain, whole: Bounds, layer: str) -> Sequence[tuple[tuple[int, ...], Span]]:
    """Return what the steps leave of one layer."""
    found = ((step.at, step.spans[layer]) for step in all_steps(chain, whole))
    return [(at, span) for at, span in found if span[0] < span[1]]


def _steps(
    loops: Sequence[SharedLoop], state: State, at: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], State]]:
    if not loops:
        yield at, state
        return
    for i, spans in enumerate(cut(loops[0], state)):
        yield from _steps(loops[1:], spans, (*at, i))
