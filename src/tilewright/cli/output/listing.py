"""What ships, as the rows of tables.

To read all files takes most of a second. Rows are kept ready with a digest of the files that they
are made of; ``python -m tilewright.cli.output.listing`` makes them anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from tilewright.cli.output.rendering import rendered, table

ROOT = Path(__file__).parents[2]
READY = Path(__file__).with_name("listing.json")
FOLDERS = {
    "workloads": "workload/zoo",
    "architectures": "architecture/presets",
    "dataflows": "architecture/dataflows",
    "styles": "interop/maestro/styles",
}
HEADERS = {
    "workloads": ("workload", "layers", "operations"),
    "architectures": ("architecture", "levels"),
    "dataflows": ("dataflow", "constraints"),
    "styles": ("style", "spatial directives"),
}
RIGHT = ("layers", "operations")

Row = tuple[str, ...]


def lists(kinds: Sequence[str]) -> str:
    """Return the tables of what ships, of some kinds."""
    ready = json.loads(READY.read_text(encoding="utf-8"))
    parts = []
    for kind in kinds:
        kept = ready[kind]
        fresh = kept["digest"] == digest(kind)
        rows = kept["rows"] if fresh else list(rows_of(kind))
        left = [name for name in HEADERS[kind] if name not in RIGHT]
        parts.append(table(HEADERS[kind], rows, left=left))
    return rendered(*parts)


def digest(kind: str) -> str:
    """Return a digest of the files of a kind."""
    state = blake2b(digest_size=16)
    for path in sorted((ROOT / FOLDERS[kind]).iterdir()):
        if path.is_file():
            state.update(path.name.encode() + b"\0" + path.read_bytes())
    return state.hexdigest()


def rows_of(kind: str) -> Iterator[Row]:
    """Yield the rows of a kind, from its files."""
    from tilewright.architecture.constraints.dataflow import dataflow_names, load_dataflow
    from tilewright.architecture.description import chain
    from tilewright.architecture.files import load_architecture, preset_names
    from tilewright.cli.output.tables import spread
    from tilewright.interop.maestro.styles import load_style, style_names
    from tilewright.workload.network import load_network, zoo_names

    if kind == "workloads":
        for network in map(load_network, zoo_names()):
            count = sum(layer.repeat for layer in network.layers)
            yield network.name, str(count), f"{network.operations:,}"
    elif kind == "architectures":
        for machine in map(load_architecture, preset_names()):
            yield machine.name, chain(machine)
    elif kind == "dataflows":
        for flow in dict.fromkeys(map(load_dataflow, dataflow_names())):
            yield ", ".join((flow.name, *flow.also)), str(flow)
    else:
        for style in map(load_style, style_names()):
            yield style.name, spread(style)


def prepared() -> str:
    """Return the text of the file of rows."""
    kinds = {k: {"digest": digest(k), "rows": [list(row) for row in rows_of(k)]} for k in FOLDERS}
    return json.dumps(kinds, indent=1) + "\n"


if __name__ == "__main__":
    READY.write_text(prepared(), encoding="utf-8")
