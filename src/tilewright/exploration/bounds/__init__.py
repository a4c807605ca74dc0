"""What layers cost at least on all machines of a box."""
