"""Which tile sizes are searched."""

DIVISORS, ALL = "divisors", "all"
TILES = (DIVISORS, ALL)
