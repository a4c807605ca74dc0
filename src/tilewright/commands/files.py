"""Files that commands write: checked before the work, replaced in one step after it."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.errors import InputError

STANDARD_OUTPUT = "-"


class ReaderGoneError(Exception):
    """Whoever read the standard output has closed it, as ``head`` does."""


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str] = ()) -> None:
    """Refuse files that could not be written in the end.

    Parameters
    ----------
    outputs : mapping of option to path or None
        Where the options of a command ask to write; ``-`` is the standard output of ``--json``.
    inputs : sequence of str
        What the command reads: names or paths, which must not be overwritten.

    Raises
    ------
    InputError
        Naming the option and the path.
    """
    taken = {Path(name).resolve(): f"'{name}', which is read" for name in inputs}
    for option, name in outputs.items():
        if name is None or (name == STANDARD_OUTPUT and option == "--json"):
            continue
        path = Path(name)
        if not name or name == STANDARD_OUTPUT:
            raise InputError(
                "expected the path of a file; only --json may write to the standard output",
                key=option,
            )
        if path.is_dir():
            raise InputError(f"'{name}' is a directory; the path of a file is accepted", key=option)
        if not path.parent.is_dir():
            raise InputError(
                f"'{name}' cannot be written: there is no directory '{path.parent}'", key=option
            )
        place = path.resolve()
        if not os.access(path if place.exists() else place.parent, os.W_OK):
            raise InputError(f"'{name}' cannot be written: permission denied", key=option)
        if place in taken and (not place.exists() or place.is_file()):
            raise InputError(f"'{name}' would overwrite {taken[place]}", key=option)
        taken[place] = f"what {option} writes"


def write_file(name: str, text: str) -> None:
    """Write a file in one step: whoever reads it sees the old text or the new, never a part.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    path = Path(name).resolve()
    try:
        if path.exists() and not path.is_file():
            # a device or a pipe is written to, not replaced
            path.write_text(text, encoding="utf-8")
        else:
            replace_file(path, text)
    except OSError as failure:
        raise InputError(f"cannot be written: {failure.strerror}", source=name) from None


def replace_file(path: Path, text: str) -> None:
    """Put a complete file in the place of the one at `path`."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:50]}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, stat.S_IMODE(path.stat().st_mode) if path.exists() else new_mode())
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def new_mode() -> int:
    """Return the permissions of a new file."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_out(text: str) -> None:
    """Write to the standard output, all of it.

    Raises
    ------
    ReaderGoneError
        When nobody reads it any more.
    InputError
        When it cannot be written.
    """
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as failure:
        message = f"cannot be written: {failure.strerror}"
        raise InputError(message, source="standard output") from None
