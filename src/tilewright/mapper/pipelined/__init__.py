"""Mappings under pipelined latency: the best even mapping with proof, and what is near it.

A step takes as long as the slowest of what it waits for, a maximum per step and not a sum along the
walk, which labels cannot add up. So even mappings are enumerated below a ceiling, with a bound for
the rest: docs/latency.md, "Mapping under pipelined latency". Tested in `tests/mapper/pipelined`.
"""
