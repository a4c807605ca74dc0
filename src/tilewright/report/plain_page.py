"""The head of a page of figures and tables, as wide as it says, with styles of its own."""

from __future__ import annotations

HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="$generator">
<title>$title · tilewright</title>
<style>
body { font: 15px system-ui, sans-serif; margin: 2rem auto; max-width: %s; padding: 0 1rem }
pre { overflow-x: auto }
%s</style>
</head>
<body>
<h1>$title</h1>
"""


def head(width: str, styles: str = "") -> str:
    """Return the beginning of a page as a template, with `$generator` and `$title` in it.

    Parameters
    ----------
    width : str
        Of the text at most, as in CSS.
    styles : str
        More rules, each on a line.
    """
    return HEAD % (width, styles)
