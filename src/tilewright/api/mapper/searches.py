"""What `map` searches, and how: one object that says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tilewright.api.inputs import check_tiles, check_uniform
from tilewright.document import describe
from tilewright.errors import InputError

if TYPE_CHECKING:
    from tilewright.workload.axis_order import Layout

LayoutsLike: TypeAlias = "Mapping[str, str | Layout] | str | None"


@dataclass(frozen=True)
class Exact:
    """Search the best mapping of each layer, with a proof.

    Parameters
    ----------
    tiles : str, optional
        ``"divisors"``: the best mapping whose tile sizes all divide, with a proof. ``"all"``: then
        that mapping is improved with sizes that do not divide; the lower bound is that of all
        regular mappings, and the result is optimal where it is reached. On machines with optimal
        retention mappings are looked for that are good without it, and the lower bound is that of
        unbounded memories. By default ``"all"``, but sizes that divide for layouts, ``"dmc"`` and
        pipelined latency.
    layouts : mapping of str to str or Layout, or "best", optional
        How tensors lie in the outermost memory, as for `evaluate`: whole blocks are then part of
        the energy and the cycles that are minimised. The optimum in words is a lower bound; a
        mapping that does not reach it is not proven. By default what the workload says, on
        machines whose outermost memory has blocks; pipelined latency counts words.
    """

    tiles: str | None = None
    layouts: LayoutsLike = None


@dataclass(frozen=True)
class Uniform:
    """Search the style that is best for all layers together, see `UniformResult`.

    A style has one dimension on each axis of an array, and one tensor stationary in the innermost
    memory.

    Parameters
    ----------
    within : float, optional
        How far above the best style others are mapped to the end as well, as a share of it, from 0
        (default) to 1.
    tiles : str, optional
        ``"divisors"`` (default); with ``"all"`` good styles are improved, and no style is below
        the lower bound.
    """

    within: float | None = None
    tiles: str | None = None


@dataclass(frozen=True)
class Fused:
    """Search which layers share loops, so that tiles of what they exchange stay on chip.

    The workload says how its layers are connected.

    Parameters
    ----------
    tiles : str, optional
        ``"divisors"`` (the default) or ``"all"``. With all of them, fused layers are bounded by
        what each costs at least in any tree.
    """

    tiles: str | None = None


@dataclass(frozen=True)
class Heuristic:
    """Search as another mapper does, without a proof.

    Parameters
    ----------
    strategy : str
        A strategy of `compare`, such as ``"decoupled"``, with its options.
    """

    strategy: str


SearchKind = Exact | Uniform | Fused | Heuristic
OPTIONS = ("tiles", "layouts", "uniform", "within", "strategy", "fuse")


def the_search(search: SearchKind | None, options: Mapping[str, Any]) -> SearchKind:
    """Return what is to be searched: as given, or as keywords say it.

    Raises
    ------
    InputError
        When it is no search, a keyword is unknown or of no use, or its value is none.
    """
    for name in options:
        if name not in OPTIONS:
            raise TypeError(f"map() got an unexpected keyword argument '{name}'")
    given = {name: value for name, value in options.items() if value not in (None, False)}
    if search is not None:
        if not isinstance(search, SearchKind):
            raise InputError(
                "expected Exact(...), Uniform(...), Fused(...) or Heuristic(...), found "
                f"{describe(search)}",
                key="search",
            )
        if given:
            raise InputError("says the same as 'search': leave one out", key=min(given))
        return checked(search)
    if given.pop("fuse", None):
        for name in given.keys() - {"tiles"}:
            raise InputError("has no effect with 'fuse': leave out one of the two", key=name)
        return checked(Fused(given.get("tiles")))
    tiles, strategy, uniform = (given.get(name) for name in ("tiles", "strategy", "uniform"))
    if tiles is not None:
        check_tiles(tiles)
        if strategy is not None:
            raise InputError("takes no strategy: those have tile sizes of their own", key="tiles")
    check_uniform(uniform, given.get("within"))
    layouts = given.get("layouts")
    if uniform is not None and (strategy is not None or layouts is not None):
        raise InputError("takes neither pipelined latency, a strategy nor layouts", key="uniform")
    if strategy is not None and layouts is not None:
        raise InputError(
            "are for the search under throughput latency: leave out the strategy, and the latency "
            "unless it is 'throughput'",
            key="layouts",
        )
    if strategy is not None:
        return Heuristic(strategy)
    return Exact(tiles, layouts) if uniform is None else Uniform(given.get("within"), tiles)


def checked(search: SearchKind) -> SearchKind:
    """Return a search whose values are known to be some."""
    if isinstance(search, Heuristic):
        return search
    if search.tiles is not None:
        check_tiles(search.tiles)
    if isinstance(search, Uniform):
        check_uniform("dataflow", search.within)
    return search
