"""Queries about a mapping structure, compiled to flat arrays and computed for many tile sizes.

`plan` writes queries as products over groups of dimensions, and `program` holds them as arrays;
`shapes` compiles once for all layers of a shape. `memo` and `locate` find the rows of tables that
belong to tile sizes. `combine` and `sweep` compute counts and costs from the rows.
Tested in `tests/model/test_closed_form_equals_simulation.py` and `tests/model/test_model_batch.py`.
"""
