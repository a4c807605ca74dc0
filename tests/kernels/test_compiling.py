"""What makes kernels compile sooner than Numba does by itself, and changes nothing else."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numba import njit
from numba.core import types
from numba.core.compiler import Flags
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from tilewright.kernels.compiling.compiler import KernelFlags
from tilewright.kernels.compiling.known import CALL_TYPE, known_call
from tilewright.kernels.compiling.meanwhile import INSTEAD, quicker
from tilewright.kernels.kernel import kernel, leaf, leaf_kernel, part


def test_a_leaf_makes_no_arrays_even_where_a_kernel_has_made_such():
    @kernel
    def some(size: int) -> NDArray[np.float64]:
        return np.zeros(size)

    @leaf_kernel
    def most(size: int) -> int:
        return len(np.zeros(size))

    assert len(some(3)) == 3
    with pytest.raises(NumbaError, match="No implementation of function"):
        most(3)


def test_calls_are_remembered_only_while_a_kernel_is_compiled():
    seen = []

    @leaf
    def doubled(number: int) -> int:
        return number + number

    @kernel
    def quadrupled(number: int) -> int:
        return doubled(number) + doubled(number)

    assert types.BaseFunction.get_call_type is CALL_TYPE
    with pytest.raises(RuntimeError), quicker():
        with quicker():
            seen.append(types.BaseFunction.get_call_type)
        seen.append(types.BaseFunction.get_call_type)
        raise RuntimeError
    assert seen == [known_call, known_call]
    assert quadrupled(3) == 12
    assert types.BaseFunction.get_call_type is CALL_TYPE


@pytest.mark.parametrize(("place", "name", "instead"), INSTEAD)
def test_what_numba_does_otherwise_is_afterwards_as_it_was(place, name, instead):
    usual = getattr(place, name)
    with quicker():
        assert getattr(place, name) is instead
    assert getattr(place, name) is usual is not instead


@pytest.mark.parametrize("enabled", [True, False])
def test_collection_is_afterwards_as_it_was(enabled):
    was = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with quicker():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was else gc.disable)()


def test_flags_of_kernels_are_looked_up_as_other_flags_are():
    usual, other = Flags(), Flags()
    other.nrt = not usual.nrt
    own = KernelFlags(usual)
    assert own == usual and usual == own and hash(own) == hash(usual)
    assert own != other and other != own
    usual.nrt = own.nrt  # set to what it is by default
    assert own == usual and KernelFlags(usual) == own


def test_list_comprehensions_take_numbas_own_steps():
    @kernel
    def even(size: int) -> NDArray[np.int64]:
        return np.array([i for i in range(size) if i % 2 == 0], np.int64)

    assert even(5).tolist() == [0, 2, 4]


def test_parts_are_linked_by_code_that_is_not_of_kernels():
    @part
    def third(number: int) -> int:
        return number + 1 if number > 7 else third(number + 2)

    @part
    def second(number: int) -> int:
        return third(number) + np.sort(np.array([number, 3]))[0]

    @kernel
    def first(number: int) -> int:
        return second(number) - 1

    @njit
    def other(number: int) -> int:
        return first(number) + second(number) + np.sort(np.array([number, 2]))[0]

    assert first(5) == 10 + 3 - 1
    assert other(5) == (10 + 3 - 1) + (10 + 3) + 2
