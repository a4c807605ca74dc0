"""Numbers as people read them: SI prefixes, units, powers of ten."""

from __future__ import annotations

from math import floor, inf, isfinite, log10

SPACE = "\N{NARROW NO-BREAK SPACE}"
TIMES = "\N{MULTIPLICATION SIGN}"
MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"
PREFIXES = {
    -15: "f", -12: "p", -9: "n", -6: "\N{MICRO SIGN}", -3: "m", 0: "",
    3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E", 21: "Z", 24: "Y",
}  # fmt: skip
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
BINARY = ((8 << 40, "TiB"), (8 << 30, "GiB"), (8 << 20, "MiB"), (8 << 10, "KiB"), (8, "B"))


def digits(value: float, significant: int = 3) -> str:
    """Return a number of moderate size with so many significant digits, thousands grouped."""
    if value == 0 or not isfinite(value):
        return "∞" if value == inf else f"{MINUS}∞" if value == -inf else f"{value:.0f}"
    decimals = max(0, significant - 1 - floor(log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", MINUS)


def si(value: float, unit: str = "") -> str:
    """Return a value with an SI prefix and three digits: ``si(1.5e-6, "J")`` is 1.5 µJ."""
    if value == 0 or not isfinite(value):
        return digits(value) + (SPACE + unit if unit else "")
    value = float(f"{value:.2e}")
    exponent = min(max(3 * floor(log10(abs(value)) / 3), min(PREFIXES)), max(PREFIXES))
    text = digits(value / 10.0**exponent, 3)
    suffix = PREFIXES[exponent] + unit
    return text + (SPACE + suffix if suffix else "")


def energy(picojoules: float) -> str:
    """Return an energy given in pJ."""
    return si(picojoules * 1e-12, "J")


def cycles(value: float) -> str:
    """Return a number of cycles."""
    return si(value, "cycles") if value < 1000 else f"{si(value)}{SPACE}cycles"


def energy_delay(value: float) -> str:
    """Return an energy-delay product given in pJ x cycles."""
    return si(value * 1e-12, "J·cycles")


def duration(seconds: float) -> str:
    """Return a duration."""
    if seconds < 100:
        return si(seconds, "s")
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def whole(value: float) -> str:
    """Return a count with its thousands grouped, or with an SI prefix from a million on."""
    return f"{value:,.0f}" if abs(value) < 1e6 else si(value)


def power_of_ten(value: float) -> str:
    """Return a count of any size: grouped below a million, else 3.7e9 with a superscript."""
    if not isfinite(value) or abs(value) < 1e6:
        return digits(value, 6)
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}{SPACE}{TIMES}{SPACE}10{str(int(exponent)).translate(SUPERSCRIPT)}"


def percent(share: float) -> str:
    """Return a share of one in percent, with the digits that matter."""
    hundred = 100 * share
    if not isfinite(hundred):
        return digits(hundred)
    if hundred and abs(hundred) < 0.1:
        return f"<{SPACE}0.1{SPACE}%"
    shown = f"{hundred:.1f}" if abs(hundred) < 10 else f"{hundred:.0f}"
    return f"{shown.removesuffix('.0')}{SPACE}%"


def size(bits: float) -> str:
    """Return a number of bits in the largest binary unit that it fills."""
    for unit, name in BINARY:
        if bits >= unit:
            return f"{digits(bits / unit, 4)}{SPACE}{name}"
    return f"{digits(bits)}{SPACE}bits"
