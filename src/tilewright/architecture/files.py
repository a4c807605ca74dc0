"""Machines by name or from files."""

from __future__ import annotations

from pathlib import Path

from tilewright.architecture.machine import Architecture
from tilewright.architecture.reading import parse_architecture
from tilewright.architecture.writing import dump_architecture
from tilewright.document import is_path, load
from tilewright.errors import InputError, nearest

__all__ = ["dump_architecture", "load_architecture", "parse_architecture", "preset_names"]

FOLDER = Path(__file__).parent / "presets"


def preset_names() -> list[str]:
    """Return the names of the machines that ship, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


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
    names = preset_names()
    if str(name_or_path) in names:
        return parse_architecture(load(FOLDER / f"{name_or_path}.yaml"))
    if is_path(name_or_path):
        return parse_architecture(load(name_or_path))
    raise InputError(
        f"no architecture '{name_or_path}'; accepted: the path of a file (*.yaml), "
        f"or one of {', '.join(names)}{nearest(str(name_or_path), names)}"
    )
