"""Exported programs walked call by call, as layers, views and records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

from tilewright.errors import InputError
from tilewright.frontends.builder import Builder
from tilewright.frontends.torch.program import Call, Program, Ref, from_object, read_file
from tilewright.frontends.values import Value, is_simple
from tilewright.workload.graph import FOLDED, MOVES
from tilewright.workload.layer import Network
from tilewright.workload.view import MAX_WORDS, Shape

Operator: TypeAlias = "Callable[[Importer, Call], Sequence[Value]]"


# they read the shape of a tensor at most: what they make is known before the network runs
CREATIONS = frozenset({
    "full_like", "zeros_like", "ones_like", "empty_like", "new_zeros", "new_ones", "new_full",
    "new_empty",
})  # fmt: skip


class NotUnderstoodError(Exception):
    """A call, or what it is given, has no meaning here; the network is read without it."""


def load_program(
    path: str | Path,
    *,
    bind: Mapping[str, int] | None = None,
    only: Sequence[str] | None = None,
) -> Network:
    """Return the network in a file of ``torch.export.save``; torch is not needed.

    Parameters
    ----------
    path : str or Path
        The ``.pt2`` file.
    bind : mapping of str to int, optional
        Sizes of symbolic dimensions.
    only : sequence of str, optional
        Kinds of operations that become layers; the others are left out, on record.

    Raises
    ------
    InputError
        When the file cannot be read, or is malformed.
    """
    name = Path(path)
    builder = Builder(name.stem, f"exported program {name.name}", only)
    program = read_file(path, bind or {})
    try:
        return Importer(builder, program).network()
    except InputError as failure:
        raise InputError(failure.message, source=str(path), key=failure.key) from None


def read_program(
    exported: Any,
    *,
    bind: Mapping[str, int] | None = None,
    only: Sequence[str] | None = None,
    name: str | None = None,
) -> Network:
    """Return the network of an object of ``torch.export.export``; see `load_program`."""
    module = name or getattr(exported.graph_module, "_get_name", lambda: "program")()
    builder = Builder(str(module), "exported program", only)
    return Importer(builder, from_object(exported, bind or {})).network()


class Importer:
    """Turns the calls of one program into layers, views and records.

    Parameters
    ----------
    builder : Builder
        Collects the network.
    program : Program
        The program.
    """

    def __init__(self, builder: Builder, program: Program) -> None:
        self.builder = builder
        self.program = program
        self.values: dict[str, Value] = {}
        self.lists: dict[str, list[str]] = {}
        self.known: set[str] = set()
        self.makers: dict[str, Call] = {}
        self.readers: dict[str, int] = {}

    def network(self) -> Network:
        """Read all calls and return the network."""
        from tilewright.frontends.torch.operators import OPERATORS

        program = self.program
        for name in program.inputs:
            self.values[name] = self.builder.input(name, self.shape(name))
        for call in program.calls:
            for value in call.arguments.values():
                for ref in value if isinstance(value, list) else [value]:
                    if isinstance(ref, Ref):
                        self.readers[ref.name] = self.readers.get(ref.name, 0) + 1
        for name in program.outputs:
            self.readers[name] = self.readers.get(name, 0) + 1
        for call in program.calls:
            self.read(call, OPERATORS)
            for name in call.outputs:
                self.makers[name] = call
        for name in program.outputs:
            if name in self.values:
                self.builder.output(self.values[name])
        return self.builder.network()

    def read(self, call: Call, operators: Mapping[str, Operator]) -> None:
        """Read one call."""
        name = call.target.removeprefix("aten.")
        # a call in place makes what the call beside it would
        operator = operators.get(name) or operators.get(name.removesuffix("_"))
        tensors = [ref.name for ref in self.refs(call)]
        if call.target.endswith("getitem"):
            self.item(call)
            return
        made = [out for out in call.outputs if out in self.program.shapes]
        if not made:
            self.builder.folded(call.name, call.target)
            return
        made_of_numbers = name in CREATIONS
        if made_of_numbers or all(
            ref in self.known or ref in self.program.numbers for ref in tensors
        ):
            shapes = [self.shape(out) for out in made]
            self.known |= set(made)
            self.put(made, self.builder.other(call.name, call.target, [], shapes, FOLDED))
            return
        try:
            if operator is None:
                raise NotUnderstoodError
            self.put(made, operator(self, call))
        except NotUnderstoodError:
            inputs = [self.value(ref) for ref in tensors if ref in self.program.shapes]
            shapes = [self.shape(out) for out in made]
            self.put(made, self.builder.unknown(call.name, call.target, inputs, shapes))
        except InputError as failure:
            raise InputError(f"call '{call.name}' ({call.target}): {failure.message}") from None
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as failure:
            raise InputError(
                f"call '{call.name}' ({call.target}) is malformed: "
                f"{type(failure).__name__}: {failure}"
            ) from None

    def put(self, names: Sequence[str], values: Sequence[Value]) -> None:
        """Say what a call has made, which has the shapes that the program says."""
        for name, value in zip(names, values, strict=False):
            shape = self.shape(name)
            if value.words != prod(shape):
                raise InputError(f"makes {list(value.shape)}, the program says {list(shape)}")
            self.values[name] = value.reshape(*shape)

    def item(self, call: Call) -> None:
        """Read the choice of one of several tensors."""
        of, index = list(call.arguments.values())[:2]
        source = f"{of.name}.{index}" if isinstance(of, Ref) else ""
        if source in self.values:
            self.values[call.outputs[0]] = self.values[source]
        maker = self.makers.get(source)
        if maker is not None:
            self.makers[call.outputs[0]] = maker
        if source in self.known:
            self.known.add(call.outputs[0])
        self.builder.folded(call.name, call.target)

    def refs(self, call: Call) -> list[Ref]:
        """Return what a call reads."""
        found = []
        for value in call.arguments.values():
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, Ref):
                    found.append(item)
        return found

    def shape(self, name: str) -> Shape:
        """Return the shape of a tensor."""
        if name not in self.program.shapes:
            raise InputError(f"tensor '{name}' has no shape")
        shape = self.program.shapes[name]
        if any(size < 0 for size in shape) or prod(shape) > MAX_WORDS:
            raise InputError(f"tensor '{name}' has the shape {list(shape)[:12]}")
        if 0 in shape:
            raise InputError(f"tensor '{name}' is empty: {list(shape)}")
        return shape

    def value(self, name: str) -> Value:
        """Return a tensor; a parameter is a weight from then on."""
        if name not in self.values:
            if name not in self.program.weights:
                raise InputError(f"no call makes tensor '{name}' before it is read")
            title = self.program.weights[name] or name
            self.values[name] = self.builder.weight(title, self.shape(name))
        return self.values[name]

    def tensor(self, call: Call, *names: str) -> Value:
        """Return a tensor that a call reads, under the first of several names of it."""
        for name in names:
            given = call.arguments.get(name)
            if isinstance(given, Ref) and given.name in self.program.shapes:
                return self.value(given.name)
        raise NotUnderstoodError

    def tensors(self, call: Call, *names: str) -> list[Value]:
        """Return all tensors among some arguments of a call, or among all."""
        given = [call.arguments.get(name) for name in names] if names else call.arguments.values()
        found = []
        for item in given:
            for ref in item if isinstance(item, list) else [item]:
                if isinstance(ref, Ref) and ref.name in self.program.shapes:
                    found.append(self.value(ref.name))
        return found

    def number(self, call: Call, name: str, default: Any = None) -> Any:
        """Return an argument that is a number, a truth value, text or a list of them."""
        given = call.arguments.get(name, default)
        if isinstance(given, list):
            return [self._number(item) for item in given]
        return self._number(given)

    def _number(self, item: Any) -> Any:
        if isinstance(item, Ref):
            if item.name not in self.program.numbers:
                raise NotUnderstoodError
            return self.program.numbers[item.name]
        return item

    def per_axis(self, call: Call, name: str, rank: int, default: int) -> list[int]:
        """Return an argument with one number per axis; one alone is for all."""
        given = self.number(call, name)
        values = given if isinstance(given, list) else [default if given is None else given]
        values = values or [default]
        values = values * rank if len(values) == 1 else values
        if len(values) != rank or any(type(value) is not int for value in values):
            raise InputError(f"'{name}' is not for {rank} axes")
        return values

    def out(self, call: Call) -> Shape:
        """Return the shape of the first tensor that a call makes."""
        return self.shape(next(name for name in call.outputs if name in self.program.shapes))

    def view(self, call: Call, *values: Value) -> list[Value]:
        """Record that a call makes views; of long ones it makes tensors."""
        if not all(map(is_simple, values)):
            return self.moved(call)
        self.builder.moved(call.name, call.target)
        return list(values)

    def moved(self, call: Call) -> list[Value]:
        """Record a call that moves words in a way that is no view."""
        shapes = [self.shape(name) for name in call.outputs if name in self.program.shapes]
        return self.builder.other(call.name, call.target, self.tensors(call), shapes, MOVES)

    def follows(self, call: Call, *targets: str) -> bool:
        """Whether the first tensor of a call comes from one of these, and nobody else reads it."""
        first = next(iter(self.refs(call)), None)
        maker = self.makers.get(first.name) if first is not None else None
        return (
            first is not None
            and maker is not None
            and self.readers.get(first.name, 0) == 1
            and maker.target.removeprefix("aten.") in targets
        )
