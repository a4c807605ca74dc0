"""Words of sliding windows: of tiles, and what comes in for an iteration."""
