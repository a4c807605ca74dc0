"""The labels that a walk begins with, and the mapping that the last label of a walk stands for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.label import labels
from tilewright.mapper.problem.space import Space

LABELS = 1 << 12  # that the tables have room for at first


def first_shapes(sp: Space) -> Ints:
    """Return the shapes inside the loops that stand outermost, the largest first.

    They leave of each dimension what the arrays unroll of it.
    """
    dimensions = np.unique(sp.outermost[:, 0])
    if not len(dimensions):
        return np.array([len(sp.repeats) - 1])
    digits = (sp.sizes - 1)[None].copy()
    digits[:, dimensions] = 0
    for begin, end in pairwise(sp.unroll_start):
        factors = np.zeros((end - begin, len(sp.sizes)), np.int64)
        factors[:, dimensions] = sp.unroll[begin:end, dimensions]
        factors = np.unique(factors, axis=0)
        before, own = np.divmod(np.arange(len(digits) * len(factors)), max(len(factors), 1))
        grown = digits[before]
        for d in dimensions:
            grown[:, d] = sp.product[d, grown[:, d], factors[own, d]]
        digits = np.unique(grown[(grown >= 0).all(axis=1)], axis=0)
    return (digits @ sp.strides)[::-1]


def roots(
    sp: Space, shapes: Ints, resources: int, memories: int, energy: float, room: int = LABELS
) -> tuple[Ints, Floats]:
    """Return tables that begin with the labels of the whole nest, inside some outermost loops.

    `memories` is the most between two arrays, `energy` that of the operations in pJ. There is
    `room` for labels; what follows those of the whole nest is anything.
    """
    nt = len(sp.relevant)
    na = len(sp.unroll_start) - 1
    nw = sp.members.shape[0]
    n = len(shapes)
    first = np.zeros(labels.OPEN + nt + 2 * na + labels.WINDOW_COLUMNS * nw, np.int64)
    first[[labels.LAST, labels.PARENT, labels.NEXT]] = -1
    first[labels.OPEN + nt + 2 * na :: labels.WINDOW_COLUMNS] = -1
    it = np.empty((max(room, n), len(first)), np.int64)
    it[:n] = first
    it[:n, labels.SHAPE] = shapes
    it[:n, labels.OPEN : labels.OPEN + nt] = shapes[:, None]
    start = np.zeros(labels.LOADS + resources + memories + (labels.ENTRIES + 1) * nw)
    start[[labels.ZERO, labels.FIRST]] = sp.words[nt - 1, -1]
    start[labels.SPREAD] = 1.0
    start[labels.ENERGY] = energy
    fl = np.empty((max(room, n), len(start)))
    fl[:n] = start
    return it, fl
