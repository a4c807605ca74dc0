"""Language models from the configurations that come with their weights."""
