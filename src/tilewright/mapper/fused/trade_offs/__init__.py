"""Energy against cycles of networks with fused layers: limits of totals, and all trade-offs.

A cycle that costs energy is leakage. So the search for the least energy, on a machine that leaks
more, finds the mapping of the least energy plus so many pJ for each cycle (`priced_time`), and what
no mapping undercuts. Such bounds for several prices bound energy and cycles together
(`half_planes`): those of whole networks prove what is found, and those of segments and trees of
earlier prices shorten later searches (`priced_search`). Runs need not agree: `totals` has the sums
of all that was found for each segment and layer. `trade_off_search` chooses the prices.
Tested in `tests/mapper/fused/test_fused_trade_offs.py` against random trees and unfused fronts.
"""
