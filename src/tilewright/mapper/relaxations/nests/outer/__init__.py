"""What tiles in the memory above the array cost at least around those below it.

`least` goes through the tiles that `fit` lets in. `costs` prices them, and `closer` takes another
look at those that are promising, with what a window below the array leaves to them. `runs` and
`windows` say how often the words of a sliding window come in. Tested in
`tests/mapper/relaxations/test_tight_bound.py`.
"""
