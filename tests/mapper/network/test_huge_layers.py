"""Layers that are too large to be counted are refused before anything is searched."""

import pytest

import tilewright as tw
from tilewright.errors import InputError


@pytest.mark.parametrize("bound", [2**31, 2**40])
@pytest.mark.parametrize("how", [{"tiles": "divisors"}, {"tiles": "all"}, {"time_limit": 0.2}])
def test_a_window_that_is_too_large_is_refused(bound, how):
    layer = tw.einsum("O[K,P] += I[P+R] * W[K,R]", K=8, P=bound, R=3)
    with pytest.raises(InputError, match=r"at most 2\^24"):
        tw.map(layer, "eyeriss", cache=False, **how)
