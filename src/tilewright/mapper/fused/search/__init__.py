"""The search of one segment: candidates by their bound, branches solved where it matters.

`segment_search` is the loop; a `candidate` is a way to share loops, `window_candidates` makes those
with windows, and `trees` writes one as a tree. `branch_bounds` says what branches cost at least,
`branch` and `chunks` what they cost: the search of single layers near another machine.
"""
