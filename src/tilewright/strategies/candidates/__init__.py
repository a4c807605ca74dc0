"""Nests and mappings that strategies draw, and which of them are the same mapping."""
