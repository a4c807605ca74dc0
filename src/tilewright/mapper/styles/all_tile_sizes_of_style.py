"""All tile sizes in one style: good styles of sizes that divide, improved, and a bound of all.

What is proven of sizes that divide says nothing of others. The closed form does: every style, and
so all of them, has a lower bound that holds for all tile sizes. The styles that are best with sizes
that divide, and those of the least bounds, are improved layer by layer; where a better mapping
keeps another tensor longer in the innermost memory, it is none of the style, and the layer stays as
it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as Dict
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from math import inf
from threading import Event
from time import perf_counter

from tilewright.mapper.network.running.time_shares import collect
from tilewright.mapper.network.running.workers import Helpers
from tilewright.mapper.network.solved_layers import Searched, SolvedLayers
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.results.dataflow import dataflow
from tilewright.mapper.results.searched_space import ALL
from tilewright.mapper.search.all_sizes.all_tile_sizes import with_all_sizes
from tilewright.mapper.search.found import Found
from tilewright.mapper.styles.best_style import BestStyle
from tilewright.mapper.styles.ranking import Ranking
from tilewright.mapper.styles.styled_layer import StyledLayer
from tilewright.mapper.styles.totals import StyleCandidate

Unrolled = tuple[tuple[str, str, str], ...]
"""What a style unrolls, see `Style.axes`."""

IMPROVED = 4  # styles of the least bounds, and as many of those that are best before


def with_sizes(search: BestStyle, hurried: bool) -> tuple[Ranking, bool]:
    """Return what is known of the styles with all tile sizes, and whether Ctrl-C came.

    Parameters
    ----------
    search : BestStyle
        The search for the best style of sizes that divide, which has ended.
    hurried : bool
        Whether Ctrl-C came before.
    """
    kinds, ranking = search.kinds, search.ranking()
    bounded = [kind.bounded(ALL) for kind in kinds]
    wide: dict[Unrolled, StyleCandidate] = {}
    for i, style in enumerate(search.styles):
        parts = [own[kind.place(style)[0]] for kind, own in zip(kinds, bounded, strict=True)]
        wide[style.axes] = StyleCandidate(style, tuple(parts), whole=False, order=i)
    begun = {candidate.style: candidate for candidate in ranking.ranked[:IMPROVED]}
    more, interrupted = ([], True) if hurried else promising(search, wide)
    begun |= {candidate.style: candidate for candidate in more}
    ended, again = all_improved(list(begun.values()), wide, search, interrupted)
    waiting = []
    for candidate in wide.values():
        heirs = search.heirs(candidate)
        left = [heir for heir in heirs if heir.style not in begun]
        if len(left) == len(heirs):
            waiting.append(candidate)
        else:
            waiting += [replace(heir, parts=candidate.parts, whole=False) for heir in left]
    return replace(ranking, ended=ended, waiting=waiting), interrupted or again


def promising(
    search: BestStyle, wide: Dict[Unrolled, StyleCandidate]
) -> tuple[list[StyleCandidate], bool]:
    """Return the best styles of sizes that divide that unroll what has the least bounds.

    Those that mirror each other are the same. The second result is whether Ctrl-C came.
    """
    found: list[StyleCandidate] = []
    seen: set[tuple[StyledLayer, ...]] = set()
    order = sorted(wide.values(), key=lambda one: (search.totals.least(one), one.order))
    for candidate in order:
        if search.stop() or len(seen) == IMPROVED:
            break
        if candidate.parts in seen:
            continue
        seen.add(candidate.parts)
        alone = search.alone(candidate.order)
        interrupted = alone.search()
        if alone.ended:
            found.append(alone.ranking().ranked[0])
        if interrupted:
            return found, True
    return found, False


def all_improved(
    begun: Sequence[StyleCandidate],
    wide: Dict[Unrolled, StyleCandidate],
    search: BestStyle,
    hurried: bool,
) -> tuple[list[StyleCandidate], bool]:
    """Return styles with the mappings of their layers improved, and whether Ctrl-C came."""
    tasks = {
        part: bound
        for candidate in begun
        for part, bound in zip(candidate.parts, wide[candidate.style.axes].parts, strict=True)
    }
    done: dict[StyledLayer, StyledLayer] = {}
    halted, interrupted = Event(), False
    if hurried:
        halted.set()

    def improve(part: StyledLayer, bound: StyledLayer) -> None:
        done[part] = helpers.compute(
            improved, part, bound, stop=lambda: halted.is_set() or search.stop()
        )

    pool = ThreadPoolExecutor(search.workers, thread_name_prefix="tilewright")
    helpers = Helpers(search.workers - 1)
    try:
        collect([pool.submit(improve, *task) for task in tasks.items()], halted)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        # those that have not begun end at once with what there is
        halted.set()
        try:
            pool.shutdown()
        finally:
            helpers.close()
    return [
        replace(candidate, parts=tuple(done[part] for part in candidate.parts))
        for candidate in begun
    ], interrupted


def improved(part: StyledLayer, bound: StyledLayer, stop: Callable[[], bool]) -> StyledLayer:
    """Return a layer whose mapping in a style is known with the best one found of all sizes.

    Parameters
    ----------
    part : StyledLayer
        What is known with sizes that divide.
    bound : StyledLayer
        What no mapping of any sizes undercuts that unrolls the same.
    stop : callable
        Whether to end with the best so far.
    """
    start = perf_counter()
    assert part.searched is not None
    even = part.searched.found
    assert even.mapping is not None
    machine = narrowed(part.machine, part.layer)
    found = with_all_sizes(part.layer, machine, part.objective, even, stop)
    assert found.mapping is not None
    if not part.style.has(dataflow(found.mapping, part.layer, part.machine), part.layer):
        found = Found(even.mapping, even.value, labels=even.labels, tiles=ALL, irregular_bound=0.0)
    least = max(found.bound, bound.bound)
    finished = found.finished or least >= found.value
    found = replace(found, bound=min(least, found.value), finished=finished)
    seconds = part.searched.seconds + perf_counter() - start
    result = copy(part)
    result.pair, result.least, result.floor = bound.pair, bound.least, bound.floor
    result.searched = Searched(found, inf, seconds)
    solved = SolvedLayers(None, part.machine, part.objective, options={})
    result.result = solved.confirm(part.layer, result.searched)
    return result
