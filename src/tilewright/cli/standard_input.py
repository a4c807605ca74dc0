"""What a command reads from the standard input, as a file: readers look into files twice."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tilewright.document import MAX_BYTES
from tilewright.errors import InputError

NAME = "standard input"


@contextmanager
def spooled() -> Iterator[str]:
    """Give the path of a file with what the standard input holds; errors name that instead.

    Raises
    ------
    InputError
        When it is closed or cannot be read.
    """
    if sys.stdin is None:
        raise InputError("cannot be read: it is closed", source=NAME)
    try:
        # one more than is accepted: it may have no end
        text = sys.stdin.buffer.read(MAX_BYTES + 1)
    except OSError as failure:
        raise InputError(f"cannot be read: {failure.strerror}", source=NAME) from None
    with TemporaryDirectory(prefix="tilewright-") as folder:
        path = os.path.join(folder, "standard-input")
        Path(path).write_bytes(text)
        try:
            yield path
        except InputError as failure:
            if failure.source != path:
                raise
            raise type(failure)(
                failure.message, source=NAME, line=failure.line, key=failure.key
            ) from None
