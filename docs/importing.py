"""Writes real output into docs/importing.md: of commands, and the table of the models that ship.

Run it with `python docs/importing.py` after a change of what is imported; it needs onnx.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

from outputs import FILE, MARK, ROOT, TILEWRIGHT, run, shown

import tilewright as tw
from tilewright.frontends.configurations.configuration import configuration_names
from tilewright.workload import Block, Network, Node
from tilewright.workload.view import Shape

PAGE = ROOT / "docs" / "importing.md"
COMMANDS = {"show": f"{TILEWRIGHT} show model.onnx --bind batch=4"}
TABLE = re.compile(r"<!-- models -->\n(?:\n\|.*?\n(?!\|))?", re.DOTALL)
PUBLISHED_TABLE = re.compile(r"<!-- published -->\n(?:\n\|.*?\n(?!\|))?", re.DOTALL)
# what torchvision 0.21 prints as "GFLOPS" of its weights; the function that makes the graph in
# tests/generators/frontends/onnx_models.py; the network or configuration that ships
PUBLISHED = (
    ("AlexNet", "0.71", "alexnet", "alexnet"),
    ("VGG-16", "15.47", "vgg16", "vgg16"),
    ("ResNet-50", "4.09", "resnet50", "resnet50"),
    ("ResNeXt-50 32x4d", "4.23", None, "resnext50_32x4d"),
    ("MobileNetV2", "0.30", "mobilenet_v2", "mobilenet_v2"),
    ("EfficientNet-B0", "0.39", "efficientnet_b0", None),
    ("ViT-B/16", "17.56", "vit_b16", "hf:vit-base-16"),
)
WHOLE = {"bert-base": 512, "vit-base-16": 197}
BYTES = 2


def main() -> None:
    """Write outputs and the table into the page."""
    text = PAGE.read_text()
    with tempfile.TemporaryDirectory() as folder:
        for file in FILE.finditer(text):
            (Path(folder) / file["name"]).write_text(file["text"])
            subprocess.run([sys.executable, file["name"]], cwd=folder, check=True)
        outputs = {name: run(command, folder) for name, command in COMMANDS.items()}
    text = MARK.sub(lambda mark: shown(mark, outputs), text)
    text = PUBLISHED_TABLE.sub(lambda _: f"<!-- published -->\n\n{published()}\n", text)
    PAGE.write_text(TABLE.sub(lambda _: f"<!-- models -->\n\n{table()}\n", text))


def published() -> str:
    """Return the table of published operation counts beside those of graphs and networks."""
    sys.path.insert(0, str(ROOT / "tests" / "generators"))
    models = import_module("onnx_models")
    rows = ["| network | published | from an ONNX graph | shipped | |"]
    rows.append("| --- | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for title, number, graph, name in PUBLISHED:
            counts = ["", ""]
            if graph is not None:
                model = getattr(models, graph)()
                file = model.save(Path(folder) / "model.onnx")
                symbolic = any(isinstance(d, str) for d in dimensions(model))
                bind = {"batch": 1} if symbolic else None
                counts[0] = f"{macs(tw.load_workload(file, bind=bind)) / 1e9:.4f} G"
            if name is not None:
                counts[1] = f"{macs(tw.load_workload(name)) / 1e9:.4f} G"
            cells = (title, f"{number} G", *counts, f"`{name}`" if name else "")
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def dimensions(model: Any) -> list[int | str]:
    """Return the sizes of the inputs of a model, names where they are symbolic."""
    shapes = [info.type.tensor_type.shape.dim for info in model.inputs]
    return [d.dim_param or d.dim_value for shape in shapes for d in shape]


def macs(network: Network) -> int:
    """Return the multiply-accumulates of a network."""
    return sum(x.operations * x.repeat for x in network.layers if x.operation == "mac")


def table() -> str:
    """Return the table of the models that ship."""
    rows = ["| model | parameters | operations per token | bytes per token | kept per token |"]
    rows.append("| --- | ---: | ---: | ---: | ---: |")
    for name in configuration_names():
        whole = tw.load_workload(f"hf:{name}")
        assert whole.graph is not None
        tokens = WHOLE.get(name, 1)
        step = whole if tokens > 1 else tw.load_workload(f"hf:{name}", phase="decode")
        weights, kept, per_token = parse_arguments(step)
        cells = (
            f"{whole.graph.parameters:,}",
            f"{macs(step) / tokens / 1e9:,.3f} G",
            f"{BYTES * (weights + kept) / tokens / 1e6:,.1f} MB",
            f"{BYTES * per_token / 1e3:,.1f} kB" if per_token else "",
        )
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def parse_arguments(network: Network) -> tuple[int, int, int]:
    """Return the words of weights and of state that are read, and of state per earlier token."""
    graph = network.graph
    assert graph is not None
    outside = graph.shapes()
    weights = part_words([n for n in graph.nodes if isinstance(n, Node)], graph.weights, outside)
    state = per_token = 0
    for block in graph.nodes:
        if isinstance(block, Block):
            inside = {**outside, **block.weights, **block.state}
            inside |= {name: view.shape(outside) for name, view in block.inputs.items()}
            for node in block.nodes:
                inside |= node.outputs
            nodes = list(block.nodes)
            weights += block.repeat * part_words(nodes, block.weights, inside)
            state += block.repeat * sum(map(prod, block.state.values()))
            past = [shape for name, shape in block.state.items() if name.startswith("past")]
            per_token += block.repeat * sum(prod(shape) // shape[1] for shape in past)
    return weights, state, per_token


def part_words(nodes: list[Node], own: dict[str, Shape], shapes: dict[str, Shape]) -> int:
    """Return the words of tensors that nodes read, each tensor once, as far as they read it."""
    words: dict[str, int] = {}
    for node in nodes:
        made = sum(map(prod, node.outputs.values()))
        for view in node.inputs.values():
            seen = prod(view.shape(shapes))
            seen = min(seen, made) if node.layer is None else seen
            for name in view.tensors():
                if name in own:
                    words[name] = words.get(name, 0) + min(seen, prod(own[name]))
    return sum(min(count, prod(own[name])) for name, count in words.items())


if __name__ == "__main__":
    main()
