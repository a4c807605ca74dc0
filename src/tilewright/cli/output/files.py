"""Files that commands write: checked before the work, replaced in one step after it."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from tilewright.errors import InputError, ReaderGoneError

STANDARD_OUTPUT = "-"


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
    taken = {os.path.realpath(name): f"'{name}', which is read" for name in inputs if name}
    for option, name in outputs.items():
        if name is None or (name == STANDARD_OUTPUT and option == "--json"):
            continue
        if not name or name == STANDARD_OUTPUT:
            raise InputError(
                "expected the path of a file; only --json may write to the standard output",
                key=option,
            )
        if os.path.isdir(name):
            raise InputError(f"'{name}' is a directory; the path of a file is accepted", key=option)
        place = os.path.realpath(name)
        if why := why_not_written(name, place):
            raise InputError(f"'{name}' cannot be written: {why}", key=option)
        if place in taken and (not os.path.exists(place) or os.path.isfile(place)):
            raise InputError(f"'{name}' would overwrite {taken[place]}", key=option)
        taken[place] = f"what {option} writes"


def why_not_written(name: str, place: str) -> str | None:
    """Return why no file can be written under a name, which means a path without links, or None."""
    if os.path.islink(place):
        return "it is one of the links that lead to each other"
    folder = os.path.dirname(place)
    try:
        os.lstat(place)
    except FileNotFoundError:
        if not os.path.isdir(folder):
            return f"there is no directory '{os.path.dirname(name) or folder}'"
        place = folder
    except OSError as failure:
        return f"{failure.strerror}".lower()
    return None if os.access(place, os.W_OK) else "permission denied"


def write_file(name: str, text: str | bytes) -> None:
    """Write a file in one step: whoever reads it sees the old text or the new, never a part.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    path = Path(os.path.realpath(name))
    try:
        if path.exists() and not path.is_file():
            # a device or a pipe is written to, not replaced
            path.write_bytes(as_bytes(text))
        else:
            replace_file(path, text)
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as failure:
        raise InputError(f"cannot be written: {failure.strerror}", source=name) from None


def write_folder(
    option: str, folder: str, files: Mapping[str, str | bytes], inputs: Sequence[str] = ()
) -> list[str]:
    """Write files into a directory, which is made when it is not there; return their paths.

    Raises
    ------
    InputError
        When it cannot be made, or a file cannot be written or is one that the command reads.
    """
    make_folder(option, folder)
    paths = {name: os.path.join(folder, name) for name in files}
    for path in paths.values():
        check_outputs({option: path}, inputs)
    for name, text in files.items():
        write_file(paths[name], text)
    return list(paths.values())


def make_folder(option: str, folder: str) -> None:
    """Make a directory when it is not there.

    Raises
    ------
    InputError
        When it cannot be made.
    """
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as failure:
        raise InputError(f"'{folder}' cannot be made: {failure.strerror}", key=option) from None


def replace_file(path: Path, text: str | bytes) -> None:
    """Put a complete file in the place of the one at `path`."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:50]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(as_bytes(text))
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
    output = sys.stdout
    if output is None:
        raise InputError("cannot be written: it is closed", source="standard output")
    text = text if text.endswith("\n") else f"{text}\n"
    encoding = getattr(output, "encoding", None) or "utf-8"
    try:
        output.write(encoded(text, encoding).decode(encoding))
        output.flush()
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as failure:
        discard(output)
        message = f"cannot be written: {failure.strerror}"
        raise InputError(message, source="standard output") from None


def encoded(text: str, encoding: str) -> bytes:
    """Return the bytes of a text; a character that the encoding lacks becomes its number."""
    return text.encode(encoding, "backslashreplace")


def as_bytes(text: str | bytes) -> bytes:
    """Return what a file holds."""
    return text if isinstance(text, bytes) else encoded(text, "utf-8")


def discard(*streams: TextIO | None) -> None:
    """Let what streams still hold go nowhere: it would fail again when Python ends."""
    for stream in streams:
        with suppress(OSError, ValueError):
            if stream is not None:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
