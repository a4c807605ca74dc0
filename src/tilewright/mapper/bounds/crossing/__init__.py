"""What crosses an array costs at least, for every shape above it.

All tensors that cross share the memory below: `crossing_links` has their links, `across_array` the
least that their tiles cost together. A tile that slides takes room beside the others
(`slide_options`) and is reused for it (`window_reuse`): docs/mapper.md, "Lower bounds".
Tested in `tests/mapper/windows` and `tests/mapper/bounds`.
"""
