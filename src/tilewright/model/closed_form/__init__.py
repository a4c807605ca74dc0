"""Counts in closed form: the structure of a mapping as sums of products, and what computes them.

`traffic` writes each count as a sum of queries, `plan` compiles queries to flat arrays, and the
kernels evaluate them, for one mapping or for many tile sizes at once. The counts are those of
`reference.simulate` (`tests/model/test_closed_form_equals_simulation.py`).
"""
