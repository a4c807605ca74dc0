"""What tiles of sliding windows span and serve, while tiles lie inside one another.

`window_spans` says how much a tile spans and how far it slides, `served` how many iterations a word
gives while a tile stays or slides. `cases` lists what a tile may do, and `case_serves` what it
serves then. Tested in `tests/mapper/relaxations/test_regular_mappings.py`.
"""
