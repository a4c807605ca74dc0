"""How layers are connected: the tensors they exchange, dimensions that are tied, and their names.

`connected_layers` finds the segment of a network that some layers form, `axes` follows views from
the axes of a tensor to those of its readers, and `loop_classes` says which dimensions a shared loop
cuts.
"""
