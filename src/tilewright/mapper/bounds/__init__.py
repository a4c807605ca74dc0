"""What every completion of a label costs at least.

`root` bounds a bypass choice in a few numbers, `spatial_choices` in every combination of classes of
spatial choices, `completion` a label by what must still move. Tables over all shapes make that
tight: `crossing` has what crosses an array, `tables` what is left to place on either side of one.
`plan` is a bypass choice with its tables.
A label whose bound is no better than the best mapping is dropped: docs/mapper.md, "Lower bounds".
No bound is above the best completion: `tests/mapper/bounds` and `tests/mapper/windows`.
"""
