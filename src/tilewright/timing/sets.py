"""Words of one index expression as the bits of an integer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def values(coefficients: Sequence[int], begins: Sequence[int], sizes: Sequence[int]) -> int:
    """Return the values of ``a*i + b*j + ...`` over a box, as bits."""
    start = sum(a * begin for a, begin in zip(coefficients, begins, strict=True))
    bits = 1 << start
    for step, size in zip(coefficients, sizes, strict=True):
        have = 1
        while 2 * have <= size:
            bits |= bits << step * have
            have *= 2
        if have < size:
            bits |= bits << step * (size - have)
    return bits


def runs(bits: int) -> Iterator[int]:
    """Yield the lengths of the runs of consecutive ones."""
    while bits:
        bits >>= (bits & -bits).bit_length() - 1
        length = (~bits & (bits + 1)).bit_length() - 1
        yield length
        bits >>= length
