"""Spaces of machines: parameters with their values, and a machine that is written in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.architecture.reading import parse_architecture
from tilewright.architecture.units import size_text
from tilewright.document import Document, KeyPath
from tilewright.exploration.designs.expression import (
    Expression,
    Quantity,
    Range,
    filled,
    parameters_of,
    parse_expression,
)

Value = Quantity | str
Indices = tuple[int, ...]


@dataclass(frozen=True)
class Parameter:
    """A parameter and the values that it may take.

    Attributes
    ----------
    name : str
        As expressions call it.
    values : tuple of Quantity or str
        In the order in which they were given.
    """

    name: str
    values: tuple[Value, ...]

    def shown(self, index: int) -> str:
        """Return a value as people write it."""
        return shown(self.values[index])


@dataclass(frozen=True)
class Limit:
    """A limit on an expression of parameters: designs beyond it are no candidates.

    Attributes
    ----------
    left, right : Expression
        `left` is at most `right`.
    text : str
        As it was written.
    """

    left: Expression
    right: Expression
    text: str


@dataclass(frozen=True)
class Box:
    """Designs whose parameters lie in ranges of their values.

    Attributes
    ----------
    ranges : tuple of (int, int)
        First index and the one after the last, for each parameter.
    """

    ranges: tuple[tuple[int, int], ...]

    @property
    def designs(self) -> int:
        """How many there are."""
        return prod(end - begin for begin, end in self.ranges)

    @property
    def first(self) -> tuple[int, ...]:
        """The first index of each parameter."""
        return tuple(begin for begin, _ in self.ranges)

    def holds(self, indices: tuple[int, ...]) -> bool:
        """Whether a design is in the box."""
        return all(a <= i < b for i, (a, b) in zip(indices, self.ranges, strict=True))

    def designs_in(self) -> Iterator[tuple[int, ...]]:
        """Yield the values' indices of every design."""
        return product(*(range(begin, end) for begin, end in self.ranges))

    def halves(self, parameter: int) -> tuple[Box, Box]:
        """Return the box cut in two along a parameter."""
        begin, end = self.ranges[parameter]
        middle = (begin + end) // 2
        before, after = self.ranges[:parameter], self.ranges[parameter + 1 :]
        return (
            Box((*before, (begin, middle), *after)),
            Box((*before, (middle, end), *after)),
        )


@dataclass(frozen=True)
class Space:
    """A space of machines.

    Attributes
    ----------
    name : str
        Name of the space.
    parameters : tuple of Parameter
        The design with index i has the values of i's digits, the last parameter's the fastest.
    machine : Document
        An architecture file in which values are expressions of parameters.
    limits : mapping of str to float
        Greatest value of quantities such as ``area`` (mm2) and ``power`` (mW).
    conditions : tuple of Limit
        Limits on expressions of parameters.
    workloads : mapping of str to float, or None
        Weights of workloads; None where the call names them.
    maximum : bool
        Whether the worst of the workloads counts instead of their weighted sum.
    """

    name: str
    parameters: tuple[Parameter, ...]
    machine: Document
    limits: Mapping[str, float]
    conditions: tuple[Limit, ...] = ()
    workloads: Mapping[str, float] | None = None
    maximum: bool = False

    def __len__(self) -> int:
        return self.designs

    @property
    def designs(self) -> int:
        """How many designs there are, with those beyond limits."""
        return self.whole.designs

    @property
    def whole(self) -> Box:
        """The box of all designs."""
        return Box(tuple((0, len(each.values)) for each in self.parameters))

    def indices(self, index: int) -> Indices:
        """Return the index of each parameter's value in a design."""
        if not 0 <= index < self.designs:
            raise IndexError(f"the space has {self.designs} designs; there is no number {index}")
        digits = []
        for each in reversed(self.parameters):
            index, digit = divmod(index, len(each.values))
            digits.append(digit)
        return tuple(reversed(digits))

    def index(self, indices: Indices) -> int:
        """Return the number of the design with these values."""
        number = 0
        for each, digit in zip(self.parameters, indices, strict=True):
            number = number * len(each.values) + digit
        return number

    def values(self, index: int) -> dict[str, str]:
        """Return the values of a design's parameters as people write them."""
        digits = self.indices(index)
        return {p.name: p.shown(i) for p, i in zip(self.parameters, digits, strict=True)}

    def design(self, index: int) -> Architecture:
        """Return a machine of the space.

        Raises
        ------
        InputError
            When the values of its parameters make no machine.
        """
        return self.machine_of(self.indices(index))

    def machine_of(self, indices: Indices) -> Architecture:
        """Return the machine with these values; see `design`."""
        return parse_architecture(self.document_of(indices))

    def document_of(self, indices: Indices) -> Document:
        """Return the architecture file with these values."""
        values = {
            each.name: each.values[i] for each, i in zip(self.parameters, indices, strict=True)
        }
        data = _substituted(self.machine, self.machine.data, (), values)
        return Document(data, self.machine.source, self.machine.lines)

    def __iter__(self) -> Iterator[Architecture]:
        """Yield every machine, in the order of their numbers."""
        return (self.design(index) for index in range(self.designs))

    def excluded(self, box: Box) -> bool:
        """Whether a condition excludes every design of a box; exact for a single design."""
        ranges: dict[str, Range] = {}
        for each, (begin, end) in zip(self.parameters, box.ranges, strict=True):
            numbers = [v for v in each.values[begin:end] if isinstance(v, Quantity)]
            if numbers:
                values = [number.value for number in numbers]
                ranges[each.name] = Range(min(values), max(values), numbers[0].power)
        for limit in self.conditions:
            try:
                left, right = limit.left.range(ranges), limit.right.range(ranges)
            except ValueError:
                if box.designs == 1:
                    return True
                continue
            if left.low > right.high:
                return True
        return False

    def dependencies(self) -> list[frozenset[str]]:
        """Return for every level of the machine the parameters that its own keys name."""
        return [named_in(level) for level in self.machine.data["levels"]]

    def of_whole(self) -> frozenset[str]:
        """Return the parameters in keys of the machine that are not those of a level."""
        return named_in({k: v for k, v in self.machine.data.items() if k != "levels"})


def shown(value: Value) -> str:
    """Return a value as people, and architecture files, write it."""
    if isinstance(value, str):
        return value
    if value.power == 1:
        if value.value != int(value.value):
            raise ValueError(f"{value.value} is not a whole number of bits")
        return size_text(int(value.value))
    if value.power:
        raise ValueError("the result is neither a number nor a size")
    return str(number_of(value))


def number_of(value: Quantity) -> int | float:
    """Return a plain number as an int where it is one."""
    return int(value.value) if value.value.is_integer() else value.value


def from_to(begin: Quantity, end: Quantity, step: Quantity | None, factor: float) -> list[Quantity]:
    """Return the values from one to another by a step, or by a factor, the last one included."""
    values = []
    value = Fraction(begin.value)
    while value <= Fraction(end.value):
        values.append(Quantity(float(value), begin.power))
        value = value * Fraction(factor) if step is None else value + Fraction(step.value)
    return values


def named_in(data: Any) -> frozenset[str]:
    """Return the parameters that are named anywhere in a part of a machine."""
    if isinstance(data, str):
        return frozenset(parameters_of(data))
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return frozenset().union(*(named_in(part) for part in parts))


def _substituted(document: Document, data: Any, path: KeyPath, values: Mapping[str, Value]) -> Any:
    if isinstance(data, dict):
        return {k: _substituted(document, v, (*path, k), values) for k, v in data.items()}
    if isinstance(data, list):
        return [_substituted(document, v, (*path, i), values) for i, v in enumerate(data)]
    if not isinstance(data, str) or "$" not in data:
        return data
    try:
        return _value(data, values)
    except ValueError as failure:
        raise document.error(str(failure), path) from None


def _value(text: str, values: Mapping[str, Value]) -> Any:
    names = parameters_of(text)
    alone = len(names) == 1 and filled(text, {names[0]: ""}).strip() == ""
    whole = values.get(names[0]) if alone else None
    if isinstance(whole, str):
        return whole
    if "${" in text:
        parse_expression(" + ".join(names), values)
        return filled(text, {name: shown(values[name]) for name in names})
    found = parse_expression(text, values)
    numbers = {name: v for name, v in values.items() if isinstance(v, Quantity)}
    for name in found.names - numbers.keys():
        raise ValueError(f"parameter '{name}' is text, which has no value in '{text}'")
    value = found.value(numbers)
    return shown(value) if value.power else number_of(value)
