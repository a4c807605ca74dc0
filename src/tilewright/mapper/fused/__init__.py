"""Which layers of a network to fuse, and how: the best trees, with a proof.

`whole_search` maps every layer by itself, then searches every set of layers that exchange tensors
which nobody else reads; `network` chooses those that save most together. `network_search` is what
is known of all segments, `rounds` the order in which they are searched, and `segment_task` the
search of one, in any process. `space` says what there is to choose from, `search` finds the best
tree of one segment, `results` are what users receive. `trade_offs` asks for energy and cycles
together. `why_not` and `edge_details` say why other layers are not fused; `variants` chooses among
variants of a network, and `frontier` does all this for every size of a memory.

A branch below shared loops is a layer with the bounds of its chunk, so the search of single layers
solves it. That is sound because a branch begins each turn with empty memories of its own: turns of
one extent cost the same, and the cost of a tree is a sum over its branches. Tested in
`tests/mapper/fused` against all trees of small segments.
"""
