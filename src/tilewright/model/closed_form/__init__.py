"""Counts in closed form: the structure of a mapping as sums of products, and what computes them.

`traffic` writes each count as a sum of queries about the words of tiles. `queries` compiles them to
flat arrays and computes them, for one mapping or for many tile sizes at once. A query is a product
over groups of dimensions, whose numbers the other kernels compute: `words` of one dimension,
`windows` of several. The counts are those of `reference.simulate`
(`tests/model/test_closed_form_equals_simulation.py`).
"""
