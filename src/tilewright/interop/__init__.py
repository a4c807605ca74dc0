"""Notations of other tools, read and written."""
