"""The search for one layer.

`best_first` takes bypass choices from a queue by their bounds, and `search` runs the engine below a
ceiling; it is optimal when the queue is empty (docs/mapper.md, "Bypass choices, best first").
Around it: `ties` among optima, `all_sizes` of tiles, and other `questions` to the same search.
What it proves is what trying every mapping finds: `tests/mapper/search`.
"""
