"""Graphs in files: read, checked and written. `workload.graph` and `workload.view` define them."""
