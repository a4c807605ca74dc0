"""Programs of torch.export: from a ``.pt2`` file without torch, or from the object itself.

A file is a zip with the graph as JSON (torch/_export/serde/schema.py); weights stay unread.
"""

from __future__ import annotations

import ast
import json
import math
import operator
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilewright.document import describe
from tilewright.errors import InputError, nearest
from tilewright.workload.view import Shape

MAJORS = (5, 6, 7, 8)
MAX_JSON = 256 * 1024 * 1024
MAX_SIZE = 2**31
LEGACY = "serialized_exported_program.json"


@dataclass(frozen=True)
class Ref:
    """A tensor, or a number that the program computes, by its name."""

    name: str


@dataclass(frozen=True)
class Call:
    """One call of an operator.

    Attributes
    ----------
    name : str
        Of the call.
    target : str
        The operator without its overload: ``aten.conv2d``.
    arguments : mapping of str to object
        By the names of the operator's schema: `Ref`, numbers, text, lists, None.
    outputs : tuple of str
        Names of what it makes.
    """

    name: str
    target: str
    arguments: Mapping[str, Any]
    outputs: tuple[str, ...]


@dataclass
class Program:
    """A program of calls.

    Attributes
    ----------
    inputs : list of str
        Tensors that come from outside.
    weights : mapping of str to str
        Parameters, buffers and constants: the name in the program, and in the module.
    outputs : list of str
        Tensors that go outside.
    calls : list of Call
        In order.
    shapes : mapping of str to shape
        Of every tensor whose shape is known.
    numbers : mapping of str to int
        Whole numbers that the program computes from shapes.
    """

    inputs: list[str] = field(default_factory=list)
    weights: dict[str, str] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)


def read_file(path: str | Path, bind: Mapping[str, int]) -> Program:
    """Return the program in a ``.pt2`` file.

    Raises
    ------
    InputError
        When it is none, of a version that is not known, or malformed.
    """
    source = str(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entry = _model_entry(archive)
            if entry is None:
                raise InputError("is no file of torch.export.save: it has no model", source=source)
            if entry.file_size > MAX_JSON:
                raise InputError(
                    f"its graph has {entry.file_size} bytes; at most {MAX_JSON} are read",
                    source=source,
                )
            data = json.loads(archive.read(entry))
    except OSError as failure:
        raise InputError(f"cannot be read: {failure.strerror}", source=source) from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError) as failure:
        raise InputError(f"is no file of torch.export.save: {failure}", source=source) from None
    except (ValueError, RecursionError, EOFError) as failure:
        raise InputError(f"its graph is no JSON: {failure}", source=source) from None
    except InputError:
        raise
    except Exception as failure:
        # zlib and lzma have errors of their own for damaged data
        raise InputError(f"is damaged: {failure}", source=source) from None
    try:
        return _from_json(data, Sizes(bind))
    except InputError as failure:
        raise InputError(failure.message, source=source, key=failure.key) from None
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError) as failure:
        raise InputError(
            f"its graph does not follow the schema: {type(failure).__name__}: {failure}",
            source=source,
        ) from None


def _model_entry(archive: zipfile.ZipFile) -> zipfile.ZipInfo | None:
    entries = [info for info in archive.infolist() if info.filename.endswith(".json")]
    for info in entries:
        parts = info.filename.split("/")
        if parts[-1] == LEGACY or (len(parts) > 1 and parts[-2] == "models"):
            return info
    return None


def _from_json(data: Any, sizes: Sizes) -> Program:
    version = data.get("schema_version") if isinstance(data, dict) else None
    if isinstance(version, dict):
        major, minor = version.get("major"), version.get("minor")
    else:
        major, minor = version, 0
    if major not in MAJORS:
        raise InputError(
            f"has version {major}.{minor} of the schema of torch.export; "
            f"versions {MAJORS[0]} to {MAJORS[-1]} are read"
        )
    module = data["graph_module"]
    graph, signature = module["graph"], module["signature"]
    program = Program()
    for name, meta in graph["tensor_values"].items():
        shape = tuple(sizes.of(size) for size in meta["sizes"])
        program.shapes[name] = shape
    for name, value in graph.get("sym_int_values", {}).items():
        program.numbers[name] = sizes.of(value)
    for spec in signature["input_specs"]:
        ((kind, entry),) = spec.items()
        if kind == "user_input":
            ((form, given),) = entry["arg"].items()
            if form == "as_tensor":
                program.inputs.append(_text(given["name"]))
        elif kind in ("parameter", "buffer", "tensor_constant"):
            title = entry.get(f"{kind}_name") or entry["arg"]["name"]
            program.weights[_text(entry["arg"]["name"])] = _text(title)
    for spec in signature["output_specs"]:
        ((kind, entry),) = spec.items()
        if kind == "user_output":
            program.outputs += _names(entry["arg"])
    for i, node in enumerate(graph["nodes"]):
        arguments = {given["name"]: _argument(given["arg"]) for given in node["inputs"]}
        outputs = [name for arg in node["outputs"] for name in _names(arg)]
        name = _text(node.get("name") or (outputs[0] if outputs else f"node{i}"))
        program.calls.append(Call(name, _target(node["target"]), arguments, tuple(outputs)))
    sizes.check()
    return program


def _argument(arg: dict[str, Any]) -> Any:
    """Return what a serialized argument says."""
    ((form, value),) = arg.items()
    if form == "as_none":
        return None
    if form in ("as_tensor", "as_custom_obj", "as_graph"):
        return Ref(_text(value["name"]))
    if form in ("as_tensors",):
        return [Ref(_text(item["name"])) for item in value]
    if form in ("as_optional_tensors",):
        return [_argument(item) for item in value]
    if form == "as_optional_tensor":
        return _argument(value)
    if form in ("as_sym_int", "as_sym_bool", "as_sym_float"):
        return _symbol(value)
    if form in ("as_sym_ints", "as_sym_bools", "as_sym_floats"):
        return [_symbol(item) for item in value]
    return value


def _symbol(value: dict[str, Any]) -> Any:
    ((form, inner),) = value.items()
    return Ref(_text(inner)) if form == "as_name" else inner


def _text(value: Any) -> str:
    """Return a name; anything else does not follow the schema."""
    if not isinstance(value, str):
        raise TypeError(f"expected a name, found {describe(value)}")
    return value


def _names(arg: dict[str, Any]) -> list[str]:
    """Return the names of what an argument refers to."""
    value = _argument(arg)
    values = value if isinstance(value, list) else [value]
    return [item.name for item in values if isinstance(item, Ref)]


def _target(text: str) -> str:
    """Return an operator without its overload: ``torch.ops.aten.add.Tensor`` -> ``aten.add``."""
    parts = text.removeprefix("torch.ops.").split(".")
    return ".".join(parts[:2]) if len(parts) > 2 else ".".join(parts)


class Sizes:
    """Sizes of dimensions, of which some are expressions of symbols that are bound.

    Parameters
    ----------
    bind : mapping of str to int
        Sizes of the symbols.
    """

    def __init__(self, bind: Mapping[str, int]) -> None:
        for name, size in bind.items():
            if type(size) is not int or not 1 <= size < MAX_SIZE:
                raise InputError(
                    f"'{name}' must be a whole number from 1 to 2**31 - 1, found {describe(size)}",
                    key="bind",
                )
        self.bind = dict(bind)
        self.seen: set[str] = set()

    def of(self, size: Any) -> int:
        """Return a size from the schema: ``{"as_int": 4}`` or ``{"as_expr": ...}``."""
        if "as_int" in size:
            value = size["as_int"]
        else:
            expression = size["as_expr"]
            value = self.value(expression["expr_str"], (expression.get("hint") or {}).get("as_int"))
        if type(value) is not int or not -MAX_SIZE < value < MAX_SIZE:
            raise InputError(f"expected a size below 2**31, found {describe(value)}")
        return value

    def value(self, text: str, hint: int | None = None) -> int:
        """Return what an expression of symbols amounts to."""
        if len(text) > 2000:
            raise InputError("an expression of a size is too long")
        try:
            result = self._node(ast.parse(text.strip(), mode="eval").body, hint)
        except (SyntaxError, ZeroDivisionError, OverflowError, RecursionError):
            raise InputError(f"cannot compute the size '{text[:60]}'") from None
        return math.floor(result)

    def check(self) -> None:
        """Refuse bound symbols that the program does not have."""
        for name in self.bind:
            if name not in self.seen:
                have = f"it has {', '.join(sorted(self.seen))}" if self.seen else "it has none"
                raise InputError(
                    f"no symbolic dimension '{name}'; {have}{nearest(name, self.seen)}", key="bind"
                )

    def _node(self, node: ast.expr, hint: int | None) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return node.value
        if isinstance(node, ast.Name):
            self.seen.add(node.id)
            if node.id not in self.bind:
                was = "" if hint is None else f", of which it makes {hint} in the example"
                raise InputError(
                    f"dimension '{node.id}' has no size{was}: --bind {node.id}=... gives it one"
                )
            return self.bind[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._node(node.operand, hint)
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            left, right = self._node(node.left, hint), self._node(node.right, hint)
            if isinstance(node.op, ast.Pow) and (abs(right) > 4 or abs(left) > MAX_SIZE):
                raise OverflowError
            return ARITHMETIC[type(node.op)](left, right)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            function = FUNCTIONS.get(node.func.id)
            if function is not None and node.args:
                return function(*(self._node(item, hint) for item in node.args))
        raise InputError(f"cannot compute the size '{ast.unparse(node)[:60]}'")


ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
FUNCTIONS: dict[str, Callable[..., float]] = {
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "CeilDiv": lambda a, b: -(-a // b),
    "IntTrueDiv": operator.truediv,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "ModularIndexing": lambda a, b, c: (a // b) % c,
    "Max": max,
    "Min": min,
    "Abs": abs,
    "floor": math.floor,
    "ceiling": math.ceil,
    "TruncToInt": math.trunc,
    "CeilToInt": math.ceil,
    "FloorToInt": math.floor,
}


def from_object(exported: Any, bind: Mapping[str, int]) -> Program:
    """Return the program of an object of ``torch.export.export``; torch itself is not imported."""
    sizes = Sizes(bind)
    program = Program()
    kinds = {"PARAMETER": True, "BUFFER": True, "CONSTANT_TENSOR": True, "USER_INPUT": False}
    specs = {
        spec.arg.name: spec
        for spec in exported.graph_signature.input_specs
        if hasattr(spec.arg, "name")
    }
    for node in exported.graph_module.graph.nodes:
        value = node.meta.get("val")
        outputs = _make(program, node, value, sizes)
        if node.op == "placeholder":
            spec = specs.get(node.name)
            kind = kinds.get(spec.kind.name) if spec is not None else None
            if kind and spec is not None:
                program.weights[node.name] = str(spec.target or "")
            elif kind is False and node.name in program.shapes:
                program.inputs.append(node.name)
        elif node.op == "call_function":
            target = _target(_called(node.target))
            program.calls.append(Call(node.name, target, _arguments(node), tuple(outputs)))
    for spec in exported.graph_signature.output_specs:
        if spec.kind.name == "USER_OUTPUT" and hasattr(spec.arg, "name"):
            program.outputs.append(spec.arg.name)
    sizes.check()
    return program


def _called(target: Any) -> str:
    """Return what a node calls; a function of Python itself by its name, such as ``getitem``."""
    text = str(target)
    return str(getattr(target, "__name__", text)) if text.startswith("<built-in") else text


def _make(program: Program, node: Any, value: Any, sizes: Sizes) -> list[str]:
    """Keep the shapes of what a node makes, and return the names of it."""
    if isinstance(value, list | tuple):
        names = []
        for i, item in enumerate(value):
            names += _make(program, _Named(f"{node.name}.{i}"), item, sizes)
        return names
    if hasattr(value, "shape"):
        program.shapes[node.name] = tuple(sizes.value(str(size)) for size in value.shape)
    elif value is not None and not isinstance(value, bool | float | str):
        program.numbers[node.name] = sizes.value(str(value))
    return [node.name]


@dataclass(frozen=True)
class _Named:
    name: str


def _arguments(node: Any) -> dict[str, Any]:
    schema = getattr(node.target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema is not None else []
    given = {
        names[i] if i < len(names) else str(i): _plain(item) for i, item in enumerate(node.args)
    }
    return given | {key: _plain(item) for key, item in node.kwargs.items()}


def _plain(item: Any) -> Any:
    if isinstance(item, list | tuple):
        return [_plain(inner) for inner in item]
    if hasattr(item, "meta") and hasattr(item, "name"):
        return Ref(item.name)
    return item
