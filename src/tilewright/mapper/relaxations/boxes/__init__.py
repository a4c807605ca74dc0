"""The closed-form bound of regular mappings over all spatial choices and bypass choices at once.

`halves` divides the choices of each array, and `spatial_boxes` goes through the boxes that they
make, least bound first. `every_keep` bounds all bypass choices in them, with the stays of
`relaxations.stays`. Tested in `tests/mapper/relaxations/test_spatial_boxes.py`.
"""
