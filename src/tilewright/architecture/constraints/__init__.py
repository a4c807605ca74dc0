"""What a mapping must satisfy: demands on arrays and memories, as files and as people write them.

`constraint` says what there is to demand; when a mapping breaks it is defined in
`mapping.constraints`. Tested in `tests/architecture`.
"""
