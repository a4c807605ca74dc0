"""The search for one layer.

`best_first` takes bypass choices from a queue by their bounds, and `search` runs the engine below a
ceiling; it is optimal when the queue is empty (docs/mapper.md, "Bypass choices, best first").
Around it: `ties` among optima, `feasibility` and the smallest set of demands that excludes every
mapping (`infeasibility`), `front` of energy against cycles, `least_memory`, and `all_tile_sizes`.
What it proves is what trying every mapping finds: `tests/mapper/search`.
"""
