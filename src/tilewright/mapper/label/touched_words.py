"""Words of the output that the first of several instances ever touches, where windows overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.label.labels import OPEN

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.problem.space import Space


@leaf
def cuts_windows(sp: Space, row: Ints, t: int, lo: int, hi: int) -> bool:
    """Whether arrays lo to hi cut a dimension along which the windows of tensor t overlap."""
    w = sp.windows[t]
    if w < 0:
        return False
    nt = sp.relevant.shape[0]
    for k in range(lo, hi):
        choice = row[OPEN + nt + 2 * k + 1]
        for d in range(sp.relevant.shape[1]):
            if sp.window_of[w, d] >= 0 and sp.unroll[choice, d] > 0:
                return True
    return False


@called_leaf
def first_words(sp: Space, row: Ints, t: int, arrays: int, tile: Ints, marks: Ints) -> float:
    """Return the different words of a sliding tensor below the first element of some arrays."""
    w = sp.windows[t]
    nt = sp.relevant.shape[0]
    words = 1.0
    for d in range(sp.relevant.shape[1]):
        if sp.relevant[t, d] and sp.window_of[w, d] < 0:
            words *= sp.values[d, sp.sizes[d] - 1]
            for k in range(arrays):
                words /= sp.values[d, sp.unroll[row[OPEN + nt + 2 * k + 1], d]]
    for e in range(sp.members.shape[1]):
        points = 1
        span = 1
        m = 0
        while m < sp.members.shape[2] and sp.members[w, e, m] >= 0:
            d = sp.members[w, e, m]
            bound = sp.values[d, sp.sizes[d] - 1]
            tile[m] = bound
            points *= bound
            span += sp.coefs[w, e, m] * (bound - 1)
            m += 1
        if m == 0:
            continue
        marks[:span] = 0
        different = 0
        for p in range(points):
            r = p
            word = 0
            own = True
            for i in range(m):
                d = sp.members[w, e, i]
                at = r % tile[i]
                r //= tile[i]
                word += sp.coefs[w, e, i] * at
                for k in range(arrays):
                    size = sp.values[d, sp.digits[row[OPEN + nt + 2 * k], d]]
                    chunks = sp.values[d, sp.unroll[row[OPEN + nt + 2 * k + 1], d]]
                    own = own and at // size % chunks == 0
            if own and marks[word] == 0:
                marks[word] = 1
                different += 1
        words *= different
    return words
