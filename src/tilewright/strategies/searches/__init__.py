"""The strategies: each yields steps of mappings that it has tried, see `strategies.steps`."""
