"""Other ways to look for a mapping, for comparison with the proven optimum, and the mapspace."""
