"""Arrays are kept only as long as there is room."""

import pickle

import numpy as np
import pytest

from tilewright.mapper.relaxations.stays import kept
from tilewright.mapper.relaxations.stays.kept import Kept


def size(value: object) -> int:
    """Return the bytes of an array."""
    assert isinstance(value, np.ndarray)
    return value.nbytes


def test_all_are_given_up_for_one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three fit; the third one stays alone, and the next one with it."""
    monkeypatch.setattr(kept, "MOST_BYTES", 2 * 80)
    own: Kept[object] = Kept(size)
    for key in "abc":
        own[key] = np.zeros(10)
        assert key in own
    assert list(own) == ["c"]
    own["d"] = np.zeros(10)
    assert list(own) == ["c", "d"]


def test_a_copy_begins_empty() -> None:
    """What is sent to another process does not carry its arrays along."""
    own: Kept[object] = Kept(size)
    own["a"] = np.zeros(10)
    copy = pickle.loads(pickle.dumps(own))
    assert isinstance(copy, Kept) and not copy
    copy["b"] = np.zeros(3)
    assert copy.bytes == 24
