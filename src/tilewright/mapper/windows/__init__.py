"""How many operations a word of a sliding tensor serves at most.

The bounds of sliding tensors rest on these closed forms: `slides` for tiles that divide, with the
loops around them; `pairs` for any tiles of an index expression of several dimensions;
`reuse_ahead` for what is still possible inside a shape; `step_sets` for what elements read at a
time. They are compared with every nest of loops
in `tests/mapper/windows`.
"""
