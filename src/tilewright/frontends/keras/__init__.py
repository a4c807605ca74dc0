"""Keras models as they are saved."""
