"""Commands that translate between notations."""

from __future__ import annotations

from typing import Annotated

from tilewright.cli.arguments import Option
from tilewright.cli.options import LayerName, Machine, MappingFile, Workload
from tilewright.errors import InputError, nearest

NOTATIONS = ("directives", "mapping")


def convert_command(
    workload: Workload, arch: Machine, mapping: MappingFile, layer: LayerName = None,
    to: Annotated[
        str | None,
        Option("--to", metavar="TEXT", help="directives or mapping; by default the other."),
    ] = None,
    output: Annotated[
        str | None, Option("-o", "--output", metavar="FILE", help="Write to this file.")
    ] = None,
    workload_file: Annotated[
        str | None,
        Option("--workload", metavar="FILE", help="Write the layers as a workload file."),
    ] = None,
    machine_file: Annotated[
        str | None,
        Option("--machine", metavar="FILE", help="Write the machine with its clusters."),
    ] = None,
) -> int:  # fmt: skip
    """Convert mappings to MAESTRO's data-centric directives, or directives to mappings."""
    import tilewright
    from tilewright.cli.output.files import check_outputs, write_file, write_out

    if to is not None and to not in NOTATIONS:
        raise InputError(
            f"expected 'directives' or 'mapping', found '{to}'{nearest(to, NOTATIONS)}", key="--to"
        )
    outputs = {"--output": output, "--workload": workload_file, "--machine": machine_file}
    check_outputs(outputs, [workload, arch, mapping])
    found = tilewright.convert(workload, arch, mapping, layer=layer)
    wanted = to or ("mapping" if found.notation == "directives" else "directives")
    text = found.directives() if wanted == "directives" else found.mappings()
    if machine_file is not None and len({machine for _, machine, _ in found.layers}) > 1:
        names = ", ".join(dict.fromkeys(machine.name for _, machine, _ in found.layers))
        raise InputError(f"the layers need different machines: {names}", key="--machine")
    if workload_file is not None:
        write_file(workload_file, found.workload())
    if machine_file is not None:
        write_file(machine_file, found.machine())
    if output is None:
        write_out(text)
    else:
        write_file(output, text)
        write_out(found.text())
    return 0
