"""What commands do with dMazeRunner's results: the file that was asked for, then the terminal."""

from __future__ import annotations

from tilewright.cli.output.files import STANDARD_OUTPUT, write_file, write_out
from tilewright.cli.output.rendering import width
from tilewright.interop.dmazerunner.methods import ExecutionMethods
from tilewright.interop.dmazerunner.result import MethodCost
from tilewright.mapping.text import mapping_text


def put_methods(found: ExecutionMethods, json: str | None) -> None:
    """Write counts and best methods as JSON, show them as tables, or both."""
    if json == STANDARD_OUTPUT:
        write_out(found.to_json())
        return
    if json is not None:
        write_file(json, found.to_json() + "\n")
    write_out(found.text(width()))
    best = found.layers[0].best.get("all") if len(found.layers) == 1 else None
    if best is not None:
        write_out("\n" + mapping_text(best.mapping, best.layer, best.architecture))


def put_cost(cost: MethodCost, json: str | None) -> None:
    """Write what a method costs as JSON, show it with its mapping, or both."""
    if json == STANDARD_OUTPUT:
        write_out(cost.to_json())
        return
    if json is not None:
        write_file(json, cost.to_json() + "\n")
    write_out(
        f"{cost.text(width())}\n\n{mapping_text(cost.mapping, cost.layer, cost.architecture)}"
    )
