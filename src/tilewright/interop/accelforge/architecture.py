"""AccelForge's architectures as machines: one hierarchy of memories, fan-outs and a compute unit.

Energies are in J per action of so many bits, sizes in bits, latencies in s per action.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.architecture.reading import parse_architecture
from tilewright.document import Document, KeyPath, describe
from tilewright.errors import InputError
from tilewright.interop.accelforge.arithmetic import number

WORD = 8  # bits: costs are proportional, so that any word gives the same
CLOCK = 1e9
ROLES = {"input": "I", "weight": "W", "output": "O"}
SETS = {
    "All": {"I", "W", "O"}, "Nothing": set(), "Inputs": {"I", "W"}, "Outputs": {"O"},
    **{name: {role} for name, role in ROLES.items()},
}  # fmt: skip
# dimensions along which a tensor is the same for all elements: those of the other two
REUSED = {"input": "W&O", "output": "I&W", "weight": "I&O"}
NAME = re.compile(r"[A-Za-z_]\w*")
ONE_VALUE = re.compile(r"\w+\.bits_per_value( if .*)?")
KINDS = ("!Memory", "!Fanout", "!Container", "!Compute", "!Toll", "!Hierarchical")
APART = "max(read_latency, write_latency)"
RATE = re.compile(r"\s*compute_actions\s*/\s*(.+)")
# what AccelForge asks its component models for comes from a table, of the same node if there is one
TABLES = {nm: f"cacti7-{nm}nm" for nm in (22, 32, 45, 65, 90)}
USUAL = 45


def is_architecture(document: Document) -> bool:
    """Whether a file has an architecture of AccelForge: its labels say so."""
    data = document.data
    found = data.get("arch") if isinstance(data, dict) else None
    labels = {"!Memory", "!Compute"}
    return isinstance(found, dict) and bool(labels & set(document.tags.values()))


def read_architecture(document: Document) -> Architecture:
    """Return the machine of an architecture.

    Raises
    ------
    InputError
        With the line of the first thing that is wrong or is no chain.
    """
    return Reader(document).machine()


class Reader:
    """An architecture while it is read."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.notes: list[str] = []
        self.levels: list[dict[str, Any]] = []
        self.constraints: list[dict[str, Any]] = []
        self.modelled: list[str] = []
        self.table = TABLES[self.node()]

    def machine(self) -> Architecture:
        """Return the machine."""
        nodes = list(self.nodes(("arch",)))
        compute = self.chosen_compute(nodes)
        clock = self.clock(compute)
        for kind, path, node in nodes:
            if kind == "!Compute" and node is not compute:
                continue
            self.fan_out(path, node)
            if kind == "!Memory":
                self.levels.append(self.memory(path, node, clock))
            elif kind == "!Toll":
                self.notes.append(f"{self.name(path, node)} (a toll) costs nothing here")
        if not self.levels or "memory" not in self.levels[0]:
            raise self.document.error("the outermost node must be a memory", ("arch", "nodes"))
        # whatever its size, everything comes from there
        self.levels[0].pop("size", None)
        self.levels[0].pop("must_keep", None)
        self.levels[0].pop("keep", None)
        unit: dict[str, Any] = {"compute": str(compute.get("name", "MAC")), "word": f"{WORD} bits"}
        if self.priced(compute, ("compute",)):
            unit["energy"] = self.action(nodes[-1][1], compute, "compute")[0]
        else:
            unit["technology"] = self.table
        self.levels.append(unit)
        if self.modelled:
            self.notes.append(
                f"{', '.join(self.modelled)}: energies of {self.table}, not of AccelForge's models"
            )
        source = self.document.source
        data = {
            "name": Path(source).name.split(".")[0],
            "clock": f"{clock / 1e6:.12g} MHz",
            "source": f"AccelForge architecture {source}",
            "levels": self.levels,
            "constraints": self.constraints,
        }
        try:
            machine = parse_architecture(Document(data, source))
        except InputError as failure:
            raise self.document.error(failure.message, ("arch", "nodes")) from None
        return replace(machine, notes=(*machine.notes, *self.notes))

    def nodes(self, path: KeyPath) -> Iterator[tuple[str, KeyPath, Mapping[str, Any]]]:
        """Yield kind, place and keys of the nodes, those of nested hierarchies in their place."""
        data: Any = self.document.data
        for key in path:
            data = data[key]
        items = data.get("nodes") if isinstance(data, dict) else None
        if not isinstance(items, list):
            raise self.document.error(f"expected a list of nodes, found {describe(items)}", path)
        for i, node in enumerate(items):
            place = (*path, "nodes", i)
            kind = self.document.tags.get(place, "")
            if not isinstance(node, dict):
                raise self.document.error(f"expected a node, found {describe(node)}", place)
            if kind not in KINDS:
                raise self.document.error(
                    f"'{kind or 'a node without a label'}' is not understood: a machine is one "
                    f"chain of {', '.join(KINDS)}", place,
                )  # fmt: skip
            if kind == "!Hierarchical":
                yield from self.nodes(place)
            else:
                yield kind, place, node

    def name(self, path: KeyPath, node: Mapping[str, Any]) -> str:
        """Return the name of a node."""
        given = node.get("name")
        if not isinstance(given, str) or not NAME.fullmatch(given):
            raise self.document.error(f"expected a name, found {describe(given)}", path)
        return given

    def node(self) -> int:
        """Return the node in nm, of those that there are tables for; 45 where it is another."""
        models = self.document.data["arch"].get("extra_attributes_for_all_component_models")
        size = number(models.get("tech_node")) if isinstance(models, dict) else None
        nm = round(size * 1e9) if size is not None and 0 < size < 1 else USUAL
        return nm if nm in TABLES else USUAL

    def priced(self, node: Mapping[str, Any], names: tuple[str, ...]) -> bool:
        """Whether a node says the energy of some action; otherwise it is one of a model."""
        given = node.get("actions")
        items = given if isinstance(given, list) else []
        found = [x for x in items if isinstance(x, dict) and x.get("name") in names]
        if any(x.get("energy") is not None for x in found):
            return True
        self.modelled.append(str(node.get("name")))
        return False

    def chosen_compute(
        self, nodes: list[tuple[str, KeyPath, Mapping[str, Any]]]
    ) -> Mapping[str, Any]:
        """Return the last compute unit: layers have one."""
        units = [node for kind, _, node in nodes if kind == "!Compute"]
        if not units:
            raise self.document.error("has no !Compute", ("arch", "nodes"))
        for other in units[:-1]:
            self.notes.append(f"{other.get('name')} is left out: operations run on the last unit")
        return units[-1]

    def clock(self, compute: Mapping[str, Any]) -> float:
        """Return the operations per second of a compute unit, as the clock."""
        for action in compute.get("actions") or []:
            if isinstance(action, dict) and action.get("name") == "compute":
                latency, rate = number(action.get("latency")), number(action.get("throughput"))
                if latency and 1e-15 < latency < 1e3:
                    return 1 / latency
                if rate and 1e3 <= rate < 1e15:
                    return rate
        match = RATE.fullmatch(str(compute.get("total_latency", "")))
        rate = number(match[1]) if match else None
        if rate and 1e3 <= rate < 1e15:
            return rate
        self.notes.append("no latency of the compute unit is known: one operation per ns")
        return CLOCK

    def action(self, path: KeyPath, node: Mapping[str, Any], name: str) -> tuple[float, float]:
        """Return pJ and s of a word of an action (of the action itself for ``compute``)."""
        given = node.get("actions")
        items = given if isinstance(given, list) else []
        found = [x for x in items if isinstance(x, dict) and x.get("name") == name]
        if not found or found[0].get("energy") is None:
            self.notes.append(f"no energy to {name} {node.get('name')} is known: taken as 0")
            if not found:
                return 0.0, 0.0
        values = {}
        for key, default in (("energy", 0.0), ("latency", 0.0), ("throughput", inf),
                             ("bits_per_action", 1.0)):  # fmt: skip
            value = number(found[0].get(key, default))
            if value is None or value < 0:
                raise self.document.error(
                    f"expected a number or arithmetic for '{key}' of '{name}', "
                    f"found {describe(found[0].get(key))}", (*path, "actions"),
                )  # fmt: skip
            values[key] = value
        if not 0 < values["bits_per_action"] <= 2**20:
            raise self.document.error("expected bits_per_action from 1 to 2^20", (*path, "actions"))
        times = 1.0 if name == "compute" else WORD / values["bits_per_action"]
        each = values["latency"] or (1 / values["throughput"] if values["throughput"] else 0.0)
        return min(values["energy"] * 1e12, 1e50) * times, each * times

    def memory(self, path: KeyPath, node: Mapping[str, Any], clock: float) -> dict[str, Any]:
        """Return a memory as a level."""
        name = self.name(path, node)
        level: dict[str, Any] = {"memory": name, "word": f"{WORD} bits"}
        given = node.get("size", inf)
        size = number(given)
        if isinstance(given, str) and ONE_VALUE.fullmatch(given.strip()):
            size = WORD
            self.notes.append(f"{name} has {given!r}: taken as {WORD} bits")
        if size is None or size < 1:
            raise self.document.error(
                f"expected bits or arithmetic, found {describe(given)}", (*path, "size")
            )
        if size < 1e18:
            level["size"] = f"{int(size)} bits"
        keep, may = self.kept(path, node, "keep"), self.kept(path, node, "may_keep")
        if keep | may:
            level["keep"] = sorted(keep | may)
        if keep:
            level["must_keep"] = sorted(keep)
        known = len(self.notes)
        (read, reading), (write, writing) = (
            self.action(path, node, action) for action in ("read", "write")
        )
        if ("size" in level or not self.levels) and not self.priced(node, ("read", "write")):
            del self.notes[known:]
            level["technology"] = self.table
        else:
            level["energy"] = {"read": read, "write": write}
        total = str(node.get("total_latency", "")).strip()
        if total and total != APART:
            self.notes.append(f"{name}: total_latency '{total[:60]}' is not read")
        elif reading or writing:
            apart = total == APART or reading != writing
            if apart and not total:
                self.notes.append(f"{name}: reads and writes do not wait for each other here")
            rates = [1 / (each * clock) if each else None for each in (reading, writing)]
            if not apart:
                level["bandwidth"] = {"shared": rates[0]}
            else:
                pairs = zip(("read", "write"), rates, strict=True)
                level["bandwidth"] = {key: rate for key, rate in pairs if rate is not None}
        return level

    def kept(self, path: KeyPath, node: Mapping[str, Any], key: str) -> set[str]:
        """Return the roles of the tensors that ``keep`` or ``may_keep`` names."""
        tensors = node.get("tensors")
        if tensors is None:
            return set()
        if not isinstance(tensors, dict):
            raise self.document.error(f"expected keys, found {describe(tensors)}",
                                      (*path, "tensors"))  # fmt: skip
        text = str(tensors.get(key, "Nothing")).strip()
        if text.startswith("~"):
            # what the memories above do not keep, or what fused einsums hand on: nothing has to be
            inner = text[1:].strip("() ")
            return SETS["All"] - SETS[inner] if inner in SETS else set()
        found: set[str] = set()
        for part in re.split(r"[|]", text):
            name = part.strip("() ")
            if name not in SETS:
                self.notes.append(f"{node.get('name')}: '{key}: {text[:60]}' is not read")
                return set()
            found |= SETS[name]
        return found

    def fan_out(self, path: KeyPath, node: Mapping[str, Any]) -> None:
        """Add the array that a node's ``spatial`` stands for, with what its axes reuse."""
        given = node.get("spatial")
        if not given:
            return
        array = f"{self.name(path, node)}_array"
        axes, alone = {}, []
        for i, axis in enumerate(given if isinstance(given, list) else [given]):
            place = (*path, "spatial", i)
            size = number(axis.get("fanout")) if isinstance(axis, dict) else None
            if not isinstance(axis, dict) or size is None or not 1 <= size <= 2**20 or size % 1:
                raise self.document.error("expected a name and a whole fanout", place)
            name = axis.get("name")
            if not isinstance(name, str) or not NAME.fullmatch(name) or name in axes:
                raise self.document.error(f"expected a name, found {describe(name)}", place)
            axes[name] = int(size)
            reuse = axis.get("reuse")
            if isinstance(reuse, str) and reuse in REUSED:
                item = {"at": array, "axis": name, "dims": [REUSED[reuse]]}
                self.constraints.append(item)
            if axis.get("may_reuse") == "Nothing":
                alone.append(name)
        network = {"multicast": not alone, "reduction": not alone, "energy": 0}
        if alone and len(alone) < len(axes):
            self.notes.append(f"{array}: no axis shares words, as {', '.join(alone)} may not")
        self.levels.append({"array": array, "axes": axes, "network": network})
