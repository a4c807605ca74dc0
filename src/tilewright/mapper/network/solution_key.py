"""What the result of a search depends on, and a key that stands for all of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import blake2b
from importlib.metadata import distributions
from numbers import Integral, Real
from pathlib import Path

from tilewright.architecture.machine import Architecture
from tilewright.kernels.kernel import source_digest
from tilewright.mapper.network.same_object import kept_for_same
from tilewright.workload.layer import Layer

PACKAGE = Path(__file__).parents[2]
FOLDERS = ("architecture", "kernels", "mapper", "mapping", "model", "timing", "workload")
FOR_PEOPLE = ("name", "source", "notes")


def likeness(layer: Layer) -> tuple[object, ...]:
    """Return what two layers have in common when one mapping is the best of both."""
    return (tuple(layer.bounds.items()), layer.tensors, layer.operation)


def solution_key(
    layer: Layer, architecture: Architecture, objective: str, options: Mapping[str, object]
) -> str:
    """Return a key that is the same where a search has to have the same result.

    Parameters
    ----------
    layer : Layer
        What is computed; its name and how often it occurs do not matter.
    architecture : Architecture
        What computes it; its name and its source do not matter. The names of its levels do, for
        mappings refer to them.
    objective : str
        What is minimised.
    options : mapping of str to object
        Every option that changes the searched space. Values are numbers, strings, collections and
        dataclasses of such.

    Returns
    -------
    str
        64 hexadecimal digits, a digest of all this and of `version`.
    """
    rest = (objective, sorted(options.items()), version())
    parts = (layer_text(layer), machine_text(architecture), json.dumps(plain(rest)))
    return blake2b("\n".join(parts).encode(), digest_size=32).hexdigest()


@kept_for_same(256)
def layer_text(layer: Layer) -> str:
    """Return what the best mappings of a layer depend on."""
    return json.dumps(plain(likeness(layer)))


@kept_for_same(64)
def machine_text(architecture: Architecture) -> str:
    """Return what the best mappings on a machine depend on."""
    machine = {
        field.name: getattr(architecture, field.name)
        for field in fields(architecture)
        if field.name not in FOR_PEOPLE
    }
    return json.dumps(plain(machine))


@cache
def version() -> tuple[str, ...]:
    """Return the version of the package and digests of the code that results depend on."""
    installed = [found.version for found in distributions(name="tilewright")]
    return (*installed, *(source_digest(PACKAGE / folder) for folder in FOLDERS))


def plain(value: object) -> object:
    """Return a value as JSON has it, such that different values stay different."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if is_dataclass(value):
        named = [[field.name, plain(getattr(value, field.name))] for field in fields(value)]
        return [type(value).__name__, named]
    if isinstance(value, Mapping):
        return [[plain(key), plain(item)] for key, item in value.items()]
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=json.dumps)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be part of a key")
