"""How Numba compiles kernels here, faster than by itself.

`compiler` has the compilers, `steps` the steps that they take, `library` what of a function is
optimised, and when. `meanwhile` says what Numba does otherwise in the meantime, and `known` what it
is asked again and again.
"""
