"""YAML (and JSON) files read as plain data that knows the line of every key."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tilewright.errors import InputError, nearest
from tilewright.kernels.on_disk.folders import folder_of

if TYPE_CHECKING:
    from ruamel.yaml import YAML

KeyPath = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)

SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 2 * 1024 * 1024
MAX_VALUES = 100_000  # keys and items of a file, those that aliases repeat included


class Strict(BaseModel):
    """Base of what is read from a file: unknown keys and implicit conversions are errors."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False,
        defer_build=True,  # most commands read few kinds of files
    )  # fmt: skip


@dataclass(frozen=True)
class Document:
    """Plain data from a file, with the line on which each key stands.

    Attributes
    ----------
    data : object
        Dicts, lists, strings, numbers, booleans and None.
    source : str
        Name of the file, for messages.
    lines : mapping of key path to int
        Line (from 1) of every key and list item.
    tags : mapping of key path to str
        Labels such as ``!Component`` that stand before mappings of keys; nothing is made of them.
    """

    data: Any
    source: str
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    tags: Mapping[KeyPath, str] = field(default_factory=dict)

    def line(self, path: KeyPath) -> int | None:
        """Return the line of the innermost key of `path` that the file has."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None

    def error(self, message: str, path: KeyPath = ()) -> InputError:
        """Return an error that points at `path` in this file."""
        return InputError(
            message, source=self.source, line=self.line(path), key=key_text(path) or None
        )

    def errors_at(self, path: KeyPath) -> Callable[[str, str], InputError]:
        """Return what makes errors about keys of the data at `path`; no key means all of it."""
        return lambda message, key: self.error(message, (*path, key) if key else path)

    def validate(self, model: type[Model], path: KeyPath = ()) -> Model:
        """Check the part of the data at `path` against a pydantic model.

        Raises
        ------
        InputError
            For the first thing that is wrong, with its line and the nearest valid name.
        """
        data = self.data
        for key in path:
            data = data[key]
        if not isinstance(data, dict):
            expected = ", ".join(f"'{name}'" for name in field_names(model))
            raise self.error(f"expected keys ({expected}) here, found {describe(data)}", path)
        try:
            return model.model_validate(data)
        except ValidationError as failure:
            first = min(failure.errors(), key=lambda e: e["type"] != "extra_forbidden")
            where = path + tuple(first["loc"])
            raise self._from_pydantic(model, first, where) from None

    def _from_pydantic(self, model: type[BaseModel], first: Any, where: KeyPath) -> InputError:
        kind = first["type"]
        while where and self.lines and where not in self.lines and kind != "missing":
            where = where[:-1]
        owner = owner_model(model, first["loc"][:-1])
        if kind == "extra_forbidden":
            name = str(first["loc"][-1])
            valid = field_names(owner)
            return self.error(
                f"unknown key '{name}'; accepted: {', '.join(valid)}{nearest(name, valid)}", where
            )
        if kind == "missing":
            return self.error(f"missing key '{first['loc'][-1]}'", where[:-1])
        message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        return self.error(f"{message}, found {describe(first['input'])}", where)


class LinesWhenAsked(Mapping[KeyPath, int]):
    """The lines of keys of a text, which is parsed when one is asked for: few messages need one.

    Parameters
    ----------
    text, source : str
        As for `parse`.
    """

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source

    @cached_property
    def known(self) -> Mapping[KeyPath, int]:
        """All lines."""
        return parse(self.text, self.source).lines

    def __getitem__(self, path: KeyPath) -> int:
        return self.known[path]

    def __iter__(self) -> Iterator[KeyPath]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)


def field_names(model: type[BaseModel]) -> list[str]:
    """Return the keys that a model accepts, as a file spells them."""
    return [info.alias or name for name, info in model.model_fields.items()]


def owner_model(model: type[BaseModel], path: tuple[str | int, ...]) -> type[BaseModel]:
    """Return the nested model that the keys of `path` lead to, as far as they can be followed."""
    for key in path:
        for name, info in model.model_fields.items():
            if key in (name, info.alias):
                for candidate in (info.annotation, *getattr(info.annotation, "__args__", ())):
                    if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                        model = candidate
    return model


def key_text(path: KeyPath) -> str:
    """Return a path of keys as people write it: ``levels[1].size``."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return text


def describe(value: object) -> str:
    """Return a short description of a value for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping of keys"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and abs(value) >= 10**60:
        return "a number of more than 60 digits"  # Python refuses to print thousands of them
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def is_path(name: str | Path) -> bool:
    """Whether a name that is none of those that ship means a file."""
    path = Path(name)
    return path.suffix.lower() in SUFFIXES or len(path.parts) > 1 or os.path.lexists(name)


def load(path: str | Path) -> Document:
    """Read a YAML or JSON file.

    Raises
    ------
    InputError
        When the file cannot be read, is empty, is not YAML, or repeats a key.
    """
    return parse(read_text(path), str(path))


def load_named(name_or_path: str | Path, folder: Path, what: str) -> Document:
    """Read a file of a folder by its name, or any file by its path.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a file that ships, without its ending, or a path.
    folder : Path
        Where the files are that ship.
    what : str
        What they describe, for the message when there is no such name.

    Raises
    ------
    InputError
        When there is no such file, or as for `load`.
    """
    names = shipped(folder)
    if str(name_or_path) in names:
        return load_shipped(folder / f"{name_or_path}.yaml")
    if is_path(name_or_path):
        return load(name_or_path)
    raise InputError(
        f"no {what} '{name_or_path}'; accepted: the path of a file (*.yaml), "
        f"or one of {', '.join(names)}{nearest(str(name_or_path), names)}"
    )


def load_shipped(path: Path) -> Document:
    """Read a file that ships, as `load` does, but once: then what it says is kept as JSON.

    To parse YAML takes longer than most of what commands do. What is kept lies in a folder for
    compiled code, and is read for the same text and the same parser only.
    """
    folder = folder_of(str(path.parent))
    if folder is None:
        return load(path)
    text = read_text(path)
    stamp = blake2b(text.encode() + Path(__file__).read_bytes(), digest_size=16).hexdigest()
    place = Path(folder) / f"{path.stem}.json"
    with suppress(OSError, ValueError):
        kept = json.loads(place.read_bytes())
        if isinstance(kept, dict) and kept.get("stamp") == stamp:
            return Document(kept["data"], str(path), LinesWhenAsked(text, str(path)))
    document = parse(text, str(path))
    if not document.tags:
        with suppress(OSError, ValueError):
            content = json.dumps({"stamp": stamp, "data": document.data})
            with tempfile.TemporaryDirectory(dir=folder) as aside:
                new = Path(aside) / place.name
                new.write_text(content, encoding="utf-8")
                new.replace(place)
    return document


def shipped(folder: Path) -> list[str]:
    """Return the names of the files of a folder, sorted."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def read_text(path: str | Path) -> str:
    """Return the text of a file.

    Raises
    ------
    InputError
        When the file cannot be read, is too long, or is not UTF-8.
    """
    source = str(path)
    try:
        with Path(path).open("rb") as file:
            # one more than is accepted: a device may have no end
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as failure:
        why = getattr(failure, "strerror", None) or failure
        raise InputError(f"cannot be read: {why}", source=source) from None
    if len(raw) > MAX_BYTES:
        raise InputError(f"has more than the {MAX_BYTES} bytes that are read", source=source)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as failure:
        raise InputError(
            f"is not text in UTF-8 (byte {failure.start} is 0x{raw[failure.start]:02x})",
            source=source,
        ) from None


def parse(text: str, source: str = "<text>") -> Document:
    """Read YAML or JSON text; `source` names it in messages."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = YAML(typ="safe", pure=True)
    try:
        root = yaml.compose(text)
        if root is None:
            raise InputError("is empty", source=source)
        lines: dict[KeyPath, int] = {(): root.start_mark.line + 1}
        tags: dict[KeyPath, str] = {}
        data = _plain(root, (), Marks(lines, tags), source, yaml)
    except MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        problem = failure.problem or failure.context or "cannot be parsed"
        line = mark.line + 1 if mark else None
        raise InputError(f"is not valid YAML: {problem}", source=source, line=line) from None
    except YAMLError as failure:
        raise InputError(f"is not valid YAML: {failure}", source=source) from None
    except RecursionError:
        raise InputError("is nested too deeply", source=source) from None
    return Document(data, source, lines, tags)


@dataclass(frozen=True)
class Marks:
    """What is kept of a file beside its data: lines and labels, by key path."""

    lines: dict[KeyPath, int]
    tags: dict[KeyPath, str]


def _plain(node: Any, path: KeyPath, marks: Marks, source: str, yaml: YAML) -> Any:
    from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

    lines = marks.lines
    if len(lines) > MAX_VALUES:
        # a few aliases of aliases repeat more than any memory holds
        raise InputError(f"has more than {MAX_VALUES:,} values", source=source)
    if isinstance(node, ScalarNode):
        return _scalar(node, path, source, yaml)
    if isinstance(node, SequenceNode):
        items = []
        for i, item in enumerate(node.value):
            lines[(*path, i)] = item.start_mark.line + 1
            items.append(_plain(item, (*path, i), marks, source, yaml))
        return items
    assert isinstance(node, MappingNode)
    if str(node.tag).startswith("!"):
        marks.tags[path] = str(node.tag)
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, ScalarNode):
            raise InputError("keys must be names", source=source, line=line, key=key_text(path))
        key = str(_scalar(key_node, path, source, None))
        if key in result:
            raise InputError(
                f"key '{key}' occurs twice (first on line {lines[(*path, key)]})",
                source=source,
                line=line,
                key=key_text((*path, key)),
            )
        lines[(*path, key)] = line
        result[key] = _plain(value_node, (*path, key), marks, source, yaml)
    return result


def _scalar(node: Any, path: KeyPath, source: str, yaml: YAML | None) -> Any:
    """Return the value of a scalar; without a `yaml` that can resolve it, its text."""
    try:
        value = node.value if yaml is None else yaml.constructor.construct_object(node)
        if not isinstance(value, str | int | float | bool | None):
            value = node.value
        if isinstance(value, str):
            value.encode()  # an escape can stand for half a character
    except UnicodeEncodeError:
        problem = "is not text: an escape stands for half a character"
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as failure:
        problem = str(failure) or f"cannot be read as {node.tag}"
    else:
        return value
    line = node.start_mark.line + 1
    raise InputError(problem, source=source, line=line, key=key_text(path)) from None
