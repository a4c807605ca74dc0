"""Memories that hold more than the current tile, and hold the best of it."""
