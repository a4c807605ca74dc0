"""Which layers of a network to fuse, and how: the best trees, with a proof.

`network` maps every layer by itself, then searches every set of layers that exchange tensors which
nobody else reads (`partition`), and chooses those that save most together. `segment_search` is the
search of one such segment: `choices` says what there is to choose from, `holding` which tiles
shared loops may hold, `branch_bounds` what branches cost at least, `chunks` and `branch` what they
cost. A branch below shared loops is a layer of the bounds of its chunk, so the search of single
layers solves it. Loops over rows and columns are in `windows` and `window_candidates`; `variants`
chooses among variants of a network.

That is sound because a branch begins each turn with empty memories of its own: turns of one extent
cost the same, and the cost of a tree is a sum over its branches. Tested in `tests/mapper/fused`
against all trees of small segments.
"""
