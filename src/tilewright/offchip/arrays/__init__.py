"""Words between a memory and an array of processing elements, for given blocks."""
