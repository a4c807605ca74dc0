"""Fused mappings as the text of files, which `files` reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilewright.mapping.files import mapping_data, one_per_line, yaml_text
from tilewright.mapping.fused.connections.connected_layers import segment
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.notation.files import TOGETHER
from tilewright.mapping.fused.tree import Branch, Fuse, FusedMapping, TreeNode
from tilewright.mapping.nodes import For, Mapping, Store
from tilewright.workload.layer import Network


def fused_data(mapping: FusedMapping, found: Segment) -> dict[str, Any]:
    """Return a fused mapping as the plain data of a file."""
    data: dict[str, Any] = {"mapping": _nodes_data(mapping.nodes, found)}
    for halo in mapping.halos:
        modes = data.setdefault("halos", {}).setdefault(halo.tensor, {})
        modes[halo.dimension] = halo.mode
    return data


def _nodes_data(nodes: Iterable[TreeNode], found: Segment) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = []
    for node in nodes:
        if isinstance(node, Store):
            data.append({"store": node.memory, "tensors": list(node.tensors)})
        elif isinstance(node, For):
            data.append({"for": node.dimension, "tile": node.tile})
        elif isinstance(node, Fuse):
            key = "pipeline" if node.pipelined else "fuse"
            data.append({key: [_branch_data(branch, found) for branch in node.branches]})
    return data


def _branch_data(branch: Branch, found: Segment) -> Any:
    if branch.layer is None:
        return _nodes_data(branch.nodes, found)
    own = Mapping(tuple(node for node in branch.nodes if not isinstance(node, Fuse)))
    layer = found.layer_of[branch.layer]
    data = mapping_data(own, layer)
    turns = [
        {"bounds": dict(turn.bounds), "nodes": mapping_data(Mapping(turn.nodes), layer)}
        for turn in branch.turns
    ]
    return {"layer": branch.layer, "nodes": data, **({"turns": turns} if turns else {})}


def dump_fused(
    segments: Iterable[tuple[Segment, FusedMapping]],
    mappings: Iterable[tuple[str, Mapping, int]],
    network: Network,
    architecture: str = "",
) -> str:
    """Return fused mappings of a network as the text of a file.

    Parameters
    ----------
    segments : iterable of (Segment, FusedMapping)
        What is fused, and how.
    mappings : iterable of (str, Mapping, int)
        The other layers: name, mapping, and how many runs take it.
    network : Network
        The network.
    architecture : str
        Name of the machine, written for people.
    """
    layers = {layer.name: layer for layer in network.layers}
    data: dict[str, Any] = {"architecture": architecture} if architecture else {}
    data["workload"] = network.name
    data["segments"] = [
        _in_lines(fused_data(mapping, own) | _runs_of(own, network)) for own, mapping in segments
    ]
    others: dict[str, list[tuple[Any, int]]] = {}
    for name, mapping, runs in mappings:
        nodes = one_per_line(mapping_data(mapping, layers[name]))
        others.setdefault(name, []).append((nodes, runs))
    if others:
        data["mappings"] = {
            name: every[0][0]
            if len(every) == 1
            else [{"runs": runs, "mapping": nodes} for nodes, runs in every]
            for name, every in others.items()
        }
    return yaml_text(data)


def _runs_of(own: Segment, network: Network) -> dict[str, int]:
    """Return how many runs a segment has, where these are not all."""
    names = [layer.name for layer in own.layers]
    return {} if segment(network, names).repeat == own.repeat else {"runs": own.repeat}


def _in_lines(data: Any) -> Any:
    """Return data that YAML writes with one line for each node that holds no others."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    if isinstance(data, list):
        return CommentedSeq(_in_lines(item) for item in data)
    if not isinstance(data, dict):
        return data
    whole = CommentedMap({key: _in_lines(value) for key, value in data.items()})
    if not {*TOGETHER, "nodes", "mapping"} & set(data):
        whole.fa.set_flow_style()
    return whole
