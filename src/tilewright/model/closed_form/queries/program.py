"""The queries about a mapping structure, as flat arrays that the kernels read."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.kernels.record import record
from tilewright.kernels.types import Ints

CHAIN, TOTAL, WINDOW, HELD, PEAK, DISTINCT = range(6)
NONE, OWN_STEPS = -1, -2  # instead of a place in the row: zero, or the difference of two `all`


@record
class Program(NamedTuple):
    """Everything that the kernels need to know of a mapping structure.

    A query is a sum of products over dimension groups. What a group contributes is a factor, and
    depends on the tile sizes of the group's own few loops. A table holds the factors that depend
    on the same loops; one of its rows belongs to one choice of their tile sizes.

    A ``start`` array delimits lists: what belongs to item i is ``[start[i] : start[i + 1]]``.
    """

    bounds: Ints  # iterations of each dimension
    loop_dim: Ints  # dimension of each loop, residual loops at the compute unit included
    table_factor_start: Ints
    table_width: Ints
    factor_kind: Ints
    factor_place: Ints  # first number of the factor in its table's row
    factor_dim_start: Ints
    dim_coef: Ints
    dim_bound: Ints
    factor_loop_start: Ints
    loop_index: Ints
    loop_local: Ints  # dimension of the loop within the factor
    loop_mode: Ints
    query: Ints  # where each query begins in `code`
    code: Ints  # the queries, see `combine.query_values`
