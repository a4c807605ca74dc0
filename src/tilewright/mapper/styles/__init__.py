"""One style for all layers of a network: the same dimensions on the axes, the same tensor stays.

A branch and bound over styles, with bounds of every layer in every style in closed form:
docs/tradeoffs.md, "One style for all layers". Tested in `tests/mapper/styles`.
"""
