"""What components cost: energy, area and leakage where a machine does not say.

`technology` answers what `pricing` asks of it for the levels of a machine. Tested in
`tests/architecture`.
"""
