"""Words of one tensor that an optimally managed memory fetches again."""
