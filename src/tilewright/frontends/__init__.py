"""Front ends: models as their makers write them, read as networks."""
