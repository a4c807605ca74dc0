"""What compiles: the decorators of compiled functions, and the records that they take.

Kernels are Numba functions over plain arrays. `kernel` keeps machine code `on_disk`, stamped with a
digest of every file that it is made of, so that no old code runs on; `part` and `leaf` exist as
copies in their callers. `compiling` makes Numba compile them in less time, and `time_limits` leaves
out what it takes. Records are named tuples that are passed by pointer; `by_record` lets one name
stand for several parts, of which the kind of a record chooses. Tested in `tests/kernels`; the
digests in `tests/mapper/network/test_solution_key.py`.
"""
