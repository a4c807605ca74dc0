"""Dataflows that ship: sets of constraints with a name."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tilewright.architecture.constraints.constraint import Constraints
from tilewright.architecture.constraints.files import Check, parse_constraints
from tilewright.document import load_shipped
from tilewright.errors import InputError, nearest

FOLDER = Path(__file__).parents[1] / "dataflows"


@cache
def dataflow_files() -> dict[str, Path]:
    """Return the file of each dataflow, by all its names."""
    files = {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}
    other = {
        name: path for path in files.values() for name in parse_constraints(load_shipped(path)).also
    }
    return files | other


def dataflow_names() -> list[str]:
    """Return the names of the dataflows that ship, sorted."""
    return sorted(dataflow_files())


def load_dataflow(name: str, check: Check | None = None) -> Constraints:
    """Return a dataflow that ships.

    Parameters
    ----------
    name : str
        Its name, such as ``"row-stationary"``.
    check : callable, optional
        See `parse_constraints`.

    Raises
    ------
    InputError
        When there is no such dataflow.
    """
    names = dataflow_names()
    if name not in names:
        raise InputError(
            f"no dataflow '{name}'; accepted: {', '.join(names)}{nearest(name, names)}",
            key="dataflow",
        )
    return parse_constraints(load_shipped(dataflow_files()[name]), check)
