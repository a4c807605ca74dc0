"""The definitions, by brute force: short, slow, and obvious.

`simulate` counts words with explicit sets, `timeline` carries a mapping out event by event,
`belady` keeps the words whose next use is nearest. The closed forms in `tilewright.model`,
`tilewright.timing` and `tilewright.retention` share no code with them; property tests compare every
number.
"""
