"""Memories that hold more than the current tile, and hold the best of it.

`spills` counts what one tensor fetches again, for every size of its share of a memory;
`partition` divides the memory among tensors; `instances` says what each instance of a memory
receives; `policy` joins these, and `evaluate` and `counts` give the counts of a mapping. The
optimal policy keeps the words whose next use is nearest (Belady): no other fetches fewer. Tested in
`tests/retention`, against the simulation in `reference`.
"""
