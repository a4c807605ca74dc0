"""What mappings cost at least in each combination of spatial choices of all arrays.

A word that all elements of one array share is a word that those of another one cannot share too,
for the factors of all arrays together divide the bounds. Bounds that let every tensor have the most
sharing at every array are far too low where there are several. So choices are put into classes by
the product of their factors on dimensions relevant to the same tensors, and every combination of
classes is priced, energy and cycles together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.problem.bypass_choices import Keep
from tilewright.mapper.problem.link_costs import Stored, chains_of, ports
from tilewright.mapper.problem.space import Space
from tilewright.mapper.problem.tensor_costs import Chain
from tilewright.model.energy import leakage_per_cycle
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.mapper.bounds.plan import Plan

MOST = 1 << 17  # combinations that are told apart
MOST_TRIED = 64  # times as many are tried


class Combinations(NamedTuple):
    """Combinations of classes of spatial choices, one class for each array.

    Attributes
    ----------
    reuse : array of (combinations, arrays, tensors)
        Product of the factors on dimensions irrelevant to the tensor.
    sharing : array of (combinations, arrays, tensors)
        Most elements that share one word of it in a step, see `space.Space`.
    product : array of (combinations, arrays)
        Elements at work.
    kind : array of (combinations, arrays)
        Which class of the array it is.
    factors : array of (combinations, arrays, groups)
        Products of the factors on the dimensions of each group.
    kind_of : array of choices
        The class of each spatial choice.
    group : array of dimensions
        The group of each.
    apart : bool
        Whether every dimension of a sliding window is a group of its own.
    """

    reuse: Floats
    sharing: Floats
    product: Floats
    kind: Ints
    factors: Ints
    kind_of: Ints
    group: Ints
    apart: bool

    def some(self, which: Bools) -> Combinations:
        """Return some of them."""
        return self._replace(
            reuse=self.reuse[which],
            sharing=self.sharing[which],
            product=self.product[which],
            kind=self.kind[which],
            factors=self.factors[which],
        )


class TensorCosts(NamedTuple):
    """What one tensor costs at least that is stored in some memories.

    Attributes
    ----------
    energy : array of combinations
        pJ of all its links.
    cycles : array of (ports, combinations)
    more : array of (arrays, combinations)
        pJ of the link that crosses an array, and of those further in, beyond what `Links.rate`,
        `Links.rest_base` and `Links.rest_slope` say of them.
    """

    energy: Floats
    cycles: Floats
    more: Floats


def combinations(sp: Space, most: int = MOST) -> Combinations | None:
    """Return the combinations of spatial choices that can be, or None where they are too many.

    Where windows slide over several arrays, their dimensions are told apart if that is possible.
    """
    found = combined(sp, True, most) if tells_apart(sp) else None
    return found or combined(sp, False, most)


def tells_apart(sp: Space) -> bool:
    """Whether windows slide over several arrays, so that it matters which dimensions they share."""
    return len(sp.unroll_start) > 2 and bool((sp.windows >= 0).any())


def combined(
    sp: Space, apart: bool, most: int, within: Combinations | None = None
) -> Combinations | None:
    """Return the combinations whose classes tell dimensions of windows apart, or do not.

    With some combinations of wider classes, only what they are made of.
    """
    nt, nd = sp.relevant.shape
    bounds = sp.values[np.arange(nd), sp.sizes - 1]
    slides = (sp.window_of >= 0).any(axis=0)
    own_group = np.where(slides, np.arange(nd), -1) if apart else np.full(nd, -1)
    keys, group = np.unique(
        np.column_stack((sp.relevant.T, own_group)), axis=0, return_inverse=True
    )
    patterns = keys[:, :nt].astype(np.bool_)
    own = [group.ravel() == g for g in range(len(patterns))]
    # factors of all arrays together divide the bounds, and so do those of every group
    whole = np.array([bounds[each].prod() for each in own])
    extents = np.ones(sp.unroll.shape, np.int64)
    for d in range(nd):
        extents[:, d] = sp.values[d, sp.unroll[:, d]]
    products = np.stack([extents[:, each].prod(axis=1) for each in own], axis=1)
    reuse, sharing = np.ones((2, 1, 0, nt))
    product, kind = np.ones((1, 0)), np.zeros((1, 0), np.int64)
    factors = np.ones((1, 0, len(own)), np.int64)
    kind_of = np.zeros(len(sp.unroll), np.int64)
    used = np.ones((1, len(own)), np.int64)
    wider = np.zeros(1, np.int64)  # which of the wider combinations each begins with
    for k, (begin, end) in enumerate(pairwise(sp.unroll_start)):
        classes, at = np.unique(products[begin:end], axis=0, return_inverse=True)
        if len(used) * len(classes) > most * MOST_TRIED:
            return None
        kind_of[begin:end] = at = at.ravel()
        most_shared = np.ones((len(classes), nt))
        np.maximum.at(most_shared, at, sp.unroll_sharing[begin:end])
        reused = np.stack([classes[:, ~patterns[:, t]].prod(axis=1) for t in range(nt)], axis=1)
        before, new = np.divmod(np.arange(len(used) * len(classes)), len(classes))
        together = used[before] * classes[new]
        can = (whole % together == 0).all(axis=1)
        if within is not None:
            into = np.zeros(len(classes), np.int64)
            into[at] = within.kind_of[begin:end]
            wider = longer(within.kind[:, : k + 1], wider, into.max() + 1)[before, into[new]]
            can &= wider >= 0
        fits = np.flatnonzero(can)
        if len(fits) > most:
            return None
        before, new, used = before[fits], new[fits], together[fits]
        wider = wider[fits] if within is not None else wider
        reuse = np.concatenate((reuse[before], reused[new][:, None]), axis=1)
        sharing = np.concatenate((sharing[before], most_shared[new][:, None]), axis=1)
        factors = np.concatenate((factors[before], classes[new][:, None]), axis=1)
        product = np.column_stack((product[before], classes[new].prod(axis=1)))
        kind = np.column_stack((kind[before], new))
    return Combinations(
        reuse=reuse,
        sharing=sharing,
        product=product,
        kind=kind,
        factors=factors,
        kind_of=kind_of,
        group=group.ravel(),
        apart=apart,
    )


def longer(kind: Ints, begun: Ints, classes: int) -> Ints:
    """Return which combinations of one class more begin as others do.

    Parameters
    ----------
    kind : array of (combinations, arrays)
        Classes; without the last array the different ones are numbered in order, and so are those
        with it.
    begun : array
        Numbers of the former.
    classes : int
        How many there are of the last array.

    Returns
    -------
    array of (begun, classes)
        Numbers of the latter, or -1.
    """
    _, before = np.unique(kind[:, :-1], axis=0, return_inverse=True)
    _, after = np.unique(kind, axis=0, return_inverse=True)
    found = np.full((before.max() + 1, classes), -1, np.int64)
    found[before.ravel(), kind[:, -1]] = after.ravel()
    return found[begun]


def shared_in_windows(cs: Combinations, sp: Space, t: int, arrays: list[int]) -> Floats:
    """Return how many elements of several arrays share a word of a sliding tensor at most.

    The places where s_1, ..., s_k factors of an expression stand are a sum of sets of so many
    numbers, of which at least 1 + sum (s_i - 1) differ. See `space.Space.unroll_sharing`.
    """
    factors = cs.factors[:, arrays].prod(axis=1)
    distinct = np.ones(len(factors))
    window = sp.window_of[sp.windows[t]]
    single = np.flatnonzero(sp.relevant[t] & (window < 0))
    for g in np.unique(cs.group[single]).tolist():
        distinct *= factors[:, g]
    for e in range(int(window.max()) + 1):
        own = cs.group[window == e]
        distinct *= 1 + (factors[:, own] - 1).sum(axis=1)
    together: Floats = factors.prod(axis=1) / distinct
    return together


def words_at_cuts(chain: Chain, link: int, t: int, sp: Space, cs: Combinations) -> list[Floats]:
    """Return T_j of a link at least, for every combination.

    Each word of the tensor is received once by every group of instances that do not share it, and
    by all that a factor irrelevant to it makes copies of.
    """
    lo, hi = chain.arrays[link].tolist()
    words = float(sp.words[t, -1]) * cs.reuse[:, :lo, t].prod(axis=1)
    if link < chain.length - 1:
        cuts = [words * cs.reuse[:, lo:hi, t].prod(axis=1)]
        shares = [cs.reuse[:, k, t] for k in range(lo, hi)]
    else:
        cuts = [np.full(len(words), sp.operations)]
        # windows may overlap across arrays: only the innermost one's sharing is bounded
        bounded = [sp.windows[t] < 0 or k == hi - 1 for k in range(lo, hi)]
        shares = [
            cs.sharing[:, lo + j, t] if known else cs.product[:, lo + j]
            for j, known in enumerate(bounded)
        ]
    united: list[int] = []
    for k, share in zip(range(hi - 1, lo - 1, -1), reversed(shares), strict=True):
        moved = cuts[-1]
        if chain.unites[k]:
            united.append(k)
            moved = np.maximum(moved / share, words)
            if link == chain.length - 1 and sp.windows[t] >= 0 and cs.apart and len(united) > 1:
                moved = np.maximum(moved, sp.operations / shared_in_windows(cs, sp, t, united))
        cuts.append(moved)
    return cuts[::-1]


def weighted(rates: Floats, moved: list[Floats]) -> Floats:
    """Return the sum over the cuts of a link of a rate times its words."""
    total: Floats = rates[0] * moved[0]
    for rate, each in zip(rates[1:], moved[1:], strict=True):
        total += rate * each
    return total


def tensor_costs(
    chain: Chain, t: int, sp: Space, cs: Combinations, above: list[int]
) -> TensorCosts:
    """Return what a tensor costs at least in a chain of memories, for every combination.

    Parameters
    ----------
    above : list of int
        How many arrays stand above each bandwidth-limited port.
    """
    output, last = t == len(sp.relevant) - 1, chain.length - 1
    words = float(sp.words[t, -1])
    na = cs.product.shape[1]
    energy, cuts = [], []
    cycles = np.zeros((len(above), len(cs.product)))
    again = 0.0  # what entries from zero may save at the compute unit is paid there
    for link in range(last + 1):
        lo, hi = chain.arrays[link].tolist()
        moved = words_at_cuts(chain, link, t, sp, cs)
        rates = chain.energy[link, : hi - lo + 1].copy()
        if output and link == last - 1 and chain.arrays[last, 0] > 0:
            rates[-1] -= chain.again[last]
        cost = weighted(rates, moved)
        if output and lo == 0:
            # no array has made partial sums: only first entries are from zero
            cost += chain.again[link] * (moved[0] - words)
        elif output and link == last:
            again = chain.again[last] * moved[0]
        energy.append(cost)
        cuts.append(moved)
        for r, arrays in enumerate(above):
            rates = chain.load[r, link, : hi - lo + 1]
            if rates.any():
                load = weighted(rates, moved)
                spread = cs.product[:, :arrays].prod(axis=1)
                zero = words * (spread if sp.windows[t] >= 0 else cs.reuse[:, :arrays, t].prod(1))
                zero = moved[0] if chain.fresh[:link].any() else np.minimum(zero, moved[0])
                cycles[r] += np.maximum(0.0, load - chain.held[r, link] * zero) / spread
    more = np.zeros((na, len(cs.product)))
    for k in range(na):
        link = next(i for i in range(last + 1) if i == last or chain.arrays[i, 1] > k)
        passing = cuts[link][-1] if link == last else cuts[link][k + 1 - chain.arrays[link, 0]]
        begin, end = sp.unroll_start[k : k + 2]
        rates = np.full(cs.kind_of[begin:end].max() + 1, np.inf)
        np.minimum.at(rates, cs.kind_of[begin:end], chain.rate[begin:end])
        received = words * cs.reuse[:, :k, t].prod(axis=1)
        known = rates[cs.kind[:, k]] * passing + chain.rest_base[k] + chain.rest_slope[k] * received
        ahead = np.sum(energy[link:], axis=0)
        # below, the label knows how many entries are from zero
        ahead = ahead + (again if link < last else 0.0)
        more[k] = np.maximum(0.0, ahead - known)
    return TensorCosts(np.sum(energy, axis=0) + again, cycles, more)


def values(goal: Floats, energy: Floats, cycles: Floats) -> Floats:
    """Return the objective of every combination; infinite beyond a limit."""
    found = np.ones(len(energy))
    for each, power in ((energy, goal[0]), (cycles, goal[1])):
        if power != 0.0:
            # a power takes ten times as long
            found *= each if power == 1.0 else each**power
    found[(energy > goal[4] * (1 + TIE)) | (cycles > goal[5] * (1 + TIE))] = np.inf
    return found


@dataclass
class SpatialBounds:
    """Bounds of the bypass choices of a layer on a machine from combinations of spatial choices.

    Attributes
    ----------
    layer, architecture, space
    energy : float
        pJ of the operations.
    chains : dict
        What is known of single tensors; it grows.
    all : Combinations
    costs : dict
        What tensors cost in each of them; it grows.
    beyond : float
        What mappings in all other combinations cost at least.
    reduced : bool
        Whether those are left out that are worse than some mapping.
    """

    layer: Layer
    architecture: Architecture
    space: Space
    energy: float
    chains: dict[Stored, Chain]
    all: Combinations
    costs: dict[Stored, TensorCosts] = field(default_factory=dict)
    beyond: float = np.inf
    reduced: bool = False

    def of(self, stored: Stored) -> TensorCosts:
        """Return what one tensor costs in some memories."""
        if stored not in self.costs:
            self.costs[stored] = self.priced(stored)
        return self.costs[stored]

    def priced(self, stored: Stored) -> TensorCosts:
        """Return the same without keeping it."""
        above = [port[4] for port in ports(self.architecture)]
        (chain,) = chains_of(self.layer, self.architecture, [stored], self.space, self.chains)
        return tensor_costs(chain, stored[0], self.space, self.all, above)

    def least(self, keep: Keep) -> tuple[Floats, Floats]:
        """Return the energy (pJ) and cycles of a bypass choice at least, in every combination."""
        costs = [self.of(stored) for stored in enumerate(keep)]
        return self.added([each.energy for each in costs], [each.cycles for each in costs])

    def added(self, energies: list[Floats], loads: list[Floats]) -> tuple[Floats, Floats]:
        """Return the energy (pJ) and cycles at least of tensors with these energies and loads."""
        compute = float(self.architecture.compute.cycles) * self.space.operations
        cycles = compute / self.all.product.prod(axis=1)
        for port in sum(loads[1:], loads[0]):
            cycles = np.maximum(cycles, port)
        energy = self.energy + leakage_per_cycle(self.architecture) * cycles
        return sum(energies, energy), cycles

    def reduce(self, keeps: Sequence[Keep], goal: Floats, value: float) -> None:
        """Leave out the combinations that are worse than a value in every bypass choice.

        Of what is left dimensions of windows are told apart, where that was too much before.
        """
        self.leave_out(keeps, goal, value)
        if tells_apart(self.space) and not self.all.apart:
            finer = combined(self.space, True, MOST, self.all)
            if finer is not None:
                self.all = finer
                self.leave_out(keeps, goal, value)
        self.reduced = True

    def leave_out(self, keeps: Sequence[Keep], goal: Floats, value: float) -> None:
        """Leave out the combinations that are worse than a value in every bypass choice."""
        energies, loads = [], []
        for t, stored in enumerate(zip(*keeps, strict=True)):
            first, *others = [(t, chain) for chain in sorted(set(stored))]
            least = self.priced(first)
            energy, cycles = least.energy, least.cycles
            for each in others:
                other = self.priced(each)
                energy = np.minimum(energy, other.energy)
                cycles = np.minimum(cycles, other.cycles)
            energies.append(energy)
            loads.append(cycles)
        found = values(goal, *self.added(energies, loads))
        # the best one stays, so that there is one
        some = found <= max(value, float(found.min())) * (1 + TIE)
        self.all = self.all.some(some)
        self.costs = {}
        self.beyond = min(self.beyond, float(found[~some].min(initial=np.inf)))

    def values_of(self, plan: Plan, goal: Floats) -> Floats:
        """Return the objective in every combination; infinite in those that a plan is not about."""
        found = values(goal, *self.least(plan.keep))
        if plan.part is not None:
            outside = np.ones(len(found), np.bool_)
            outside[plan.part] = False
            found[outside] = np.inf
        return found

    def weigh(self, plan: Plan, goal: Floats) -> None:
        """Raise the bounds of a bypass choice to those of its best combinations."""
        own = slice(None) if plan.part is None else plan.part
        energy, cycles = (each[own] for each in self.least(plan.keep))
        plan.energy = max(plan.energy, float(energy.min()))
        plan.cycles = max(plan.cycles, float(cycles.min()))
        least = float(values(goal, energy, cycles).min())
        plan.bound = max(plan.bound, (min(least, self.beyond), 0.0))
        plan.combined = True

    def restrict(self, plan: Plan, goal: Floats, limit: float) -> None:
        """Tell the links of a bypass choice what combinations up to a value cost besides.

        Spatial choices that are in none of them do not matter.
        """
        found = self.values_of(plan, goal)
        some = found <= max(limit, float(found.min())) * (1 + TIE)
        costs = [self.of(stored) for stored in enumerate(plan.keep)]
        more = np.sum([each.more[:, some] for each in costs], axis=0)
        cycles = self.least(plan.keep)[1][some]
        besides, cycles_of = np.empty((2, len(self.space.unroll)))
        for k, (begin, end) in enumerate(pairwise(self.space.unroll_start)):
            own = self.all.kind_of[begin:end]
            for found_of, each in ((besides, more[k]), (cycles_of, cycles)):
                least = np.full(own.max() + 1, np.inf)
                np.minimum.at(least, self.all.kind[some, k], each)
                found_of[begin:end] = least[own]
        matters = np.isfinite(besides)
        plan.lk = plan.lk._replace(
            besides=besides, cycles_of=np.where(matters, cycles_of, 0.0),
            fewest_cycles=float(cycles.min()), matters=plan.lk.matters & matters,
        )  # fmt: skip
        plan.combined_below = limit

    def parts(self, plan: Plan, goal: Floats, limit: float) -> list[Ints]:
        """Return the combinations up to a value by the class of one array, that of most classes.

        With fewer spatial choices each part has higher bounds.
        """
        some = np.flatnonzero(self.values_of(plan, goal) <= limit * (1 + TIE))
        kinds = [np.unique(each) for each in self.all.kind[some].T]
        k = max(range(len(kinds)), key=lambda k: (len(kinds[k]), k))
        return [some[self.all.kind[some, k] == each] for each in kinds[k]]
