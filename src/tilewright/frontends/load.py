"""One way in for all formats of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from tilewright.document import load
from tilewright.errors import InputError
from tilewright.frontends.torch.module import is_module
from tilewright.workload.layer import Network
from tilewright.workload.network import load_network, zoo_names

CONFIGURATION = "hf:"


@dataclass(frozen=True)
class Options:
    """What a user says about a model beyond its file.

    Attributes
    ----------
    phase : str or None
        ``"prefill"`` or ``"decode"``: of configurations of models that make text.
    batch, tokens, context : int or None
        Of configurations: sequences, new tokens of each, tokens that the last attends to.
    bind : mapping of str to int, or None
        Of ONNX files and exported programs: sizes of symbolic dimensions.
    only : sequence of str or None
        Kinds of operations that become layers, such as ``["conv", "matmul"]``.
    example_inputs : object
        Of modules of PyTorch: tensors or shapes that `forward` gets, see `torch_module.exported`.
    """

    phase: str | None = None
    batch: int | None = None
    tokens: int | None = None
    context: int | None = None
    bind: Mapping[str, int] | None = None
    only: Sequence[str] | None = None
    example_inputs: Any = None

    def given(self, *accepted: str) -> dict[str, Any]:
        """Return what was said; anything else than these is refused."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        said = {key: value for key, value in said.items() if value is not None}
        for key in said:
            if key not in accepted:
                takes = f"it takes {', '.join(accepted)}" if accepted else "it takes no options"
                raise InputError(f"means nothing for this workload: {takes}", key=key)
        return said


class ModelName(str):
    """A name of a workload, with what is said about it."""

    options: Options

    def __new__(cls, name: str, options: Options) -> ModelName:
        """Return the name, which is text like any other."""
        self = super().__new__(cls, name)
        self.options = options
        return self


def options_of(name: object) -> Options:
    """Return what is said about a workload with its name."""
    return name.options if isinstance(name, ModelName) else Options()


def is_program(workload: object) -> bool:
    """Whether an object is what ``torch.export.export`` returns, without importing torch."""
    return hasattr(workload, "graph_module") and hasattr(workload, "graph_signature")


def is_jaxpr(workload: object) -> bool:
    """Whether an object is what ``jax.make_jaxpr`` returns, without importing JAX."""
    return hasattr(workload, "jaxpr") and hasattr(workload, "consts")


def is_live(workload: object) -> bool:
    """Whether an object is a model of a framework: a program or a module."""
    return is_program(workload) or is_jaxpr(workload) or is_module(workload)


def is_model(name: str) -> bool:
    """Whether a name is that of a model in a format of others."""
    if name.startswith(CONFIGURATION) or Path(name).suffix.lower() in (".onnx", ".pt2", ".keras"):
        return True
    return _is_configuration(name)


def load_model(name: object, options: Options | None = None) -> Network:
    """Return the network of a model, by its file.

    Parameters
    ----------
    name : str, path, exported program or module
        ``hf:`` and the path of a ``config.json`` or a configuration that ships; a ``.json`` file
        with ``model_type``; an ``.onnx`` file; a ``.pt2`` file of ``torch.export.save``; a
        ``.keras`` file; or what
        `tilewright.workload.load_network` accepts. Or an object of ``torch.export.export`` or
        ``jax.make_jaxpr``, or a module of PyTorch.
    options : Options, optional
        What is said about it.

    Raises
    ------
    InputError
        When it cannot be read, or an option means nothing for it.
    """
    if not isinstance(name, str | PathLike):
        from tilewright.frontends.torch.export import read_program

        said = options or Options()
        if is_jaxpr(name):
            from tilewright.frontends.jax_program import read_jaxpr

            return read_jaxpr(name, **said.given("only"))
        if is_program(name):
            return read_program(name, **said.given("bind", "only"))
        from tilewright.frontends.torch.module import exported

        keys = said.given("bind", "only", "example_inputs")
        program = exported(name, keys.pop("example_inputs", None))
        return read_program(program, **keys, name=type(name).__name__)
    said = options or options_of(name)
    text = str(fspath(name))
    if text.startswith(CONFIGURATION) or _is_configuration(text):
        from tilewright.frontends.configurations.configuration import load_configuration

        given = said.given("phase", "batch", "tokens", "context", "only")
        return load_configuration(text.removeprefix(CONFIGURATION), **given)
    suffix = Path(text).suffix.lower()
    if suffix == ".onnx":
        from tilewright.frontends.onnx.model import load_onnx

        return load_onnx(text, **said.given("bind", "only"))
    if suffix == ".pt2":
        from tilewright.frontends.torch.export import load_program

        return load_program(text, **said.given("bind", "only"))
    if suffix == ".keras":
        from tilewright.frontends.keras.file import load_keras

        return load_keras(text, **said.given("bind", "only"))
    said.given()
    return load_network(text)


def _is_configuration(name: str) -> bool:
    """Whether a JSON file is the configuration of a model."""
    path = Path(name)
    if name in zoo_names() or path.suffix.lower() != ".json" or not path.is_file():
        return False
    document = load(path)
    return isinstance(document.data, dict) and "model_type" in document.data
