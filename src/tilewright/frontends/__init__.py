"""Front ends: models as their makers write them, read as networks.

`load.load_model` recognises a file and calls its reader. Readers build a graph with
`builder.Builder`; a framework with files of several kinds has a package. Tested in
`tests/frontends`.
"""
