"""Data layouts: where the words of a tensor lie in the outermost memory, and what blocks cost."""
