"""What every mapping costs at least, whatever its tile sizes: bounds without a search.

`stays` holds for every mapping, in closed form. `boxes` and `nests` are tighter and hold for
regular mappings: `boxes` over all spatial choices of any arrays, `nests` for a single array. All
are lower bounds because they let each tile be as good as it could be by itself: see
docs/tile-sizes.md, "The bound of all mappings" and "The bound of regular mappings".
"""
