"""The page of a comparison or a mapspace: a figure and a table, in one self-contained file."""

from __future__ import annotations

from html import escape
from string import Template

from tilewright.report.page import figure_html, package_version
from tilewright.report.plain_page import head
from tilewright.strategies.comparison import Comparison
from tilewright.strategies.mapspace import MapSpace

PAGE = Template(
    head("70rem")
    + """\
$figure
<pre>$text</pre>
</body>
</html>
"""
)


def study_html(study: Comparison | MapSpace) -> str:
    """Return a comparison or a mapspace as one HTML page that needs nothing but itself."""
    figure = figure_html(study.plot(), whole=False)
    return PAGE.substitute(
        title=escape(study.title),
        generator=escape(f"tilewright {package_version()}".strip()),
        figure=figure,
        text=escape(study.text()),
    )
