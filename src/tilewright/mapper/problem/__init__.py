"""A layer on a machine as plain arrays: what the kernels know of both.

A shape is one integer (`lattice`), the spatial choices of each array are rows (`space`), and each
bypass choice (`bypass_choices`) has the costs of its links (`link_costs`), its segments between
arrays (`segments`), and what constraints ask of it (`constraint_arrays`, `constraint_rules`).
Nothing here prefers one mapping to another. `space_size` counts what there is to choose from; that
it equals the number of mappings that can be written down is tested in `tests/mapper/problem`.
"""
