"""Labels: partial mappings as rows of two tables.

`labels` says what a label remembers, `charge` what it pays for a store node, `dominance` when one
makes another superfluous, `roots` where a walk begins and `trace_back` which mapping it ends with.
Why no better mapping is lost: docs/mapper.md, "Labels" and "Dominance". The optima that result are
those of trying every mapping, in `tests/mapper/search/test_mapper_equals_enumeration.py`.
"""
