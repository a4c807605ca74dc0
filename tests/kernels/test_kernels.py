"""Named tuples that kernels are given by pointer."""

from __future__ import annotations

import gc
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tilewright.kernels.kernel import kernel, leaf
from tilewright.kernels.record import record


@record
class Row(NamedTuple):
    """Weights and where they begin."""

    weights: NDArray[np.float64]
    begin: int


@record
class Table(NamedTuple):
    """A row with values and a scale."""

    values: NDArray[np.int64]
    row: Row
    scale: float


@leaf
def weighted(table: Table, i: int) -> float:
    """Return a value times its weight."""
    return table.values[i] * table.row.weights[table.row.begin + i] * table.scale


@kernel
def total(table: Table) -> tuple[float, NDArray[np.int64]]:
    """Return the weighted sum, and the values themselves."""
    found = 0.0
    for i in range(len(table.values)):
        found += weighted(table, i)
    return found, table.values


def table() -> Table:
    """Return a table."""
    return Table(np.array([3, 5, 7]), Row(np.array([9.0, 1.0, 10.0, 100.0]), 1), 0.5)


def test_a_kernel_and_its_parts_read_the_fields_of_a_record():
    given = table()
    found, values = total(given)
    assert found == 0.5 * (3 * 1 + 5 * 10 + 7 * 100)
    assert np.array_equal(values, given.values)


def test_nothing_is_made_of_a_kernel_before_its_first_call():
    @kernel
    def doubled(number: int) -> int:
        """Return twice a number."""
        return 2 * number

    @numba.njit
    def quadrupled(number: int) -> int:
        return doubled(doubled(number))

    assert doubled._built is None
    assert doubled.__name__ == "doubled" and doubled.py_func(3) == 6
    assert doubled._built is None
    assert doubled(number=3) == 6 and doubled(4) == 8
    # from now on Python calls the dispatcher itself
    assert doubled.__call__ is doubled.dispatcher
    assert quadrupled(3) == 12


def test_a_kernel_may_be_called_by_others_first():
    @leaf
    def halved(number: float) -> float:
        return number / 2

    @kernel
    def quartered(number: float) -> float:
        return halved(halved(number))

    assert quartered(3.0) == 0.75
    assert halved.signatures


def test_threads_share_one_dispatcher():
    @kernel
    def tripled(number: int) -> int:
        return 3 * number

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: id(tripled.dispatcher), range(64)))
    assert len(found) == 1
    assert tripled(2) == 6


def test_a_record_may_be_declared_after_numba_is_imported():
    total(table())

    @record
    class Later(NamedTuple):
        """A weight."""

        weights: NDArray[np.float64]

    kind = numba.typeof(Later(np.zeros(2)))
    assert type(kind).__name__ == "Record"


def test_a_call_keeps_no_field_alive():
    given = table()
    total(given)
    before = [sys.getrefcount(field) for field in (given.values, given.row.weights)]
    for _ in range(10):
        total(given)
    assert [sys.getrefcount(field) for field in (given.values, given.row.weights)] == before


def test_what_a_kernel_returns_outlives_the_record():
    values = total(table())[1]
    gc.collect()
    assert values.tolist() == [3, 5, 7]


def test_what_older_code_has_kept_is_given_up_unread(tmp_path, monkeypatch):
    kept = total._cache._cache_file
    older = tmp_path / "index"
    older.write_bytes(pickle.dumps(numba.__version__) + b"cmoved.elsewhere\nRecord\n.")
    monkeypatch.setattr(kept, "_index_path", str(older))
    assert kept._load_index() == {}


def test_records_of_other_fields_are_other_kinds():
    given = table()
    assert total(given._replace(scale=2))[0] == 4 * total(given)[0]
