"""What the page shows of one layer: its mapping, its energy, its memories, its reuse."""
