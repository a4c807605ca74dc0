"""What there is to choose from: sets of layers, shared dimensions, tiles that shared loops hold.

`partition` lists the sets of layers of a network that may be fused, `segment_problem` says of one
of them which dimensions run through all layers and where tensors may live, `holding` lists the
useful ways to hold tiles among shared loops, `windows` those to share loops over rows and columns.
"""
