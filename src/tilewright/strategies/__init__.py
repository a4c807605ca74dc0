"""Other ways to look for a mapping, for comparison with the proven optimum, and the mapspace.

`candidates` has the nests and mappings that are drawn, and says which are the same; `searches` has
the strategies, and `catalogue` their names. What is left runs them (`steps`, `run`, `apply`), puts
them side by side with the optimum (`comparison`, `optimum`) and looks at all mappings of a layer
(`mapspace`). Tested in `tests/strategies`.
"""
