"""Machine code of kernels on disk, between processes.

`folders` says where it lies, `kept` keeps it there, and `loaded` reads it without what Numba needs
to compile. Tested in `tests/kernels`.
"""
