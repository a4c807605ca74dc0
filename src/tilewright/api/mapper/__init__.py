"""What asks the mapper about single layers and whole networks.

`search` has `map`, and `searches` the objects that say how it searches; `limits` asks what limits
an optimum, `tradeoffs` for fronts of energy and cycles and for sizes of memories. Each checks its
inputs first and imports compiled code only then. Tested in `tests/api`.
"""
