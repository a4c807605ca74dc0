"""What a word of a window serves at most that is sent to several elements at a time."""

from hypothesis import given, settings

import tilewright as tw
from tilewright.mapper.windows.pairs import Windows
from window_words import WindowLoops, window_loops


@settings(max_examples=500, deadline=None)
@given(window_loops((4, 3, 3)))
def test_no_word_serves_more_than_a_tile_and_one_along_a_dimension(loops: WindowLoops) -> None:
    sent, _, words = loops.words()
    a, b = loops.coefficients
    layer = tw.einsum(f"O[P] += I[{a}*P+{b}*R]", P=loops.bounds[0], R=loops.bounds[1])
    served = Windows(layer.tensors[0], layer.bounds).most_shared(words) * min(loops.elements)
    assert loops.iterations <= served * sent * (1 + 1e-9)


def test_one_of_several_expressions_slides() -> None:
    layer = tw.einsum("O[P,Q] += I[P+R,Q+S]", P=20, Q=20, R=5, S=5)
    windows = Windows(layer.tensors[0], layer.bounds)
    assert windows.most_shared(1) == 2  # one comes back, the other stays
    assert windows.most_shared(4) == 8  # 4 words along one of them, and twice that if it comes back
    assert windows.most_shared(1000) == 25
