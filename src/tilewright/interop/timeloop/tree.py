"""The components of Timeloop's architectures, as one chain with the fan-outs between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tilewright.document import Document, KeyPath, describe
from tilewright.interop.timeloop.reading import entries, normal
from tilewright.interop.timeloop.report import Report

RANGE = re.compile(r"(?P<name>[^\[\]]+)\[(?P<first>\d+)\.\.(?P<last>\d+)\]")
# by parts of the names of classes, as Timeloop tells them apart
COMPUTE = ("mac", "compute")
STORAGE = ("dram", "sram", "regfile", "buffer", "storage", "register", "spad")
NETWORK = ("xy_noc", "legacy", "reductiontree", "simplemulticast")
PARALLEL = ("!Parallel", "!Pipelined")


@dataclass(frozen=True)
class Part:
    """A component or a fan-out of an architecture.

    Attributes
    ----------
    kind : str
        ``"memory"``, ``"array"`` or ``"compute"``.
    name : str
        Its name, without a range of instances.
    attributes : dict
        What it says and inherits, keys with underscores; axes of a fan-out.
    path : tuple
        Where it stands in the file.
    constraints : dict
        By kind (``spatial``, ``temporal``, ``dataspace``), each with its path.
    component_class : str
        Class of a component.
    """

    kind: str
    name: str
    attributes: dict[str, Any]
    path: KeyPath
    constraints: dict[str, tuple[Any, KeyPath]]
    component_class: str = ""


def read_tree(document: Document, path: KeyPath, report: Report) -> list[Part]:
    """Return the parts of an architecture, outermost first."""
    data = document.data
    for key in path:
        data = data[key]
    keys = entries(data)
    tree = Tree(document, report)
    if "nodes" in keys:
        return list(tree.nodes(data[keys["nodes"]], (*path, keys["nodes"]), {}, parallel=False))
    if "storage" in keys:
        return list(tree.with_fanouts(tree.flat(data, keys, path)))
    return list(tree.with_fanouts(tree.subtree(data, path, {}, 1)))


@dataclass(frozen=True)
class Located:
    """A component of the older lists with its instances in the whole machine."""

    part: Part
    instances: int
    array: str | None


class Tree:
    """An architecture while it is walked."""

    def __init__(self, document: Document, report: Report) -> None:
        self.document = document
        self.report = report

    def nodes(
        self, nodes: Any, path: KeyPath, inherited: dict[str, Any], *, parallel: bool
    ) -> Iterator[Part]:
        """Yield the parts of version 0.4: a list of containers, components and lists of them."""
        if not isinstance(nodes, list):
            raise self.document.error(f"expected a list of nodes, found {describe(nodes)}", path)
        for i, node in enumerate(nodes):
            place = (*path, i)
            if not isinstance(node, dict):
                raise self.document.error(f"expected a node, found {describe(node)}", place)
            tag = self.document.tags.get(place, "")
            if "nodes" in node:
                beside = parallel or tag in PARALLEL
                yield from self.nodes(node["nodes"], (*place, "nodes"), inherited, parallel=beside)
                continue
            name = self.named(node, place)
            attributes = inherited | self.attributes(node, place)
            constraints = self.constraints(node, place)
            component = tag == "!Component" or (not tag and "class" in node)
            axes = self.mesh(node, place)
            if component and self.kind(node) == "":
                self.report.ignore(self.document, place, f"'{name}' is neither storage nor compute")
                continue
            if axes or not component:
                if parallel:
                    raise self.document.error(
                        f"'{name}': parallel nodes with fan-outs or parts of their own are no "
                        "chain of memories; parallel memories are accepted",
                        place,
                    )
                if axes:
                    array = f"inter_{name}_spatial" if component else name
                    spatial = {k: v for k, v in constraints.items() if k == "spatial"}
                    yield Part("array", array, axes, place, spatial)
                elif "spatial" in constraints:
                    self.report.ignore(
                        self.document, constraints["spatial"][1], "there is no fan-out here"
                    )
            if not component:
                inherited = attributes
                continue
            kind = self.kind(node)
            own = {k: v for k, v in constraints.items() if k != "spatial"}
            yield Part(kind, name, attributes, place, own, str(node.get("class", "")))

    def subtree(
        self, data: Any, path: KeyPath, inherited: dict[str, Any], instances: int,
        array: str | None = None,
    ) -> Iterator[Located]:  # fmt: skip
        """Yield the components of versions 0.2 and 0.3: local ones, then those of the subtree."""
        keys = entries(data)
        for i, item in enumerate(self.items(data, keys, "local", path)):
            place = (*path, keys["local"], i)
            name, times = self.ranged(item, place)
            kind = self.kind(item)
            if kind == "":
                self.report.ignore(self.document, place, f"'{name}' is neither storage nor compute")
                continue
            attributes = inherited | self.attributes(item, place)
            constraints = self.constraints(item, place)
            part = Part(kind, name, attributes, place, constraints, str(item.get("class", "")))
            yield Located(part, instances * times, array)
        below = self.items(data, keys, "subtree", path)
        if len(below) > 1:
            raise self.document.error(
                "several subtrees side by side are no chain of memories; one is accepted",
                (*path, keys["subtree"]),
            )
        for item in below:
            place = (*path, keys["subtree"], 0)
            name, times = self.ranged(item, place)
            yield from self.subtree(
                item, place, inherited | self.attributes(item, place), instances * times,
                name if times > 1 else array,
            )  # fmt: skip

    def flat(self, data: Any, keys: dict[str, str], path: KeyPath) -> Iterator[Located]:
        """Yield the components of a list of storages, innermost first, and the arithmetic."""
        storage = self.items(data, keys, "storage", path)
        found = []
        for i, item in enumerate(storage):
            place = (*path, keys["storage"], i)
            attributes = self.attributes(item, place) | {
                normal(k): v for k, v in item.items() if k != "attributes"
            }
            default = "DRAM" if i + 1 == len(storage) else ""
            found.append(
                Part("memory", self.named(item, place), attributes, place, {},
                     str(item.get("technology", default)))
            )  # fmt: skip
        found.reverse()
        if "arithmetic" not in keys or not isinstance(data[keys["arithmetic"]], dict):
            raise self.document.error("missing key 'arithmetic'", path)
        place = (*path, keys["arithmetic"])
        item = data[keys["arithmetic"]]
        attributes = {normal(k): v for k, v in item.items()}
        found.append(Part("compute", str(item.get("name", "MAC")), attributes, place, {}))
        for part in found:
            yield Located(part, self.count(part, "instances", 1), None)

    def with_fanouts(self, located: Iterator[Located]) -> Iterator[Part]:
        """Yield components with the arrays that their numbers of instances ask for."""
        instances, columns = 1, 1
        for each in located:
            part = each.part
            if each.instances % instances:
                raise self.document.error(
                    f"{each.instances} instances of '{part.name}' are no multiple of the "
                    f"{instances} above",
                    part.path,
                )
            times = each.instances // instances
            mesh = self.count(part, "meshX", each.instances)
            constraints = dict(part.constraints)
            if times > 1:
                across = mesh // columns if mesh % columns == 0 else 0
                if across == 0 or times % across:
                    raise self.document.error(
                        f"meshX of {mesh} does not divide {each.instances} instances into rows",
                        part.path,
                    )
                axes = {"X": across, "Y": times // across}
                axes = {axis: size for axis, size in axes.items() if size > 1}
                name = each.array or f"inter_{part.name}_spatial"
                yield Part("array", name, axes, part.path, {})
            instances, columns = each.instances, mesh
            yield Part(
                part.kind, part.name, part.attributes, part.path, constraints,
                part.component_class,
            )  # fmt: skip

    def count(self, part: Part, key: str, otherwise: int) -> int:
        """Return a whole number among the attributes."""
        value = part.attributes.get(key, otherwise)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.document.error(
                f"expected a whole number of at least 1 under '{key}', found {describe(value)}",
                part.path,
            )
        return value

    def items(self, data: Any, keys: dict[str, str], key: str, path: KeyPath) -> list[Any]:
        """Return a list of mappings; none where the key is missing."""
        if key not in keys:
            return []
        found = data[keys[key]]
        found = found if isinstance(found, list) else [found]
        for i, item in enumerate(found):
            if not isinstance(item, dict):
                place = (*path, keys[key], i)
                raise self.document.error(f"expected keys, found {describe(item)}", place)
        return found

    def named(self, node: dict[str, Any], place: KeyPath) -> str:
        """Return the name of a node."""
        name = node.get("name")
        if not isinstance(name, str):
            raise self.document.error(f"expected a 'name', found {describe(name)}", place)
        return name

    def ranged(self, node: dict[str, Any], place: KeyPath) -> tuple[str, int]:
        """Return the name of a node and its number of instances: ``PE[0..255]``."""
        name = self.named(node, place)
        match = RANGE.fullmatch(name.strip())
        if match is None:
            return name, 1
        times = int(match["last"]) - int(match["first"]) + 1
        if times < 1:
            raise self.document.error(f"'{name}' is an empty range", (*place, "name"))
        return match["name"], times

    def attributes(self, node: dict[str, Any], place: KeyPath) -> dict[str, Any]:
        """Return the attributes of a node, keys with underscores."""
        given = node.get("attributes") or {}
        if not isinstance(given, dict):
            raise self.document.error(
                f"expected attributes, found {describe(given)}", (*place, "attributes")
            )
        return {normal(key): value for key, value in given.items()}

    def constraints(self, node: dict[str, Any], place: KeyPath) -> dict[str, tuple[Any, KeyPath]]:
        """Return the constraints of a node by kind."""
        given = node.get("constraints") or {}
        if not isinstance(given, dict):
            raise self.document.error(
                f"expected constraints by kind, found {describe(given)}", (*place, "constraints")
            )
        found = {str(k): (v, (*place, "constraints", k)) for k, v in given.items()}
        for key in ("sparse_optimizations", "required_actions", "power_gated_at"):
            if key in node:
                why = "means nothing here"
                if key == "sparse_optimizations":
                    why = "counts are of dense data"
                note = self.report.open if key == "sparse_optimizations" else self.report.ignore
                note(self.document, (*place, key), why)
        return found

    def mesh(self, node: dict[str, Any], place: KeyPath) -> dict[str, Any]:
        """Return the axes of a fan-out that have more than one element."""
        given = node.get("spatial")
        if given is None:
            return {}
        path = (*place, "spatial")
        if not isinstance(given, dict):
            raise self.document.error(
                f"expected {{meshX: , meshY: }}, found {describe(given)}", path
            )
        axes = {}
        for key, axis in (("meshX", "X"), ("meshY", "Y")):
            size = given.get(key, 1)
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise self.document.error(
                    f"expected a whole number of at least 1, found {describe(size)}", (*path, key)
                )
            if size > 1:
                axes[axis] = size
        return axes

    def kind(self, node: dict[str, Any]) -> str:
        """Return what a component is by its class; nothing when neither stores nor computes."""
        words = f"{node.get('class', '')} {node.get('subclass', '')}".lower()
        if any(word in words for word in NETWORK):
            return ""
        if any(word in words for word in STORAGE):
            return "memory"
        return "compute" if any(word in words for word in COMPUTE) else ""
