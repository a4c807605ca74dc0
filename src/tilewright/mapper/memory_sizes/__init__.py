"""The best cost for every size of one or two memories: an exact step function.

One walk for all sizes at once: a label carries the bits that it uses of the varied memories, and a
frontier of points takes the place of the best value: docs/tradeoffs.md, "How all sizes are searched
at once". Every point is what a search at that size finds: `tests/mapper/memory_sizes`.
"""
