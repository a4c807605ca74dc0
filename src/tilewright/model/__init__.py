"""What a mapping costs: exact counts in closed form, energy, cycles and statistics."""
