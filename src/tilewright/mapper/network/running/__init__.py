"""How a search of a network runs: its time, its processes, and who is told of it.

`run` is what users ask for: time limit, workers, cache, progress. `time_shares` divides the time
among layers, `workers` are processes that improve tile sizes, `compilation` compiles the kernels
before they are needed, `progress` and `bars` show how far it is. Nothing here decides a result.
Tested in `tests/mapper/network`.
"""
