"""Machines that are counted otherwise: optimal retention, blocks of memory, off-chip tiles.

A relaxed machine gives the lower bound, a search near its best mapping a good one, and the model
its price. Tested in `tests/mapper/variants`.
"""
