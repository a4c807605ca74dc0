"""What Python users call: workloads, machines and mappings by name, by file or as objects.

The functions are those of `tilewright` itself, where all public names are found. Tested in
`tests/api`.
"""
