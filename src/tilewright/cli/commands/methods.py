"""The command that counts execution methods."""

from __future__ import annotations

from typing import Annotated

from tilewright.cli.arguments import Option
from tilewright.cli.options import Json, LayerName, Machine, Workload, say


def methods_command(
    workload: Workload,
    arch: Machine,
    layer: LayerName = None,
    best: Annotated[
        str | None,
        Option("--best", metavar="edp|cycles|energy", help="Find the best methods as well."),
    ] = None,
    json: Json = None,
) -> int:
    """Count dMazeRunner's execution methods, and find the best by its cost model."""
    import tilewright
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.methods import put_methods

    check_outputs({"--json": json}, [workload, arch])
    put_methods(tilewright.methods(workload, arch, layer=layer, best=best, progress=say), json)
    return 0
