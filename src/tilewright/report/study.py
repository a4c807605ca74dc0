"""The page of a comparison or a mapspace: a figure and a table, in one self-contained file."""

from __future__ import annotations

from html import escape
from string import Template

from tilewright.report.page import figure_html, package_version
from tilewright.strategies.comparison import Comparison
from tilewright.strategies.mapspace import MapSpace

PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="$generator">
<title>$title · tilewright</title>
<style>
body { font: 15px system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
pre { overflow-x: auto }
</style>
</head>
<body>
<h1>$title</h1>
$figure
<pre>$text</pre>
</body>
</html>
""")


def study_html(study: Comparison | MapSpace) -> str:
    """Return a comparison or a mapspace as one HTML page that needs nothing but itself."""
    figure = figure_html(study.plot(), whole=False)
    return PAGE.substitute(
        title=escape(study.title),
        generator=escape(f"tilewright {package_version()}".strip()),
        figure=figure,
        text=escape(study.text()),
    )
