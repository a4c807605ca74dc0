"""Which number of a case says what, see `cases`.

Of a case: the expression along which the tile does not stay, what it does there, how far loops on
both dimensions reach, the words that fit, what `cases.around_run` returns, the place of the tile
that loops reach to, or -1, and how long a run is that brings back the tile, or 0 where that is
open; then the least and the most extents of both dimensions of each expression; then what tiles
outside span at least.
"""

SLID, WAY, REACH, ROOM, NEAR, LEVEL, LONG, HEAD = 0, 1, 2, 4, 5, 6, 7, 8
