"""The command that finds the least off-chip traffic."""

from __future__ import annotations

from typing import Annotated

from tilewright.cli.arguments import Option
from tilewright.cli.options import INTERRUPTED, Json, LayerName, Workload, say, seconds


def traffic_command(
    workload: Workload,
    banks: Annotated[int, Option("--banks", metavar="N", help="Banks of the memory.")] = 27,
    bank: Annotated[
        str, Option("--bank", metavar="SIZE", help="Size of a bank, such as 4KiB.")
    ] = "4 KiB",
    word: Annotated[
        str, Option("--word", metavar="SIZE", help="Size of an element, such as 16bits.")
    ] = "16 bits",
    layer: LayerName = None,
    weight: Annotated[
        float,
        Option("--weight", metavar="W", help="DRAM words that a word of the array is worth."),
    ] = 0.0,
    elements: Annotated[
        tuple[int, int],
        Option("--elements", metavar="ROWS COLUMNS", help="Size of the array."),
    ] = (12, 14),
    registers: Annotated[
        int, Option("--registers", metavar="N", help="Words that each element holds.")
    ] = 260,
    time_limit: Annotated[
        str | None,
        Option("--time-limit", metavar="S", help="Seconds, for all layers together."),
    ] = None,
    json: Json = None,
) -> int:
    """Find the least off-chip traffic with a memory that keeps what is reused soonest."""
    import tilewright
    from tilewright.cli.output.files import STANDARD_OUTPUT, check_outputs, write_file, write_out
    from tilewright.cli.output.rendering import width

    check_outputs({"--json": json}, [workload])
    result = tilewright.least_traffic(
        workload, banks=banks, bank=bank, word=word, layer=layer,
        weight=weight, elements=elements, registers=registers,
        time_limit=seconds(time_limit), progress=say,
    )  # fmt: skip
    if json not in (None, STANDARD_OUTPUT):
        write_file(json or "", result.to_json() + "\n")
    write_out(result.to_json() if json == STANDARD_OUTPUT else result.text(width()))
    return INTERRUPTED if result.interrupted else 0
