"""What every bypass choice costs at least: sums over the tensors of what their memories ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.mapper.bounds import first_costs
from tilewright.mapper.chain import Chain
from tilewright.mapper.labels import ENERGY
from tilewright.mapper.lattice import Floats, Ints
from tilewright.mapper.links import Keep, Stored, links
from tilewright.mapper.problem import Space
from tilewright.workload.layer import Layer


class First(NamedTuple):
    """A bypass choice, and the energy (pJ) and cycles that its mappings have at least."""

    keep: Keep
    energy: float
    cycles: float


def first_bounds(
    layer: Layer,
    architecture: Architecture,
    keeps: Sequence[Keep],
    sp: Space,
    root: tuple[Ints, Floats],
    known: dict[Stored, Chain],
    spread: float,
) -> list[First]:
    """Return what bypass choices cost at least.

    A cheap stand-in for the tables of what crosses the first array: all elements that share a word
    get it, and an operand that is not stored below the array is read for every operation.

    Parameters
    ----------
    root : (array, array)
        The label of the whole nest, see `rows.roots`.
    known : dict
        What is known of single tensors; it grows.
    spread : float
        Most elements that may be at work.
    """
    if not keeps:
        return []
    tensors = np.arange(len(layer.tensors))
    chains = [sorted(set(each)) for each in zip(*keeps, strict=True)]
    where = np.array([[chains[t].index(chain) for t, chain in enumerate(keep)] for keep in keeps])
    own = slice(0, sp.unroll_start[min(1, len(sp.unroll_start) - 1)])
    everywhere = sp.words[:, -1] * sp.unroll_reuse[own]
    costs, ways = [], []
    for k in range(max(map(len, chains))):
        some = tuple(each[min(k, len(each) - 1)] for each in chains)
        lk = links(layer, architecture, some, sp, known)
        cost = np.empty((len(lk.load) + 1, len(tensors)))
        first_costs(sp, lk, *root, cost)
        costs.append(cost)
        straight = lk.arrays[tensors, lk.length - 1, 0] == 0
        ways.append(lk.rate[own] * np.where(straight, float(layer.operations), everywhere))
    total = np.array(costs)[where, :, tensors].sum(axis=1)
    cycles = total[:, 1:].max(axis=1, initial=lk.cycles * sp.operations / spread)
    energy = float(root[1][0, ENERGY]) + total[:, 0] + lk.leakage * cycles
    if own.stop:
        energy += np.array(ways)[where, :, tensors].sum(axis=1).min(axis=1)
    found = zip(keeps, energy.tolist(), cycles.tolist(), strict=True)
    return [First(*each) for each in found]
