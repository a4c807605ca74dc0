"""Timeloop's counts beside ours: read from its statistics, and what makes them differ.

Tested in `tests/interop/test_timeloop.py`.
"""
