"""What commands do with results: the files that were asked for, then the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from typing import TYPE_CHECKING, cast

from tilewright.cli.output.files import STANDARD_OUTPUT, write_file, write_folder, write_out
from tilewright.cli.output.rendering import width

if TYPE_CHECKING:
    from tilewright.fusion.result import FusedEvaluation, FusedNetworkEvaluation
    from tilewright.interop.timeloop.comparison.differences import Differences
    from tilewright.layout.result import LayoutResult
    from tilewright.mapper.explain.explanation import Explanation
    from tilewright.mapper.fused.results.explanation import FusedExplanation
    from tilewright.mapper.fused.results.front_result import FusedFront
    from tilewright.mapper.fused.results.frontier_result import FusedFrontier
    from tilewright.mapper.fused.results.result import FusedResult
    from tilewright.mapper.network.front_of_network import NetworkFront
    from tilewright.mapper.results.frontier import Frontier
    from tilewright.mapper.results.result import NetworkResult
    from tilewright.mapper.search.questions.front import Front
    from tilewright.model.results.network import NetworkEvaluation
    from tilewright.model.results.result import Evaluation


def put_mappings(
    result: NetworkResult, json: str | None, report: str | None, output: str | None
) -> None:
    """Write what the mapper found.

    Parameters
    ----------
    result : NetworkResult
        The best mappings, or the best so far.
    json, report, output : str or None
        Files for the results, the report and the mappings; ``-`` for JSON on standard output,
        where it then stands alone.
    """
    fused = cast("FusedResult", result) if result.fused else None
    if output is not None and fused is not None:
        write_file(output, fused.mapping_file())
    elif output is not None:
        from tilewright.mapping.files import dump_mappings

        pairs = [(found.layer, found.mapping) for found in result.layers]
        write_file(output, dump_mappings(pairs, result.architecture.name, result.network.name))
    if report is not None and result.layers:
        from tilewright.report import html

        write_file(report, html(result))
    if json == STANDARD_OUTPUT:
        write_out(result.to_json())
        return
    if json is not None:
        write_file(json, result.to_json() + "\n")
    if fused is not None:
        write_out(fused.text(width()))
        return

    from tilewright.cli.output.tables import summary

    write_out(summary(result))


def put_result(
    result: Front
    | NetworkFront
    | FusedFront
    | Explanation
    | LayoutResult
    | Differences
    | FusedEvaluation
    | FusedNetworkEvaluation
    | FusedExplanation,
    json: str | None,
) -> None:
    """Write a result as JSON, show it as text, or both."""
    if json == STANDARD_OUTPUT:
        write_out(result.to_json())
        return
    if json is not None:
        write_file(json, result.to_json() + "\n")
    write_out(result.text(width()))


def put_frontier(frontier: Frontier | FusedFrontier, json: str | None, plot: str | None) -> None:
    """Write what sizes of memories cost as JSON or as a plot, and show it as a table."""
    if plot is not None:
        from tilewright.report.page import figure_html

        write_file(plot, figure_html(frontier.plot()))
    if json == STANDARD_OUTPUT:
        write_out(frontier.to_json())
        return
    if json is not None:
        write_file(json, frontier.to_json() + "\n")
    write_out(frontier.text(width()))


def put_timeline(evaluation: Evaluation, file: str) -> None:
    """Write the plot of the first steps of a pipelined execution."""
    from tilewright.report.page import figure_html
    from tilewright.report.sections.timeline import timeline_plot

    write_file(file, figure_html(timeline_plot(evaluation)))


def put_slots(found: FusedEvaluation | FusedNetworkEvaluation, file: str) -> None:
    """Write the plot of the first slots of layers that run at the same time."""
    from tilewright.report.page import figure_html
    from tilewright.report.sections.fused_timeline import slots_plot

    write_file(file, figure_html(slots_plot(found)))


def put_figures(result: NetworkResult, folder: str, inputs: Sequence[str]) -> None:
    """Write figures and tables of a result into a directory."""
    from tilewright.report.paper import paper_files

    write_folder("--figures", folder, paper_files(result), inputs)


def put_trace(result: NetworkResult | NetworkEvaluation | Evaluation, file: str) -> None:
    """Write a pipelined execution as a trace."""
    from tilewright.report.chrome_trace import trace_text

    write_file(file, trace_text(result))


def put_evaluation(evaluation: Evaluation, json: str | None, *, statistics: bool = False) -> None:
    """Write an evaluation as JSON, show it with its mapping, or both."""
    data = {"statistics": evaluation.statistics.to_dict()} if statistics else {}
    if json is not None:
        text = dumps(evaluation.to_dict() | data, indent=2)
        if json == STANDARD_OUTPUT:
            write_out(text)
            return
        write_file(json, text + "\n")

    from tilewright.mapping.text import mapping_text

    nest = mapping_text(evaluation.mapping, evaluation.layer, evaluation.architecture)
    also = f"{evaluation.statistics.text(width())}\n\n" if statistics else ""
    write_out(f"{evaluation.text(width())}\n\n{also}{nest}")


def put_network_evaluation(
    found: NetworkEvaluation, json: str | None, *, statistics: bool = False
) -> None:
    """Write the evaluations of a network as JSON, show them as a table, or both."""
    if json is not None:
        data = found.to_dict()
        if statistics:
            for layer, one in zip(data["layers"], found.layers, strict=True):
                layer["statistics"] = one.statistics.to_dict()
        text = dumps(data, indent=2)
        if json == STANDARD_OUTPUT:
            write_out(text)
            return
        write_file(json, text + "\n")
    write_out(found.text(width()))
    if statistics:
        for one in found.layers:
            write_out(f"\n{one.layer.name}: {one.statistics.text(width())}")
