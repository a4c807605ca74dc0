"""Which tile sizes are searched."""

DIVISORS, ALL = "divisors", "all"
TILES = (DIVISORS, ALL)
SIZES = {DIVISORS: "tile sizes that divide", ALL: "all tile sizes"}
OWN = "own"  # those of a strategy
