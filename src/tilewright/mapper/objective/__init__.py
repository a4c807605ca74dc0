"""What is minimised: products of powers of energy and cycles, under limits, and tolerances.

Searches compare pairs of floats, an objective and a tie-break; how far two of them may differ and
still be equal is decided in `tolerances`. Tested in `tests/mapper/objective`.
"""
