"""Runs the commands that the pages show and puts their real output into the pages.

Run it with `python docs/outputs.py` after a change of what the commands print.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "index.md")
TILEWRIGHT = f"{sys.executable} -m tilewright"
MAP = f"{TILEWRIGHT} map resnet50 eyeriss --objective edp -o mappings.yaml"
COMMANDS = {
    "map": MAP,
    "evaluate layer": f"{TILEWRIGHT} evaluate resnet50 eyeriss mappings.yaml --layer conv4_2.3x3",
    "evaluate": f"{TILEWRIGHT} evaluate layer.yaml machine.yaml mapping.yaml",
    "python": f"{sys.executable} example.py",
}
MARK = re.compile(r"<!-- output: (?P<name>[^>]+?) -->\n(?:\n```text\n.*?\n```\n)?", re.DOTALL)
FILE = re.compile(r'```(?:yaml|python) title="(?P<name>[^"]+)"\n(?P<text>.*?)```', re.DOTALL)


def main() -> None:
    """Write the outputs into the pages."""
    with tempfile.TemporaryDirectory() as folder:
        index = (ROOT / "docs" / "index.md").read_text()
        for file in FILE.finditer(index):
            (Path(folder) / file["name"]).write_text(file["text"])
        python = re.search(r"## Python\n\n```python\n(.*?)```", PAGES[0].read_text(), re.DOTALL)
        assert python is not None
        (Path(folder) / "example.py").write_text(python[1])
        outputs = {name: run(command, folder) for name, command in COMMANDS.items()}
    for page in PAGES:
        text = MARK.sub(
            lambda mark: f"{mark[0].splitlines()[0]}\n\n```text\n{outputs[mark['name']]}\n```\n",
            page.read_text(),
        )
        page.write_text(text)


def run(command: str, folder: str) -> str:
    """Return what a command prints."""
    done = subprocess.run(
        command.split(),
        # what the pages show is searched, not looked up
        env=os.environ | {"TILEWRIGHT_CACHE": "off"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


if __name__ == "__main__":
    main()
