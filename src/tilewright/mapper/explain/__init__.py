"""What limits an optimum, and what else is nearly as good: docs/explain.md.

Every limit of a machine is relaxed alone and the layer searched again. Tested in
`tests/mapper/explain`.
"""
