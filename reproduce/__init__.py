"""Published tables, run again: each module prints its numbers next to the published ones."""
