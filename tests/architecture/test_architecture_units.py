"""Sizes, clocks and bandwidths as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.architecture import units


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("24 bits", 24),
        ("1 bit", 1),
        ("448 B", 3584),
        ("1KiB", 8192),
        ("0.5 KiB", 4096),
        ("108 KiB", 108 * 8192),
        ("24 MiB", 24 * 2**23),
        ("1 GiB", 2**33),
        ("256 words", 4096),
        ("1e3 B", 8000),
    ],
)
def test_sizes_are_whole_bits(text: str, size: int) -> None:
    assert units.bits(text, word_bits=16) == size


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("128 KB", "write KiB for 1024 bytes"),
        ("128 kB", "write KiB for 1024 bytes"),
        ("1 MB", "write MiB for 1048576 bytes"),
        ("1 Gb", "write GiB"),
        ("4 k", "write KiB"),
        ("128 kib", "did you mean 'KiB'?"),
        (128, "128 has no unit"),
        ("128", "'128' has no unit"),
        ("-1 B", "expected a size such as 16 KiB"),
        ("0 B", "whole, positive number of bits"),
        ("0.3 bits", "whole, positive number of bits"),
        ("1e99 GiB", "whole, positive number of bits"),
        ("1e999999999 B", "expected a size"),
        (True, "expected a size"),
        (None, "expected a size"),
    ],
)
def test_other_sizes_are_rejected_with_a_hint(value: object, hint: str) -> None:
    with pytest.raises(ValueError) as failure:
        units.bits(value, word_bits=16)
    assert hint in str(failure.value)


def test_words_need_a_word() -> None:
    with pytest.raises(ValueError, match="unknown unit 'words'"):
        units.bits("16 words")


@given(st.integers(1, units.MAX_BITS))
def test_size_text_reads_back(size: int) -> None:
    assert units.bits(units.size_text(size)) == size


@given(st.floats(1e-3, 1e15))
def test_clock_text_reads_back(clock: float) -> None:
    assert units.hertz(units.clock_text(clock)) == clock


@pytest.mark.parametrize(
    ("value", "word_bits", "clock_hz", "words"),
    [
        (16, 16, 1e9, 16),
        (0.5, 16, 1e9, 0.5),
        ("2.4 GB/s", 8, 200e6, 12),
        ("25.6 GB/s", 8, 200e6, 128),
        ("1 GiB/s", 8, 2.0**20, 1024),
        ("64 B/cycle", 16, 1e9, 32),
        ("8 words/cycle", 16, 1e9, 8),
    ],
)
def test_bandwidths_are_words_per_cycle(
    value: object, word_bits: int, clock_hz: float, words: float
) -> None:
    assert units.words_per_cycle(value, word_bits, clock_hz) == words


@pytest.mark.parametrize("value", [0, -1, float("inf"), 10**400, "0 GB/s", "3 GB", True, "fast"])
def test_other_bandwidths_are_rejected(value: object) -> None:
    with pytest.raises(ValueError):
        units.words_per_cycle(value, 16, 1e9)


@pytest.mark.parametrize("value", [200, "200", "200 mhz", "0 MHz", "-1 GHz", "1e99 GHz", None])
def test_other_clocks_are_rejected(value: object) -> None:
    with pytest.raises(ValueError):
        units.hertz(value)
