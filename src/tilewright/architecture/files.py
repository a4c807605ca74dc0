"""Machines by name or from files."""

from __future__ import annotations

from pathlib import Path

from tilewright.architecture.machine import Architecture
from tilewright.architecture.reading import parse_architecture
from tilewright.architecture.writing import dump_architecture
from tilewright.document import load_named, shipped

__all__ = ["dump_architecture", "load_architecture", "parse_architecture", "preset_names"]

FOLDER = Path(__file__).parent / "presets"


def preset_names() -> list[str]:
    """Return the names of the machines that ship, sorted."""
    return shipped(FOLDER)


def load_architecture(name_or_path: str | Path) -> Architecture:
    """Return a machine that ships, or the one in a file.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a preset, such as ``"eyeriss"``, or path of a YAML or JSON file.

    Raises
    ------
    InputError
        When there is no such preset or file, or it is malformed.
    """
    return parse_architecture(load_named(name_or_path, FOLDER, "architecture"))
