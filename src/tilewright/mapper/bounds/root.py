"""What every bypass choice costs at least: sums over the tensors of what their memories ask for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import Stored, chains_of, ports
from tilewright.mapper.problem.space import Space
from tilewright.mapper.problem.tensor_costs import Chain
from tilewright.model.energy import leakage_per_cycle
from tilewright.workload.layer import Layer


class First(NamedTuple):
    """A bypass choice, and the energy (pJ) and cycles that its mappings have at least."""

    keep: KeepChoice
    energy: float
    cycles: float


def first_bounds(
    layer: Layer,
    architecture: Architecture,
    keeps: Sequence[KeepChoice],
    sp: Space,
    energy: float,
    known: dict[Stored, Chain],
    spread: float,
) -> list[First]:
    """Return what bypass choices cost at least.

    A cheap stand-in for the tables of what crosses the first array: all elements that share a word
    get it, and an operand that is not stored below the array is read for every operation.

    Parameters
    ----------
    energy : float
        That of the operations.
    known : dict
        What is known of single tensors; it grows.
    spread : float
        Most elements that may be at work.
    """
    if not keeps:
        return []
    above = [port[4] for port in ports(architecture)]
    own = slice(0, sp.unroll_start[min(1, len(sp.unroll_start) - 1)])
    alone, across = [], []
    for t, stored in enumerate(zip(*keeps, strict=True)):
        position = {chain: k for k, chain in enumerate(sorted(set(stored)))}
        which = [position[chain] for chain in stored]
        chains = chains_of(layer, architecture, [(t, chain) for chain in position], sp, known)
        alone.append(np.array([least_alone(one, t, sp, above) for one in chains])[which])
        everywhere = sp.words[t, -1] * sp.unroll_reuse[own, t]
        straight = [one.arrays[one.length - 1, 0] == 0 for one in chains]
        words = [np.where(each, sp.operations, everywhere) for each in straight]
        rates = [one.rate[own] for one in chains]
        across.append((np.array(rates) * np.array(words))[which])
    total = np.sum(alone, axis=0)
    least = float(architecture.compute.cycles) * sp.operations / spread
    cycles = total[:, 1:].max(axis=1, initial=least)
    costs = energy + total[:, 0] + leakage_per_cycle(architecture) * cycles
    if own.stop:
        costs += np.sum(across, axis=0).min(axis=1)
    return [First(*each) for each in zip(keeps, costs.tolist(), cycles.tolist(), strict=True)]


def least_alone(chain: Chain, t: int, sp: Space, above: Sequence[int]) -> list[float]:
    """Return what one tensor costs at least, but for what crosses the first array.

    That is what `completion.least_energy` and `completion.least_load` say of the whole nest.

    Parameters
    ----------
    t : int
        Position of the tensor.
    above : list of int
        How many arrays stand above each bandwidth-limited port.

    Returns
    -------
    list of float
        Energy in pJ, then the cycles at each of the ports.
    """
    output = t == len(sp.relevant) - 1
    last = chain.length - 1
    words = float(sp.words[t, -1])
    rates, again, arrays = chain.energy.tolist(), chain.again.tolist(), chain.arrays.tolist()
    inside = next(link for link in range(last + 1) if link == last or arrays[link][1] > 0)
    energy = sum(rates[link][0] for link in range(inside)) * words
    if output and inside == last > 0:
        energy -= again[last] * words  # entries from zero save reads at the compute unit
    if len(chain.rest_base):
        energy += chain.rest_base[0] + chain.rest_slope[0] * words
    else:
        energy += rates[last][0] * sp.operations
        if output:
            energy += again[last] * (sp.operations - words)
    found = [float(energy)]
    most = [float(sp.unroll_product[start]) for start in sp.unroll_start[:-1]]
    for load, held, arrays_above in zip(
        chain.load.sum(axis=2).tolist(), chain.held.tolist(), above, strict=True
    ):
        total, spread = 0.0, prod(most[:arrays_above])
        for link in range(last + 1):
            if load[link] == 0.0:
                continue
            sent = words
            if link == last:
                sent = sp.operations
                for k in range(*arrays[link]):
                    if chain.unites[k]:
                        innermost = k == arrays[link][1] - 1
                        known = sp.windows[t] < 0 or innermost
                        sent /= sp.most_sharing[k, t] if known else most[k]
                sent = max(sent, words)
            zero = sent if chain.fresh[:link].any() else min(words * spread, sent)
            total += max(0.0, load[link] * sent - held[link] * zero) / spread
        found.append(float(total))
    return found
