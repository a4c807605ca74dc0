"""What commands do with comparisons and mapspaces: files that were asked for, then the terminal."""

from __future__ import annotations

from tilewright.cli.output.files import STANDARD_OUTPUT, write_file, write_out
from tilewright.cli.output.rendering import width
from tilewright.strategies.comparison import Comparison
from tilewright.strategies.mapspace import MapSpace


def put_study(study: Comparison | MapSpace, json: str | None, report: str | None) -> None:
    """Write a comparison or a mapspace.

    Parameters
    ----------
    study : Comparison or MapSpace
        What was measured.
    json, report : str or None
        Files for the data and for a page with table and figure; ``-`` for JSON on standard output,
        where it then stands alone.
    """
    if report is not None:
        from tilewright.report.study import study_html

        write_file(report, study_html(study))
    if json == STANDARD_OUTPUT:
        write_out(study.to_json())
        return
    if json is not None:
        write_file(json, study.to_json() + "\n")
    write_out(study.text(width()))
