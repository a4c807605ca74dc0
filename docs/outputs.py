"""Runs the commands that the pages show and puts their real output into the pages.

Run it with `python docs/outputs.py` after a change of what the commands print; with names of
outputs it makes these anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "docs" / "tutorial.md",
    ROOT / "docs" / "tradeoffs.md",
    ROOT / "docs" / "explain.md", ROOT / "docs" / "directives.md", ROOT / "docs" / "statistics.md",
    ROOT / "docs" / "layouts.md", ROOT / "docs" / "offchip.md",
    ROOT / "docs" / "fusion.md", ROOT / "docs" / "dmazerunner.md",
    ROOT / "docs" / "reproductions" / "dmazerunner.md",
)  # fmt: skip
REPRODUCE = ROOT / "reproduce"
TILEWRIGHT = f"{sys.executable} -m tilewright"
MAP = f"{TILEWRIGHT} map resnet50 eyeriss --objective edp -o mappings.yaml"
LAYER = f"{TILEWRIGHT} map resnet50 eyeriss --layer conv4_2.reduce"
FRONTIER = f"{TILEWRIGHT} frontier resnet50 eyeriss --layer conv4_2.reduce --over GLB"
COMMANDS = {
    "map": MAP,
    "evaluate layer": f"{TILEWRIGHT} evaluate resnet50 eyeriss mappings.yaml --layer conv4_2.3x3",
    "evaluate": f"{TILEWRIGHT} evaluate layer.yaml machine.yaml mapping.yaml",
    "limit": f"{LAYER} --objective latency,energy<=1e8",
    "pareto": f"{LAYER} --pareto",
    "network pareto": f"{TILEWRIGHT} map alexnet eyeriss --pareto",
    "uniform": f"{TILEWRIGHT} map alexnet marvel-p1 --uniform dataflow --within 10%",
    "frontier": FRONTIER,
    "traffic": f"{FRONTIER} --traffic DRAM",
    "off-chip": f"{TILEWRIGHT} traffic vgg16 --layer conv5_1",
    "explain": f"{TILEWRIGHT} explain alexnet eyeriss --layer conv3",
    "style": f"{TILEWRIGHT} evaluate resnet50 maestro-256 kc-p --layer conv4_2.3x3",
    "convert": f"{TILEWRIGHT} convert resnet50 maestro-256 yr-p --layer conv4_2.3x3",
    "refused": f"{TILEWRIGHT} convert layer.yaml machine.yaml mapping.yaml",
    "fused": f"{TILEWRIGHT} evaluate bert_base tpu-v1 fused.yaml",
    "pipeline": f"{TILEWRIGHT} evaluate ffn.yaml split.yaml pipeline.yaml",
    "fused frontier": f"{TILEWRIGHT} frontier ffn.yaml split.yaml --over GLB --traffic DRAM --fuse",
    "fuse": f"{TILEWRIGHT} map bert_base tpu-v1 --fuse --no-cache",
    "fused pareto": f"{TILEWRIGHT} map bert_base eyeriss --fuse --pareto",
    "explain fused": f"{TILEWRIGHT} explain bert_base eyeriss --fuse",
    "fused variants": f"{sys.executable} attention.py",
    "statistics": f"{TILEWRIGHT} evaluate resnet50 maestro-256 kc-p --layer conv4_2.3x3 "
    "--statistics",
    "python": f"{sys.executable} example.py",
    "layout": f"{TILEWRIGHT} layout alexnet marvel-p1 --uniform",
    "decoupled": f"{TILEWRIGHT} map alexnet marvel-p1 --strategy decoupled -o decoupled.yaml",
    "blocks": f"{TILEWRIGHT} evaluate alexnet marvel-p1 decoupled.yaml --layer conv3 --layout best",
    "mapped in blocks": f"{TILEWRIGHT} map resnet50 marvel-p1 --layer conv5_1.expand --layout best",
    "tutorial machine": f"{TILEWRIGHT} show edge.yaml",
    "tutorial map": f"{TILEWRIGHT} map conv.yaml edge.yaml --tiles divisors",
    "tutorial explain": f"{TILEWRIGHT} explain conv.yaml edge.yaml",
    "tutorial frontier": f"{TILEWRIGHT} frontier conv.yaml edge.yaml --over SRAM",
    "tutorial variants": f"{sys.executable} variants.py",
    "dmazerunner methods": f"{TILEWRIGHT} methods {REPRODUCE}/dmazerunner.yaml dmazerunner-256"
    " --best edp",
} | {
    f"dmazerunner {name}": f"{sys.executable} {REPRODUCE}/dmazerunner.py {name}"
    for name in (
        "counts", "heuristics", "optima", "mechanisms", "pairs", "energy", "memories", "examples",
        "own", "pipelined",
    )
}  # fmt: skip
# outputs of which a page shows the beginning and the end: rows of layers that it shows
SHORT = {"map short": ("map", 6)}
MARK = re.compile(r"<!-- output: (?P<name>[^>]+?) -->\n(?:\n```text\n.*?\n```\n)?", re.DOTALL)
FILE = re.compile(r'```(?:yaml|python) title="(?P<name>[^"]+)"\n(?P<text>.*?)```', re.DOTALL)


def main() -> None:
    """Write the outputs into the pages."""
    with tempfile.TemporaryDirectory() as folder:
        for page in ("index.md", "tutorial.md", "fusion.md"):
            for file in FILE.finditer((ROOT / "docs" / page).read_text()):
                (Path(folder) / file["name"]).write_text(file["text"])
        python = re.search(r"## Python\n\n```python\n(.*?)```", PAGES[0].read_text(), re.DOTALL)
        assert python is not None
        (Path(folder) / "example.py").write_text(python[1])
        wanted = sys.argv[1:] or COMMANDS
        full = dict.fromkeys(SHORT[name][0] if name in SHORT else name for name in wanted)
        outputs = {name: run(COMMANDS[name], folder) for name in full}
    outputs |= {
        name: shortened(outputs[of], rows) for name, (of, rows) in SHORT.items() if of in outputs
    }
    for page in PAGES:
        page.write_text(MARK.sub(lambda mark: shown(mark, outputs), page.read_text()))


def shown(mark: re.Match[str], outputs: dict[str, str]) -> str:
    """Return a mark with its output, or as it is when that was not made anew."""
    if mark["name"] not in outputs:
        return mark[0]
    return f"{mark[0].splitlines()[0]}\n\n```text\n{outputs[mark['name']]}\n```\n"


def shortened(text: str, rows: int) -> str:
    """Return a table with its first rows, its last one and what follows."""
    lines = text.splitlines()
    rule = next(i for i, line in enumerate(lines) if "──" in line)
    end = lines.index("", rule)
    left = end - rule - 1 - rows
    return "\n".join([*lines[: rule + 1 + rows], f" ... ({left} more layers)", *lines[end:]])


def run(command: str, folder: str) -> str:
    """Return what a command prints."""
    done = subprocess.run(
        command.split(),
        check=False,
        # what the pages show is searched, not looked up
        env=os.environ | {"TILEWRIGHT_CACHE": "off", "COLUMNS": "84"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert "Traceback" not in done.stderr, f"{command}\n{done.stderr}"
    # a message that stands alone is what a page wants to show
    text = done.stdout.strip("\n").rstrip() or done.stderr.strip()
    assert text, command
    return "\n".join(line.rstrip() for line in text.splitlines())


if __name__ == "__main__":
    main()
