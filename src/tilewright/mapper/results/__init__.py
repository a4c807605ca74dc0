"""What users receive: mappings, what they cost, and what is proven of them.

These are values: they hold numbers and write tables and JSON, and never search.
"""
