"""What a mapping costs: exact counts in closed form, energy, cycles and statistics.

`evaluate` asks `count` for the words that move (`closed_form`), and gives them energy (`energy`)
and cycles (`latency`); `batch` does the same for many tile sizes of one structure. `results` has
what users receive. Tested in `tests/model` against `reference.simulate`.
"""
