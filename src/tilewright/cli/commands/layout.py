"""Commands that look at data layouts."""

from __future__ import annotations

from typing import Annotated

from tilewright.cli.arguments import Option
from tilewright.cli.options import Json, LayerName, Machine, Workload


def layout_command(
    workload: Workload,
    arch: Machine,
    layer: LayerName = None,
    integers: Annotated[
        bool, Option("--integers", help="Tiles of any size, not only divisors.")
    ] = False,
    whole: Annotated[
        str, Option("--whole", metavar="DIMS", help="Dimensions not to cut, such as R,S.")
    ] = "",
    extents: Annotated[
        str,
        Option("--extents", metavar="words|box", help="What a strided window takes."),
    ] = "words",
    uniform: Annotated[
        bool, Option("--uniform", help="Find the best layout for all layers as well.")
    ] = False,
    json: Json = None,
) -> int:
    """Find the off-chip tiles and data layouts that move the fewest DRAM blocks."""
    import tilewright
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.results import put_result

    check_outputs({"--json": json}, [workload, arch])
    dims = [name.strip() for name in whole.split(",") if name.strip()]
    found = tilewright.best_layout(
        workload, arch,
        layer=layer, integers=integers, whole=dims, extents=extents, uniform=uniform,
    )  # fmt: skip
    put_result(found, json)
    return 0
