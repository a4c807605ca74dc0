"""What an evaluation says: of a layer, of its levels and tensors, of a network.

`result` is what `evaluate` returns, with `level_results` in it; `statistics` and `reuse` follow
from the counts; `hardware` is what the machine is made of. Tested in `tests/model`.
"""
