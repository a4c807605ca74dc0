"""Mappings that users may pass: files, objects, styles by name; what is none of it is refused."""

from __future__ import annotations

import os
import re
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.document import SUFFIXES, Document, describe, is_path, load, parse, read_text
from tilewright.errors import InputError, nearest
from tilewright.interop.maestro.reader import looks_like_directives, parse_dataflow
from tilewright.interop.maestro.styles import load_style, style_names
from tilewright.interop.maestro.syntax import Dataflow
from tilewright.interop.maestro.translate import translate
from tilewright.interop.timeloop.files import timeloop_mapping
from tilewright.mapping.files import parse_mapping
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.text import parse_text
from tilewright.mapping.validity import check as check_validity
from tilewright.workload.layer import Layer

MAPPINGS = re.compile(r"^\s*\"?mappings\"?\s*:", re.MULTILINE)

MappingLike = str | PathLike[str] | Mapping | Dataflow | list[Any] | dict[str, Any]


def the_mapping(
    mapping: MappingLike | Document, layer: Layer, architecture: Architecture
) -> Mapping:
    """Return a mapping as it is, or one that was written, checked for the machine."""
    if isinstance(mapping, Mapping):
        return mapping
    if isinstance(mapping, list | dict | Document):
        return parse_mapping(mapping, layer, architecture)
    if not isinstance(mapping, str | PathLike):
        raise InputError(
            f"expected a path, a Mapping or a list of nodes, found {describe(mapping)}",
            key="mapping",
        )
    found = timeloop_mapping(fspath(mapping), layer, architecture)
    if found is not None:
        return found
    document = load(fspath(mapping))
    if is_loop_nest(document):
        return parse_text(read_text(fspath(mapping)), layer, architecture, source=document.source)
    return parse_mapping(document, layer, architecture)


def the_run(
    mapping: MappingLike | Document, layer: Layer, architecture: Architecture
) -> tuple[Architecture, Mapping]:
    """Return a mapping, and the machine that it runs on.

    That is the given one, except for directives: they arrange the processing elements as clusters.
    """
    flow = the_dataflow(mapping, layer.name)
    if flow is None:
        return architecture, the_mapping(mapping, layer, architecture)
    found = translate(flow, layer, architecture)
    check_validity(found.mapping, layer, found.architecture)
    return found.architecture, found.mapping


def the_dataflow(mapping: MappingLike | Document, layer: str | None = None) -> Dataflow | None:
    """Return directives: themselves, a style by name, a file or a text; None for anything else."""
    style = the_style(mapping)
    if style is not None or not isinstance(mapping, str | PathLike):
        return style
    name = fspath(mapping)
    if "\n" in name or "Map(" in name:
        return parse_dataflow(name, layer=layer)
    if name.endswith(".m"):
        return parse_dataflow(read_text(name), name, layer)
    if not is_path(name) and not Path(name).suffix:
        names = style_names()
        raise InputError(
            f"no mapping '{name}'; accepted: the path of a file, or a mapping style: "
            f"{', '.join(names)}{nearest(name, names)}",
            key="mapping",
        )
    if os.path.isfile(name) and Path(name).suffix.lower() not in SUFFIXES:
        text = read_text(name)
        if looks_like_directives(text):
            return parse_dataflow(text, name, layer)
    return None


def the_style(mapping: MappingLike | Document) -> Dataflow | None:
    """Return directives that are meant for any layer: themselves, or a style by name."""
    if isinstance(mapping, Dataflow):
        return mapping
    if isinstance(mapping, str) and mapping.lower() in style_names():
        return load_style(mapping.lower())
    return None


def is_for_networks(mapping: MappingLike) -> bool:
    """Whether a mapping is written for all layers of a network.

    That is a style, a file in MAESTRO's format, or one that has ``mappings``.
    """
    if the_style(mapping) is not None or (isinstance(mapping, str) and mapping.endswith(".m")):
        return True
    return of_several_layers(mapping) is not None


def of_several_layers(mapping: MappingLike) -> Document | None:
    """Return a file that has ``mappings``, which are those of several layers."""
    if not isinstance(mapping, str | PathLike) or not os.path.isfile(mapping):
        return None
    text = read_text(fspath(mapping))
    if MAPPINGS.search(text) is None or looks_like_directives(text):
        return None
    document = parse(text, fspath(mapping))
    several = isinstance(document.data, dict) and isinstance(document.data.get("mappings"), dict)
    return document if several else None


def is_loop_nest(document: Document) -> bool:
    """Whether a file holds a mapping as it is printed for people: to YAML, that is one text."""
    return isinstance(document.data, str) and " stores " in document.data
