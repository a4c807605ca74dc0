"""Trees as files and as text, and where a node stands in a file."""
