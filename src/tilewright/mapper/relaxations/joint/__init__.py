"""Bounds of regular mappings with all memories, energy and cycles together.

The closed form looks at each memory and each cost alone, so that each may have tiles of its own. In
logarithms of tile sizes, costs are sums of exponentials and what fits is too: a convex program, for
one order of the stays of all tensors. Orders, windows and whole numbers are decided where the
solution of the program has not settled them. Tested in `tests/mapper/relaxations/joint`.
"""
