"""Good mappings to begin with, and steps from one mapping to others: nothing is proven here."""
