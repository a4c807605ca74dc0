"""A bound of all mappings, in closed form: how long a word can stay in a memory.

Words that cross inward are at least the operations over those that a word serves while it stays,
which what fits the memory limits. Nothing is said about the order of loops, so that it holds for
irregular mappings as well. Tested in `tests/mapper/relaxations`.
"""
