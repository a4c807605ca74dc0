"""A tighter bound of regular mappings, enumerated: tiles that lie inside one another.

All sizes of the tiles on either side of an array are tried, with a closed form for what is between
them: `inner_tiles` below it, `outer/` above it, windows in `sliding/`, and `together` both.
`tiles_to_mapping` turns the best tiles into mappings to begin with. Tested in
`tests/mapper/relaxations/test_tight_bound.py`.
"""
