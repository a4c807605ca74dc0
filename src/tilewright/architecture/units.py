"""Quantities as people write them: ``108 KiB``, ``16 bits``, ``200 MHz``, ``2.4 GB/s``."""

from __future__ import annotations

import re
from fractions import Fraction

from tilewright.document import describe
from tilewright.errors import nearest

BITS = {"bit": 1, "bits": 1, "B": 8, "byte": 8, "bytes": 8}
BITS |= {f"{prefix}iB": 8 * 1024**power for power, prefix in enumerate("KMGT", start=1)}
HERTZ = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
BYTES_PER_SECOND = {"B/s": 1, "kB/s": 10**3, "MB/s": 10**6, "GB/s": 10**9, "TB/s": 10**12}
BYTES_PER_SECOND |= {f"{prefix}iB/s": 1024**power for power, prefix in enumerate("KMGT", start=1)}
WORDS = ("word", "words")
MAX_BITS = 2**60
MAX_RATE = 1e15

# The exponent and the digits are bounded so that no text can ask for a number of a gigabyte.
_QUANTITY = re.compile(r"([0-9]{1,25}(?:\.[0-9]{1,25})?(?:[eE][+-]?[0-9]{1,2})?)\s*(\S*)")
_DECIMAL_PREFIX = re.compile(r"([KkMmGgTt])(?:[Bb](?:ytes?|its?)?)?")


def bits(value: object, word_bits: int | None = None) -> int:
    """Return a size in bits.

    Parameters
    ----------
    value : object
        Text such as ``"108 KiB"``, ``"24 bits"``, or ``"256 words"``.
    word_bits : int, optional
        Width of a word; without it the unit ``words`` is not accepted.

    Raises
    ------
    ValueError
        When the value is no size, or not a whole positive number of bits.
    """
    units = list(BITS) + (list(WORDS) if word_bits is not None else [])
    number, unit = _split(value, "a size", "16 KiB", units)
    if unit in WORDS and word_bits is not None:
        size = number * word_bits
    elif unit in BITS:
        size = number * BITS[unit]
    else:
        prefix = _DECIMAL_PREFIX.fullmatch(unit)
        if prefix:
            binary = f"{prefix[1].upper()}iB"
            raise ValueError(
                f"'{unit}' may mean 1000 or 1024: write {binary} for {BITS[binary] // 8} bytes, "
                "or the number of bytes with B"
            )
        raise ValueError(_unknown_unit(unit, units))
    if size.denominator != 1 or not 0 < size <= MAX_BITS:
        raise ValueError(f"expected a whole, positive number of bits, found {value!r}")
    return int(size)


def hertz(value: object) -> float:
    """Return a frequency in Hz from text such as ``"200 MHz"``."""
    number, unit = _split(value, "a frequency", "200 MHz", list(HERTZ))
    if unit not in HERTZ:
        raise ValueError(_unknown_unit(unit, list(HERTZ)))
    frequency = number * HERTZ[unit]
    if not 0 < frequency <= MAX_RATE:
        raise ValueError(f"a frequency must be positive and at most 1e15 Hz, found {value!r}")
    return float(frequency)


def words_per_cycle(value: object, word_bits: int, clock_hz: float) -> float:
    """Return a bandwidth in words per cycle.

    Parameters
    ----------
    value : object
        A number of words per cycle, or text such as ``"2.4 GB/s"`` or ``"64 B/cycle"``.
    word_bits : int
        Width of a word.
    clock_hz : float
        Clock in Hz.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 < value <= MAX_RATE:
            raise ValueError(f"a bandwidth must be positive and finite, found {describe(value)}")
        return float(value)
    per_cycle = {f"{unit}/cycle": size for unit, size in BITS.items()}
    per_cycle |= {f"{unit}/cycle": word_bits for unit in WORDS}
    units = ["words/cycle", "B/cycle", "bits/cycle", *BYTES_PER_SECOND]
    number, unit = _split(value, "a bandwidth", "16 (words per cycle) or 2.4 GB/s", units)
    if unit in per_cycle:
        words = number * per_cycle[unit] / word_bits
    elif unit in BYTES_PER_SECOND:
        words = number * BYTES_PER_SECOND[unit] * 8 / word_bits / Fraction(clock_hz)
    else:
        raise ValueError(_unknown_unit(unit, units))
    if not 0 < words <= MAX_RATE:
        raise ValueError(f"a bandwidth must be positive and finite, found {value!r}")
    return float(words)


def size_text(size_bits: int) -> str:
    """Return a size with the largest unit that divides it: ``"108 KiB"``."""
    for unit in ("TiB", "GiB", "MiB", "KiB", "B"):
        if size_bits % BITS[unit] == 0 and size_bits >= BITS[unit]:
            return f"{size_bits // BITS[unit]} {unit}"
    return f"{size_bits} bits" if size_bits else "0 B"


def clock_text(clock_hz: float) -> str:
    """Return a frequency with the largest unit that leaves a whole number."""
    for unit in ("GHz", "MHz", "kHz"):
        if clock_hz % HERTZ[unit] == 0:
            return f"{int(clock_hz) // HERTZ[unit]} {unit}"
    return f"{clock_hz!r} Hz"


def _split(value: object, what: str, example: str, units: list[str]) -> tuple[Fraction, str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"{describe(value)} has no unit; accepted: {', '.join(units)}")
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"expected {what} such as {example}, found {describe(value)}")
    if not match[2]:
        raise ValueError(f"'{value}' has no unit; accepted: {', '.join(units)}")
    return Fraction(match[1]), match[2]


def _unknown_unit(unit: str, units: list[str]) -> str:
    return f"unknown unit '{unit}'; accepted: {', '.join(units)}{nearest(unit, units)}"
