"""Einsum notation: ``O[N,K,P,Q] += I[N,C,2*P+R,2*Q+S] * W[K,C,R,S]`` read into accesses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.document import describe
from tilewright.errors import InputError
from tilewright.workload.layer import Term

MAX_COEFFICIENT = 2**40
MAX_LENGTH = 4096
TOKEN = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>[0-9]+)|(?P<mark>\+=|\S)")


@dataclass(frozen=True)
class Access:
    """A tensor as an expression writes it: its name and one index expression per axis."""

    name: str
    expressions: tuple[tuple[Term, ...], ...]


@dataclass(frozen=True)
class Token:
    """A name, a number or a mark, and the column on which it starts."""

    kind: str
    text: str
    column: int

    def __str__(self) -> str:
        return f"'{self.text}'" if self.text else "the end"


def read_expression(expression: str) -> tuple[Access, ...]:
    """Return the accesses of an expression: its inputs in order, then its output.

    Raises
    ------
    InputError
        With the expression and a mark under the place where it goes wrong.
    """
    if not isinstance(expression, str):
        raise InputError(
            "expected an expression such as 'O[M,N] += I[M,K] * W[K,N]', "
            f"found {describe(expression)}",
            key="einsum",
        )
    if len(expression) > MAX_LENGTH:
        raise InputError(
            f"the expression has {len(expression)} characters; at most {MAX_LENGTH} are read",
            key="einsum",
        )
    reader = Reader(expression)
    output = reader.access()
    if reader.token.text == "=":
        raise reader.error("write '+=' instead of '=': the body accumulates into its output")
    reader.expect("+=", "after the output")
    inputs = [reader.access()]
    while reader.skip("*"):
        inputs.append(reader.access())
    if reader.token.text:
        raise reader.error(f"expected '*' and another input, or the end, found {reader.token}")
    return (*inputs, output)


class Reader:
    """Reads an expression from left to right, one grammar rule per method."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.tokens: Sequence[Token] = [
            Token(str(match.lastgroup), match.group(), match.start())
            for match in TOKEN.finditer(expression)
        ] + [Token("end", "", len(expression.rstrip()))]
        self.position = 0
        self.tensors: set[str] = set()

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.position]

    def take(self) -> Token:
        """Return the next token and step over it."""
        self.position += 1
        return self.tokens[self.position - 1]

    def skip(self, mark: str) -> bool:
        """Step over the next token when it is this mark; say whether it was."""
        found = self.token.text == mark
        self.position += found
        return found

    def expect(self, mark: str, where: str) -> None:
        """Step over a mark that has to come next."""
        if not self.skip(mark):
            raise self.error(f"expected '{mark}' {where}, found {self.token}")

    def error(self, message: str, at: Token | None = None) -> InputError:
        """Return an error that marks a token, by default the next one."""
        shown = re.sub(r"\s", " ", self.expression)
        return InputError(
            f"{message}\n  {shown}\n  {' ' * (at or self.token).column}^", key="einsum"
        )

    def access(self) -> Access:
        """Read ``T[index, index, ...]``."""
        if self.token.kind != "name":
            raise self.error(f"expected the name of a tensor, found {self.token}")
        if self.token.text in self.tensors:
            raise self.error(f"tensor {self.token} occurs twice; each needs a name of its own")
        tensor = self.take().text
        self.tensors.add(tensor)
        bracket = self.token
        self.expect("[", f"after tensor '{tensor}' (a scalar is written '{tensor}[]')")
        expressions: list[tuple[Term, ...]] = []
        used: set[str] = set()
        if self.token.text != "]":
            expressions.append(self.sum(tensor, used))
            while self.skip(","):
                expressions.append(self.sum(tensor, used))
        if self.token.kind == "end":
            raise self.error(f"'[' of tensor '{tensor}' is never closed", bracket)
        self.expect("]", f"or ',' or '+' in tensor '{tensor}'")
        return Access(tensor, tuple(expressions))

    def sum(self, tensor: str, used: set[str]) -> tuple[Term, ...]:
        """Read ``term + term + ...``."""
        terms = [self.term(tensor, used)]
        while self.skip("+"):
            terms.append(self.term(tensor, used))
        return tuple(terms)

    def term(self, tensor: str, used: set[str]) -> Term:
        """Read ``P``, ``2*P`` or ``P*2``."""
        coefficient = self.coefficient(tensor) if self.token.kind == "number" else None
        if self.token.text == "-":
            raise self.error("index expressions only add; a coefficient cannot be negative")
        if self.token.kind != "name":
            raise self.error(f"expected a dimension in tensor '{tensor}', found {self.token}")
        if self.token.text in used:
            raise self.error(
                f"dimension {self.token} occurs twice in tensor '{tensor}'; a dimension indexes "
                "a tensor at most once (no diagonals)"
            )
        dimension = self.take().text
        used.add(dimension)
        if coefficient is None and self.skip("*"):
            if self.token.kind != "number":
                raise self.error(f"expected a number after '{dimension}*', found {self.token}")
            coefficient = self.positive(self.take())
        if self.token.text == "-":
            raise self.error("index expressions only add; a coefficient cannot be negative")
        return Term(coefficient or 1, dimension)

    def coefficient(self, tensor: str) -> int:
        """Read the number and the ``*`` before a dimension."""
        number = self.take()
        if self.token.kind == "name":
            raise self.error(f"expected '*' between {number} and {self.token}")
        if not self.skip("*"):
            raise self.error(
                f"constant {number} in tensor '{tensor}'; an index is a sum of dimensions with "
                "coefficients, such as 2*P+R",
                number,
            )
        return self.positive(number)

    def positive(self, number: Token) -> int:
        """Return the value of a coefficient."""
        if len(number.text) > 20 or not 0 < int(number.text) <= MAX_COEFFICIENT:
            raise self.error(f"a coefficient is a number from 1 to 2**40, found {number}", number)
        return int(number.text)
