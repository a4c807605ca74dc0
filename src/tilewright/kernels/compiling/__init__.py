"""How Numba compiles kernels here, faster than by itself.

`compiler` has the steps, and what does not happen meanwhile; `library` what of a function is
optimised, and when; `known_calls` remembers what operators and functions of Numba's return.
"""
