"""Layers that have been solved: results are kept, and confirmed when they are found."""

from __future__ import annotations

from collections.abc import Mapping as Options
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import isfinite
from time import perf_counter

from pydantic import ValidationError

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.document import Strict
from tilewright.errors import TilewrightError
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.solution_key import solution_key
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.mapper.search.confirmed import confirmed
from tilewright.mapper.search.found import Found
from tilewright.mapping.nodes import Mapping
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Searched:
    """What the search of one layer ended with.

    Attributes
    ----------
    found : Found
        The best mapping and what is known about better ones.
    mappings_in_space : float
        Number of different mappings that there are.
    seconds : float
        Time that it took, now.
    search_seconds : float or None
        Time that the search took, when it was carried out earlier.
    counts : Counts or None
        What the mapping moves, when it was counted earlier.
    """

    found: Found
    mappings_in_space: float
    seconds: float
    search_seconds: float | None = None
    counts: Counts | None = None


class SolvedLayer(Strict):
    """The result of a search that has covered all it covers, as it is kept.

    The counts are those of the model, whose code is part of the key: to confirm the result takes
    no compiled kernel. `digest` is of everything else, so that no counts pass for those of another
    mapping.
    """

    mapping: Mapping
    value: float
    bound: float
    finished: bool
    least_memory: bool
    irregular_bound: float | None
    mappings_in_space: float
    seconds: float
    counts: Counts
    digest: str = ""

    def own_digest(self, key: str) -> str:
        """Return a digest of all but the digest, for a key."""
        text = self.model_dump_json(exclude={"digest"})
        return blake2b(text.encode(), digest_size=32, key=key.encode()[:64]).hexdigest()


class SolvedLayers:
    """Results for one machine and objective, from earlier searches and for later ones.

    Parameters
    ----------
    cache : Cache or None
        Where they are kept; without it nothing is found and nothing is kept.
    architecture, objective
        What the layers are searched for.
    options : mapping of str to object
        Every option that changes the searched space, see `solution_key`.
    tiles : str
        Tile sizes that are searched. Results of all need not be proven to be kept.

    Attributes
    ----------
    failure : str or None
        Why some result could not be kept.
    """

    def __init__(
        self,
        cache: Cache | None,
        architecture: Architecture,
        objective: str,
        options: Options[str, object],
        tiles: str = DIVISORS,
    ) -> None:
        self.cache = cache
        self.architecture = architecture
        self.objective = objective
        self.options = options
        self.tiles = tiles
        self.failure: str | None = None

    def key(self, layer: Layer) -> str:
        """Return what the result of a layer is kept under."""
        return solution_key(layer, self.architecture, self.objective, self.options)

    def find(self, layer: Layer) -> Searched | None:
        """Return the result of an earlier search, if there is one that the model confirms."""
        if self.cache is None:
            return None
        start = perf_counter()
        key = self.key(layer)
        value = self.cache.get(key)
        if value is None:
            return None
        try:
            kept = SolvedLayer.model_validate_json(value)
            if kept.digest != kept.own_digest(key):
                self.cache.drop(key)
                return None
            found = Found(
                kept.mapping, kept.value, kept.bound, kept.finished,
                least_memory=kept.least_memory, tiles=self.tiles,
                irregular_bound=kept.irregular_bound,
            )  # fmt: skip
            result = Searched(found, kept.mappings_in_space, 0.0, kept.seconds, kept.counts)
            self.confirm(layer, result)
        except (ValidationError, TilewrightError):
            self.cache.drop(key)
            return None
        return replace(result, seconds=perf_counter() - start)

    def keep(self, layer: Layer, searched: Searched) -> None:
        """Keep the result of a search that has covered the whole space, if this is that space.

        Raises
        ------
        DisagreementError
            When the model gives the mapping another value.
        """
        found = searched.found
        proven = found.tiles == self.tiles and (found.finished or self.tiles != DIVISORS)
        if self.cache is None or not proven or not isfinite(searched.mappings_in_space):
            return
        result = self.confirm(layer, searched)
        kept = SolvedLayer(
            mapping=result.mapping,
            value=found.value,
            bound=found.bound,
            finished=found.finished,
            least_memory=found.least_memory,
            irregular_bound=found.irregular_bound,
            mappings_in_space=searched.mappings_in_space,
            seconds=searched.seconds,
            counts=result.evaluation.counts,
        )
        key = self.key(layer)
        kept.digest = kept.own_digest(key)
        try:
            self.cache.put(key, kept.model_dump_json().encode())
        except OSError as failure:
            self.failure = f"'{self.cache.directory}' cannot be written: {failure.strerror}"

    def asked(self, layer: Layer, searched: Searched) -> Searched:
        """Return what a search says of the tile sizes that were asked for, which may be more."""
        if self.tiles in (DIVISORS, searched.found.tiles):
            return searched
        from tilewright.mapper.search.all_sizes.all_tile_sizes import untried

        found = untried(searched.found, layer, self.architecture, self.objective)
        return replace(searched, found=found)

    def confirm(self, layer: Layer, searched: Searched) -> LayerResult:
        """Return a result as the model values it, with a proof about the asked tile sizes.

        Raises
        ------
        DisagreementError
            When the model gives the mapping another value.
        MappingError
            When the mapping is none of this layer and machine.
        """
        found = self.asked(layer, searched).found
        return confirmed(
            layer, self.architecture, self.objective, found,
            mappings_in_space=searched.mappings_in_space, seconds=searched.seconds,
            search_seconds=searched.search_seconds, counts=searched.counts,
        )  # fmt: skip
