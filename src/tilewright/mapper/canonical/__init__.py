"""Which of the mappings that cost the same is returned: the least memory, then the simplest.

The result does not depend on the order of the search: docs/mapper.md, "Ties". Tested against all
mappings that move the same words in `tests/mapper/canonical`.
"""
