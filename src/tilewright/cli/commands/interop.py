"""Commands that go to and from other tools."""

from __future__ import annotations

from typing import Annotated

from tilewright.cli.arguments import Argument, Option
from tilewright.cli.options import Json, LayerName, Machine, MappingFile, Workload, say
from tilewright.errors import InputError

Folder = Annotated[
    str | None, Option("--output", metavar="DIR", help="Write files of tilewright's here.")
]
MaybeMapping = Annotated[str | None, Argument(metavar="[MAPPING]", help="A file, or a style.")]


def export_command(
    workload: Workload,
    arch: Annotated[
        str | None,
        Argument(metavar="[ARCH]", help="A built-in name, or a file."),
    ] = None,
    mapping: MaybeMapping = None,
    timeloop: Annotated[
        str | None,
        Option("--timeloop", metavar="DIR", help="Write Timeloop's files (0.4) here (timeloop)."),
    ] = None,
    scalesim: Annotated[
        str | None,
        Option(
            "--scalesim", metavar="DIR", help="Write the layers as a topology of SCALE-Sim here."
        ),
    ] = None,
    layer: LayerName = None,
) -> int:
    """Write a layer, a machine and an even mapping for Timeloop, or layers for SCALE-Sim."""
    import tilewright
    from tilewright.api.inputs import the_network
    from tilewright.api.interop import Exported
    from tilewright.cli.output.files import write_folder, write_out

    inputs = [workload, arch or "", mapping or ""]
    results: list[tuple[str, str, Exported]] = []
    if scalesim is not None:
        network = the_network(workload, layer)
        results.append(("--scalesim", scalesim, tilewright.export_topology(network)))
    if timeloop is not None or scalesim is None:
        if arch is None:
            raise InputError("is missing: Timeloop's files are about a machine", key="ARCH")
        found = tilewright.export(workload, arch, mapping, layer=layer)
        results.append(("--timeloop", timeloop or "timeloop", found))
    for option, folder, found in results:
        write_out("\n".join(write_folder(option, folder, found.files, inputs)))
        for what in found.left_out:
            say(f"not written: {what}")
    return 0


def import_command(
    problem: Annotated[str, Argument(metavar="PROBLEM", help="Problem of Timeloop.")],
    arch: Annotated[str, Argument(metavar="ARCH", help="Architecture of Timeloop.")],
    mapping: Annotated[
        str | None, Argument(metavar="[MAPPING]", help="Mapping of Timeloop.")
    ] = None,
    output: Folder = None,
) -> int:
    """Read Timeloop's files, and list what has no meaning in tilewright."""
    import tilewright
    from tilewright.architecture.files import dump_architecture
    from tilewright.cli.output.files import write_folder, write_out
    from tilewright.mapping.files import dump_mapping
    from tilewright.workload.network import dump_network

    found = tilewright.read_timeloop(problem, arch, mapping)
    if output is not None:
        files = {
            "workload.yaml": dump_network(found.network),
            "architecture.yaml": dump_architecture(found.architecture),
        }
        if found.mapping is not None:
            files["mapping.yaml"] = dump_mapping(found.mapping, found.network.layers[0])
        write_folder("--output", output, files, [problem, arch, mapping or ""])
    write_out(found.text())
    return 0


def compare_counts_command(
    workload: Workload,
    arch: Machine,
    mapping: MappingFile,
    stats: Annotated[str, Argument(metavar="STATS", help="What Timeloop wrote: *.stats.txt.")],
    layer: LayerName = None,
    json: Json = None,
) -> int:
    """Compare Timeloop's reads, fills and updates with tilewright's, and explain differences."""
    import tilewright
    from tilewright.cli.output.files import check_outputs
    from tilewright.cli.output.results import put_result

    check_outputs({"--json": json}, [workload, arch, mapping, stats])
    put_result(tilewright.compare_counts(workload, arch, mapping, stats, layer=layer), json)
    return 0
