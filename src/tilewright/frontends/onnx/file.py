"""ONNX files: read without their weights, checked before anything is believed."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

from tilewright.document import describe
from tilewright.errors import InputError, nearest
from tilewright.frontends.onnx.wire_format import without_weights

OLDEST_OPSET = 13
MAX_SIZE = 2**31
MAX_WORDS = 2**36
MAX_BYTES = 2**29


def read_model(path: str | Path, bind: Mapping[str, int]) -> Any:
    """Return the model in a file with all its dimensions bound, its functions inlined.

    Parameters
    ----------
    path : str or Path
        The file. Weights in other files need not be there.
    bind : mapping of str to int
        Sizes of symbolic dimensions.

    Raises
    ------
    InputError
        When the package is missing, or the file is malformed, too old, or names what no model
        has.
    """
    source = str(path)
    try:
        import onnx
    except ImportError:
        raise InputError(
            "is read with the package 'onnx', which is not installed: pip install "
            "'tilewright[onnx]'",
            source=source,
        ) from None
    try:
        message = without_weights(path)
        if len(message) >= MAX_BYTES:
            raise InputError(f"has {len(message)} bytes without its weights", source=source)
        model = onnx.load_model_from_string(message)
    except OSError as failure:
        raise InputError(f"cannot be read: {failure.strerror}", source=source) from None
    except InputError:
        raise
    except Exception as failure:
        # every fault of the bytes and of protobuf's parser means the same
        raise InputError(f"is no ONNX model: {_first_line(failure)}", source=source) from None
    if not model.HasField("graph") or not model.graph.node:
        raise InputError("is no ONNX model: it has no graph with nodes", source=source)
    _check_text(model.graph, source)
    _check_opset(model, source)
    _check_tensors(model, source)
    _bind(model, dict(bind), source)
    if model.functions:
        model = _inlined(model, source)
    return _inferred(model)


def _check_text(graph: Any, source: str) -> None:
    """Refuse names that are no text: protobuf leaves them as bytes."""
    infos = [*graph.input, *graph.output, *graph.value_info]
    names = [graph.name, *(tensor.name for tensor in graph.initializer)]
    names += [info.name for info in infos]
    names += [d.dim_param for info in infos for d in info.type.tensor_type.shape.dim]
    names += [e.value for tensor in graph.initializer for e in tensor.external_data]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        names += [attribute.name for attribute in node.attribute]
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"is no ONNX model: {name[:40]!r} is no text", source=source)


def _check_opset(model: Any, source: str) -> None:
    versions = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    version = versions.get("ai.onnx")
    if version is not None and version < OLDEST_OPSET:
        raise InputError(
            f"has opset {version}; from {OLDEST_OPSET} on they are read "
            "(onnx.version_converter makes newer ones)",
            source=source,
        )


def _check_tensors(model: Any, source: str) -> None:
    """Refuse tensors that no model has."""
    folder = Path(source).resolve().parent
    for tensor in model.graph.initializer:
        dims = list(tensor.dims)
        check_shape(dims, f"tensor '{tensor.name}'", source)
        for entry in tensor.external_data:
            if entry.key == "location":
                _check_location(entry.value, folder, tensor.name, source)


def check_shape(dims: list[int], what: str, source: str | None) -> None:
    """Refuse shapes that no tensor of a file has."""
    if any(not 0 <= size < MAX_SIZE for size in dims) or prod(dims) > MAX_WORDS:
        raise InputError(
            f"{what} has the shape {dims[:12]}; accepted are sizes up to 2**31 - 1 and 2**36 words",
            source=source,
        )


def _check_location(location: str, folder: Path, tensor: str, source: str) -> None:
    place = PurePosixPath(location.replace("\\", "/"))
    inside = (folder / location).resolve().is_relative_to(folder)
    if place.is_absolute() or ".." in place.parts or ":" in location or not inside:
        raise InputError(
            f"the data of tensor '{tensor}' is in '{location}', outside of the folder of the model",
            source=source,
        )


def _bind(model: Any, bind: dict[str, int], source: str) -> None:
    """Put sizes in the place of symbolic dimensions of the inputs."""
    for name, size in bind.items():
        if type(size) is not int or not 1 <= size < MAX_SIZE:
            raise InputError(
                f"'{name}' must be a whole number from 1 to 2**31 - 1, found {describe(size)}",
                key="bind",
            )
    given = {tensor.name for tensor in model.graph.initializer}
    names: set[str] = set()
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        entry = value.type.tensor_type
        for dim in entry.shape.dim:
            if dim.dim_param and dim.dim_param in bind:
                names.add(dim.dim_param)
                dim.dim_value = bind[dim.dim_param]
            elif dim.dim_param:
                names.add(dim.dim_param)
    unknown = [name for name in bind if name not in names]
    if unknown:
        have = f"it has {', '.join(sorted(names))}" if names else "it has none"
        raise InputError(
            f"no symbolic dimension '{unknown[0]}' in '{source}'; {have}"
            f"{nearest(unknown[0], names)}",
            key="bind",
        )
    for value in model.graph.input:
        if value.name in given or not value.type.HasField("tensor_type"):
            continue
        entry = value.type.tensor_type
        if not entry.HasField("shape"):
            raise InputError(f"input '{value.name}' has no shape", source=source)
        for i, dim in enumerate(entry.shape.dim):
            if dim.dim_param and dim.dim_param not in bind:
                raise InputError(
                    f"dimension '{dim.dim_param}' of input '{value.name}' has no size: "
                    f"--bind {dim.dim_param}=1 gives it one (bind={{'{dim.dim_param}': 1}})",
                    source=source,
                )
            if not dim.HasField("dim_value") or dim.dim_value < 1:
                raise InputError(
                    f"dimension {i} of input '{value.name}' has no size and no name to bind",
                    source=source,
                )
        sizes = [dim.dim_value for dim in entry.shape.dim]
        check_shape(sizes, f"input '{value.name}'", source)


def _inlined(model: Any, source: str) -> Any:
    """Return a model without functions of its own."""
    from onnx import inliner

    names = {(f.domain, f.name): f for f in model.functions}
    uses = {key: [(n.domain, n.op_type) for n in f.node] for key, f in names.items()}
    done: set[tuple[str, str]] = set()

    def visit(key: tuple[str, str], path: tuple[tuple[str, str], ...]) -> None:
        if key in path:
            raise InputError(f"function '{key[1]}' calls itself", source=source)
        if key in names and key not in done:
            for used in uses[key]:
                visit(used, (*path, key))
            done.add(key)

    for key in names:
        visit(key, ())
    try:
        return inliner.inline_local_functions(model)
    except Exception as failure:
        raise InputError(
            f"its functions cannot be inlined: {_first_line(failure)}", source=source
        ) from None


def _inferred(model: Any) -> Any:
    """Return a model with the shapes that ONNX infers; they serve where an operator is unknown."""
    from onnx import shape_inference

    try:
        return shape_inference.infer_shapes(model)
    except Exception:
        return model


def _first_line(failure: Exception) -> str:
    return (str(failure).splitlines() or [type(failure).__name__])[0][:200]
