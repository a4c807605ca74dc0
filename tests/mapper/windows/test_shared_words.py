"""What a word of a window serves at most that is sent to several elements at a time."""

from itertools import product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.mapper.windows.pairs import Windows

Loop = tuple[int, int]  # dimension, tile size


@st.composite
def chains(draw: st.DrawFn, bound: int, unit: int = 1) -> list[int]:
    """Return tile sizes, in units, of loops that have several steps in every chunk."""
    chunks, tiles = {bound}, []
    while min(chunks) > unit and draw(st.booleans()):
        tile = unit * draw(st.integers(1, (min(chunks) - 1) // unit))
        chunks = {min(tile, c - at) for c in chunks for at in range(0, c, tile)}
        tiles.append(tile)
    return tiles


@st.composite
def merged(draw: st.DrawFn, first: list[int], second: list[int]) -> list[Loop]:
    """Return loops on two dimensions, in any order."""
    of = draw(st.permutations([0] * len(first) + [1] * len(second)))
    tiles = iter(first), iter(second)
    return [(d, next(tiles[d])) for d in of]


def steps(shape: list[range], loops: list[Loop]) -> list[tuple[tuple[int, ...], list[range]]]:
    """Return the iterations of both dimensions in each step of some loops."""
    found: list[tuple[tuple[int, ...], list[range]]] = [((), shape)]
    for d, tile in loops:
        found = [
            ((*at, n), [own if k != d else own[n : n + tile] for k, own in enumerate(now)])
            for at, now in found
            for n in range(0, len(now[d]), tile)
        ]
    return found


def words_sent(
    bounds: list[int],
    parts: list[int],
    elements: list[int],
    loops: tuple[list[Loop], list[Loop]],
    coefficients: tuple[int, int],
) -> tuple[int, int]:
    """Return the words that are sent, each once for all elements, and the most in a tile."""
    above, below = loops
    both = above + below
    slides = len(both)
    while slides > 0 and both[slides - 1][0] == both[-1][0]:
        slides -= 1
    held: dict[tuple[int, int], set[int]] = {}
    before: tuple[int, ...] = ()
    sent = most = 0
    for outside, (i, j) in steps([range(n) for n in bounds], above):
        for inside, (p, q) in steps([range(n) for n in parts], below):
            at = (*outside, *inside)
            changed = [k for k, (x, y) in enumerate(zip(before, at, strict=False)) if x != y]
            moved = set()
            for x, y in product(*map(range, elements)):
                words = {
                    coefficients[0] * i[x * parts[0] + u] + coefficients[1] * j[y * parts[1] + v]
                    for u in p
                    for v in q
                }
                own = held.get((x, y), set())
                if words != own:
                    moved |= words - own if changed and changed[0] >= slides else words
                held[x, y] = words
                most = max(most, len(words))
            sent += len(moved)
            before = at
    return sent, most


@settings(max_examples=500, deadline=None)
@given(
    st.data(),
    *[st.lists(st.integers(1, most), min_size=2, max_size=2) for most in (4, 3, 3)],
    st.sampled_from([(1, 1), (1, 2), (2, 1), (1, 3)]),
)
def test_no_word_serves_more_than_a_tile_and_one_along_a_dimension(
    data: st.DataObject,
    parts: list[int],
    elements: list[int],
    leaps: list[int],
    coefficients: tuple[int, int],
) -> None:
    units = [part * n for part, n in zip(parts, elements, strict=True)]
    bounds = [unit * n for unit, n in zip(units, leaps, strict=True)]
    assume(min(bounds) > 1)
    above = []
    for bound, unit in zip(bounds, units, strict=True):
        tiles = data.draw(chains(bound, unit))
        above.append(tiles if bound == unit or tiles[-1:] == [unit] else [*tiles, unit])
    loops = data.draw(merged(*above)), data.draw(merged(*map(data.draw, map(chains, parts))))
    assume(loops[0] or loops[1])
    sent, words = words_sent(bounds, parts, elements, loops, coefficients)
    a, b = coefficients
    layer = tw.einsum(f"O[P] += I[{a}*P+{b}*R]", P=bounds[0], R=bounds[1])
    served = Windows(layer.tensors[0], layer.bounds).most_shared(words) * min(elements)
    assert bounds[0] * bounds[1] <= served * sent * (1 + 1e-9)


def test_one_of_several_expressions_slides() -> None:
    layer = tw.einsum("O[P,Q] += I[P+R,Q+S]", P=20, Q=20, R=5, S=5)
    windows = Windows(layer.tensors[0], layer.bounds)
    assert windows.most_shared(1) == 2  # one comes back, the other stays
    assert windows.most_shared(4) == 8  # 1 and 4 words, four of which one comes back to: 4 x 2
    assert windows.most_shared(1000) == 25
