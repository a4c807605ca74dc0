"""MAESTRO's file format: networks of layers with dataflows, or a dataflow alone.

The grammar is that of the files in MAESTRO's public repository: ``Constant NAME NUMBER;``,
``Network NAME { Layer NAME { Type: CONV Stride { } Dimensions { } Dataflow { } } }``, comments from
``//`` to the end of the line. As there, commas, colons and semicolons may be left out where nothing
becomes ambiguous, and a layer without a dataflow has that of the layer before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tilewright.errors import InputError, nearest
from tilewright.interop.maestro.syntax import (
    Cluster,
    Dataflow,
    Directive,
    LayerText,
    Map,
    NetworkText,
    Place,
    Size,
)

TYPES = (
    "CONV", "DSCONV", "NGCONV", "TRCONV", "GEMM", "BMM", "FC", "POOL", "RESIDUAL",
    "RESIDUAL_IDENTITY",
)  # fmt: skip
DIMENSIONS = ("N", "G", "K", "C", "R", "S", "Y", "X", "Y'", "X'", "M", "B")
MAPS = ("TemporalMap", "SpatialMap")
DIRECTIVES = (*MAPS, "Cluster")
TOP = ("Constant", "Network", "Accelerator", "Dataflow", *DIRECTIVES)
LAYER_KEYS = ("Type", "Stride", "Dimensions", "Dataflow")
MAX_NUMBER = 2**40

TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*)|(?P<number>\d+(?![A-Za-z_]))|(?P<name>[A-Za-z_0-9][\w.]*'?)"
    r"|(?P<mark>.)"
)


@dataclass(frozen=True)
class Token:
    """A name, a number or a mark, and where it stands."""

    kind: str
    text: str
    place: Place

    def __str__(self) -> str:
        return f"'{self.text}'" if self.text else "the end"


def looks_like_directives(text: str) -> bool:
    """Whether a text holds directives, or a network in MAESTRO's format."""
    plain = re.sub(r"//[^\n]*", "", text)
    return bool(re.search(r"\b(TemporalMap|SpatialMap|Cluster)\s*\(|\bNetwork\b[^{:]*\{", plain))


def parse_network_text(text: str, source: str = "directives") -> NetworkText:
    """Read a network.

    Raises
    ------
    InputError
        Naming file, line, column, what was found, what is accepted and the nearest name.
    """
    network, _ = Reader(text, source).file()
    if network is None:
        raise InputError("has no 'Network { ... }'", source=source)
    return network


def parse_dataflow(text: str, source: str = "directives", layer: str | None = None) -> Dataflow:
    """Read directives: alone, in ``Dataflow { ... }``, or those of a layer of a network.

    Parameters
    ----------
    text : str
        What is read.
    source : str
        Name of the text, for messages.
    layer : str, optional
        Which layer of a network; a network of one layer, or one in which all layers have the same
        dataflow, needs none.

    Raises
    ------
    InputError
        When it cannot be read, or the layer has none.
    """
    network, dataflow = Reader(text, source).file()
    if network is None:
        if dataflow is None:
            raise InputError(f"has no directives; accepted: {', '.join(DIRECTIVES)}", source=source)
        return dataflow
    named = [found for found in network.layers if found.name == layer]
    chosen = named or list(network.layers)
    flows = {str(found.dataflow): found.dataflow for found in chosen}
    if len(flows) > 1:
        names = [found.name for found in network.layers]
        raise InputError(
            f"has no layer '{layer}', and its layers have different dataflows; accepted: "
            f"{', '.join(names[:20])}{nearest(layer or '', names)}",
            source=source,
        )
    (flow,) = flows.values()
    if flow is None:
        name = chosen[0].name
        raise InputError(
            f"layer '{name}' has no dataflow", source=source, line=chosen[0].place.line
        )
    return flow


class Reader:
    """Reads a text from the left to the right, one rule of the grammar per method."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.tokens = list(tokens(text, source))
        self.position = 0
        self.constants: dict[str, int] = {}

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.position]

    def take(self) -> Token:
        """Return the next token and step over it."""
        token = self.token
        self.position += token.kind != "end"
        return token

    def skip(self, *marks: str) -> bool:
        """Step over marks that may come next; say whether one did."""
        begin = self.position
        while self.token.text in marks and self.token.kind == "mark":
            self.position += 1
        return self.position > begin

    def expect(self, mark: str, where: str) -> None:
        """Step over a mark that must come next."""
        if self.token.text != mark:
            raise self.error(f"expected '{mark}' {where}, found {self.token}")
        self.position += 1

    def error(self, message: str, token: Token | None = None) -> InputError:
        """Return an error that points at a token, by default the next one."""
        return error_at((token or self.token).place, message)

    def unknown(self, what: str, token: Token, accepted: Iterable[str]) -> InputError:
        """Return the error for a word that is not accepted."""
        accepted = tuple(accepted)
        return self.error(
            f"unknown {what} {token}; accepted: {', '.join(accepted)}"
            f"{nearest(token.text, accepted)}",
            token,
        )

    def file(self) -> tuple[NetworkText | None, Dataflow | None]:
        """Read everything: a network, or directives."""
        network: NetworkText | None = None
        flow: Dataflow | None = None
        while self.token.kind != "end":
            token = self.token
            if self.skip(";"):
                continue
            if token.text == "Constant":
                self.constant()
            elif token.text == "Network":
                if network is not None:
                    raise self.error("a file holds one network, this is the second")
                network = self.network()
            elif token.text == "Accelerator":
                self.take()
                self.passed_over()
            elif token.text == "Dataflow" and flow is None:
                flow = self.dataflow()
            elif token.text in DIRECTIVES and flow is None and network is None:
                flow = Dataflow(self.directives(), source=self.source)
            else:
                raise self.unknown("word", token, TOP)
        return network, flow

    def constant(self) -> None:
        """Read ``Constant NAME NUMBER;``."""
        self.take()
        name = self.take()
        if name.kind != "name":
            raise self.error(f"expected the name of a constant, found {name}", name)
        self.skip(":", ",", "=")
        self.constants[name.text] = self.number(f"constant '{name.text}'")
        self.skip(";", ",")

    def passed_over(self) -> None:
        """Step over a block in braces: the accelerator, which machines describe here."""
        opened = self.token
        self.expect("{", "after 'Accelerator'")
        depth = 1
        while depth:
            token = self.take()
            if token.kind == "end":
                raise self.error("'{' is never closed", opened)
            depth += {"{": 1, "}": -1}.get(token.text, 0)

    def network(self) -> NetworkText:
        """Read ``Network NAME { Layer ... }``."""
        self.take()
        name = self.take().text if self.token.kind == "name" else "network"
        opened = self.token
        self.expect("{", f"after 'Network {name}'")
        layers: list[LayerText] = []
        while not self.closes(opened, "network"):
            if self.token.text != "Layer":
                raise self.unknown("word", self.token, ("Layer",))
            layers.append(self.layer(layers[-1].dataflow if layers else None, len(layers)))
        if not layers:
            raise self.error(f"network '{name}' has no layers", opened)
        return NetworkText(name, tuple(layers), self.source)

    def layer(self, before: Dataflow | None, number: int) -> LayerText:
        """Read ``Layer NAME { Type: ... }``."""
        place = self.take().place
        words: list[str] = []
        while self.token.text != "{" and self.token.kind != "end":
            words.append(self.take().text)
        name = "".join(words) or f"L{number + 1}"
        opened = self.token
        self.expect("{", f"after 'Layer {name}'")
        kind: str | None = None
        sizes: dict[str, int] = {}
        strides: dict[str, int] = {}
        flow: Dataflow | None = None
        while not self.closes(opened, "layer"):
            key = self.take()
            if key.text == "Type":
                self.skip(":")
                word = self.take()
                if word.text not in TYPES:
                    raise self.unknown("layer type", word, TYPES)
                kind = word.text
            elif key.text == "Stride":
                strides = self.sizes("Stride", ("Y", "X"))
            elif key.text == "Dimensions":
                sizes = self.sizes("Dimensions", DIMENSIONS)
            elif key.text == "Dataflow":
                self.position -= 1
                flow = self.dataflow(name)
            else:
                raise self.unknown("key", key, LAYER_KEYS)
            self.skip(";", ",")
        if kind is None:
            raise error_at(place, f"layer '{name}' has no 'Type'; accepted: {', '.join(TYPES)}")
        if not sizes:
            raise error_at(place, f"layer '{name}' has no 'Dimensions'")
        own = flow if flow is not None and flow.directives else before
        return LayerText(name, kind, sizes, strides, own, place)

    def closes(self, opened: Token, what: str) -> bool:
        """Step over a closing brace, if it comes next."""
        self.skip(";", ",")
        if self.token.kind == "end":
            raise self.error(f"'{{' of the {what} is never closed", opened)
        found = self.token.text == "}" and self.token.kind == "mark"
        self.position += found
        return found

    def sizes(self, what: str, accepted: tuple[str, ...]) -> dict[str, int]:
        """Read ``{ K: 64, C: 3 }``."""
        opened = self.token
        self.expect("{", f"after '{what}'")
        found: dict[str, int] = {}
        while not self.closes(opened, f"'{what}'"):
            name = self.take()
            if name.text not in accepted:
                raise self.unknown("dimension", name, accepted)
            if name.text in found:
                raise self.error(f"dimension {name} occurs twice", name)
            self.skip(":")
            found[name.text] = self.number(f"{what.lower()} of '{name.text}'")
        return found

    def dataflow(self, name: str = "") -> Dataflow:
        """Read ``Dataflow { ... }``."""
        self.take()
        opened = self.token
        self.expect("{", "after 'Dataflow'")
        found = self.directives()
        if not self.closes(opened, "dataflow"):
            raise self.unknown("directive", self.token, DIRECTIVES)
        return Dataflow(found, name, self.source)

    def directives(self) -> tuple[Directive, ...]:
        """Read directives as long as there are some."""
        found: list[Directive] = []
        self.skip(";")
        while self.token.text in DIRECTIVES:
            found.append(self.directive())
            self.skip(";", ",")
        return tuple(found)

    def directive(self) -> Directive:
        """Read ``TemporalMap(size, offset) D``, ``SpatialMap(...) D`` or ``Cluster(size, P)``."""
        word = self.take()
        self.expect("(", f"after '{word.text}'")
        size = self.size()
        if word.text == "Cluster":
            kind = "P"
            if self.skip(","):
                token = self.take()
                if token.text not in ("P", "L"):
                    raise self.unknown("kind of cluster", token, ("P", "L"))
                kind = token.text
            self.expect(")", "after the size of the cluster")
            return Cluster(size, kind, word.place)
        self.expect(",", "between size and offset")
        offset = self.size()
        self.expect(")", "after the offset")
        self.skip("-", ">")
        dimension = self.take()
        if dimension.kind != "name":
            raise self.error(
                f"expected a dimension after '{word.text}(...)', found {dimension}", dimension
            )
        return Map(word.text == "SpatialMap", size, offset, dimension.text, word.place)

    def size(self) -> Size:
        """Read ``64``, a constant, ``Sz(R)``, or a sum of them."""
        terms = [self.term(1)]
        while self.token.text in ("+", "-"):
            terms.append(self.term(-1 if self.take().text == "-" else 1))
        return Size(tuple(terms))

    def term(self, sign: int) -> tuple[int, str | None]:
        """Read one term of a size."""
        if self.token.text == "Sz":
            self.take()
            self.expect("(", "after 'Sz'")
            name = self.take()
            if name.kind != "name":
                raise self.error(f"expected a dimension in 'Sz(...)', found {name}", name)
            self.expect(")", f"after 'Sz({name.text}'")
            return sign, name.text
        return sign * self.number("a size", ("Sz(...)", *self.constants)), None

    def number(self, what: str, also: tuple[str, ...] = ()) -> int:
        """Read a number, or a constant that stands for one."""
        token = self.take()
        if token.text in self.constants:
            return self.constants[token.text]
        if token.kind != "number" or not 0 < int(token.text) <= MAX_NUMBER:
            words = tuple(dict.fromkeys((*also, *self.constants)))
            accepted = ", ".join(("a whole number from 1 to 2**40", *words))
            guess = nearest(token.text, words) if token.kind == "name" else ""
            raise self.error(f"{what}: expected {accepted}; found {token}{guess}", token)
        return int(token.text)


def tokens(text: str, source: str) -> Iterable[Token]:
    """Yield the tokens of a text, and at last one for its end."""
    line, begin = 1, 0
    for match in TOKEN.finditer(text):
        kind, word = str(match.lastgroup), match.group()
        if kind != "space":
            yield Token(kind, word, Place(source, line, match.start() - begin + 1))
        elif "\n" in word:
            line += word.count("\n")
            begin = match.start() + word.rindex("\n") + 1
    yield Token("end", "", Place(source, line, len(text) - begin + 1))


def error_at(place: Place | None, message: str) -> InputError:
    """Return an error that points at a place, if it is known."""
    if place is None:
        return InputError(message)
    return InputError(message, source=place.source, line=place.line, key=f"column {place.column}")
