"""Tables over all shapes of what a bypass choice still costs, filled before its labels walk.

`above_array` reads the table of what is left to place above the first array, `above_array_table`
fills it, and `below_array` and `port_table` are the same below the array and in cycles of a port.
`screening` says which entries a mapping below the ceiling can pass; the others stay empty.
`choice_tables` fills all that one bypass choice needs: docs/mapper.md, "What the tables hold".
Tested in `tests/mapper/bounds`.
"""
