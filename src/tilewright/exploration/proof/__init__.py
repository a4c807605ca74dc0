"""Branch and bound over boxes, and the solver of single designs."""
