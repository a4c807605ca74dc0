"""A bound of all mappings, in closed form: how long a word can stay in a memory.

Words that cross inward are at least the operations over those that a word serves while it stays,
which what fits the memory limits. Nothing is said about the order of loops, so that it holds for
irregular mappings as well. `spatial_boxes` bounds regular mappings over all spatial choices of all
arrays, and all bypass choices at once. Tested in `tests/mapper/relaxations`.
"""
