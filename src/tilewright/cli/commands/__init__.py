"""The commands: each module has those that call one module of `api`, or a few that go together.

A command turns its options into one call of `tilewright.api` and prints the result. `cli/help.py`
says which module has which command. Tested in `tests/cli`.
"""
