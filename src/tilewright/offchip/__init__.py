"""Least off-chip traffic of a layer when a memory holds the words whose next use is nearest.

The schedule of Q. Nie, S. Malik, CNNFlow, ACM TODAES 28(3), 2023: the layer is cut into blocks, the
blocks are worked off in the order of a loop nest, and each tensor has banks of its own, in which
the words stay that are used again first (Belady).

`spills` counts and bounds what one tensor spills in one nest; `walk` and `search` find the nest,
the blocks and the banks with the least; `arrays` counts the words between a memory and an array,
and `joint` and `weighted` minimise both together. A bound leaves inner loops out, and they can only
add spills. Tested in `tests/offchip`, against simulation and enumeration.
"""
