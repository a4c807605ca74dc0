"""Other questions to the search of a layer than which mapping is best.

Whether there is any mapping (`feasibility`), and if not, the smallest set of demands that excludes
them all (`infeasibility`); every trade-off of energy against cycles (`front`); the least memory of
an optimum (`least_memory`); the best mapping of one kind (`restricted`).
Each is answered with a proof: `tests/mapper/search`.
"""
