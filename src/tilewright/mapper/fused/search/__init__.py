"""The search of one segment: candidates by their bound, branches solved where it matters.

`segment_search` is the loop, `turn_search` looks for what matters most in one candidate. A
`candidate` is a way to share loops, `window_candidates` makes those with windows,
`group_candidates` those with groups of layers that share more loops, and `trees` writes one as a
tree. `branch_bounds` says what branches cost at least. `branch` and `chunks` say what they cost,
from the search of single layers near another machine; `groups` says it of groups, from a search
like this one further down. `known` is what all of them have found.
"""
