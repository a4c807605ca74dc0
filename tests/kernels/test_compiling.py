"""What makes kernels compile sooner than Numba does by itself, and changes nothing else."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numba.core import types
from numba.core.compiler import Flags
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from tilewright.kernels.compiling.compiler import KernelFlags, no_collection
from tilewright.kernels.compiling.known_calls import USUAL, known_call, known_calls
from tilewright.kernels.kernel import kernel, leaf, leaf_kernel


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

    assert types.BaseFunction.get_call_type is USUAL
    with pytest.raises(RuntimeError), known_calls():
        with known_calls():
            seen.append(types.BaseFunction.get_call_type)
        seen.append(types.BaseFunction.get_call_type)
        raise RuntimeError
    assert seen == [known_call, known_call]
    assert quadrupled(3) == 12
    assert types.BaseFunction.get_call_type is USUAL


@pytest.mark.parametrize("enabled", [True, False])
def test_collection_is_afterwards_as_it_was(enabled):
    was = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with no_collection():
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
