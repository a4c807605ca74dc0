"""What holds for every test: how many cases of it run, and which caches it uses."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from datetime import date
from itertools import count
from math import ceil
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

from tilewright.mapper.network.cache import VARIABLE

NUMBERS = count()
NOT_SLOW = "not slow"  # as pyproject.toml has it
# of the examples that a property asks for, how many are tried by default: other ones in each run
EXAMPLES = 0.15
FEWEST = 4
# of the cases that a sampled test asks for, how many run by default: the same ones in each run
CASES = 0.4
# of long tests, one in so many runs by default, unless a run has few tests
PARTS, MANY = 8, 500
GOLDEN = (5**0.5 - 1) / 2


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run take every case there is."""
    parser.addoption(
        "--part", type=int, choices=range(PARTS), default=date.today().toordinal() % PARTS,
        help="which eighth of the long tests to run; by default another one each day",
    )  # fmt: skip
    parser.addoption(
        "--whole", action="store_true", help="slow tests, and all cases of those that are sampled"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Leave no slow test out of a whole run, and let tests interrupt themselves."""
    # a shell that runs this in the background has it ignore Ctrl-C, and a search that a test
    # interrupts would never end
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--whole"):
        config.option.markexpr = ""


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> Any:
    """Do not even list the cases of slow tests that are left out: they are many thousands."""
    marks = {mark.name for mark in getattr(obj, "pytestmark", ()) if name.startswith("test")}
    config = collector.config
    named = any("::" in given for given in config.args)  # which pytest would not find
    left_out = "slow" in marks and config.option.markexpr == NOT_SLOW and not named
    return [] if left_out else None


def pytest_report_header(config: pytest.Config) -> str:
    """Say which tests are left out."""
    if config.getoption("--whole"):
        return "all tests"
    return f"of long tests those of --part {config.getoption('--part')}; --whole runs all"


def spread(cases: int, wanted: int) -> set[int]:
    """Return about as many of some cases as are wanted, from first to last.

    Steps of one size could meet the same value of an inner parameter each time.
    """
    if wanted >= cases:
        return set(range(cases))
    return {int((k + k * GOLDEN % 1.0) * cases / wanted) for k in range(wanted)}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep some cases of each test that asks to be sampled, of those that are not slow.

    The same cases in every run and every worker process; a case that is named on the command
    line is alone in its family and always runs. Properties are tried on fewer examples.
    """
    if config.getoption("--whole"):
        return
    if "TILEWRIGHT_FUZZ" not in os.environ:  # which is a number of examples itself
        for test in {getattr(item, "function", None) for item in items}:
            if hasattr(test, "hypothesis"):
                try_fewer(test)
    families: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            name = item.nodeid.partition("[")[0]
            families.setdefault((item.path, name), []).append(item)
    left_out: set[pytest.Item] = set()
    for family in families.values():
        marker = family[0].get_closest_marker("sampled")
        assert marker is not None
        (asked,) = marker.args
        kept = spread(len(family), ceil(asked * CASES))
        left_out.update(item for i, item in enumerate(family) if i not in kept)
    if len(items) > MANY:  # a file or two are run as a whole
        part = config.getoption("--part")
        left_out.update(
            item
            for item in items
            if item.get_closest_marker("long") and crc32(item.nodeid.encode()) % PARTS != part
        )
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def try_fewer(test: Any) -> None:
    """Take a share of the examples that the settings of a property ask for."""
    # where Hypothesis keeps the settings of a test; a second decorator would be an error
    asked = test._hypothesis_internal_use_settings
    fewer = min(asked.max_examples, max(FEWEST, round(asked.max_examples * EXAMPLES)))
    test._hypothesis_internal_use_settings = settings(asked, max_examples=fewer)


@pytest.fixture(scope="session")
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether a test that draws its own cases takes all of them."""
    return bool(request.config.getoption("--whole"))


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
