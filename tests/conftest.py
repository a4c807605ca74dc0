"""What holds for every test: the cache of whoever runs them stays as it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tilewright.mapper.network.cache import VARIABLE

NUMBERS = count()


@pytest.fixture(scope="session", autouse=True)
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of all caches; what several tests share is solved without one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "off")
        yield tmp_path_factory.mktemp("caches")


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output goes to pipes of any width, whatever runs the tests."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def cache_directory(caches: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own for the cache of each test, not there yet."""
    directory = caches / f"{next(NUMBERS)}"
    monkeypatch.setenv(VARIABLE, os.fspath(directory))
    return directory
