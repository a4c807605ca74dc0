"""The compiled search: labels walk the lattice of shapes from the whole nest inward.

A resource-constrained shortest path by label setting on (shape, stage): `expand` extends labels by
loops and store nodes between two arrays, `cross` takes them through an array, `dive` follows the
most promising ones alone. Elementary loops are enough: docs/mapper.md, "The tile lattice".
"""
