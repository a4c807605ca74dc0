"""The search for one layer with any tile sizes.

`all_tile_sizes` decides what comes when, and what is proven (`bounds_of_all_sizes`). `best` looks
for better mappings: from `rounder_layers` and from what bounds stand for, by `climbing`.
"""
