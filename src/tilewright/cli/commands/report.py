"""The command that puts several runs side by side."""

from __future__ import annotations

from typing import Annotated

from tilewright.cli.arguments import Argument, Option


def report_command(
    runs: Annotated[
        list[str],
        Argument(metavar="RUN.json ...", help="Results that `map --json` wrote."),
    ],
    output: Annotated[
        str | None,
        Option(
            "-o",
            "--output",
            metavar="FILE.html",
            help="Write a page that also compares the layers.",
        ),
    ] = None,
) -> int:
    """Compare results of `map --json`: totals, and on a page the same layers side by side."""
    from pathlib import Path

    from tilewright.cli.output.files import check_outputs, write_file, write_out
    from tilewright.cli.output.rendering import width
    from tilewright.report.comparison import comparison_html, comparison_text, read_run

    check_outputs({"--output": output}, runs)
    stems = [Path(path).stem for path in runs]
    names = stems if len(set(stems)) == len(stems) else runs
    read = [read_run(path, name) for path, name in zip(runs, names, strict=True)]
    if output is not None:
        write_file(output, comparison_html(read))
    write_out(comparison_text(read, width()))
    return 0
