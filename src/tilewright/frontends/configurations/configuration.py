"""Models from their ``config.json``, as Hugging Face's transformers writes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tilewright.document import describe, load
from tilewright.errors import InputError, nearest
from tilewright.frontends.builder import Builder
from tilewright.frontends.configurations.families import FAMILIES
from tilewright.frontends.request import MAX_SIZE, Config, Request
from tilewright.workload.layer import Network

PHASES = ("prefill", "decode")
MODELS = Path(__file__).parents[1] / "models"


def load_configuration(
    path: str | Path,
    *,
    phase: str | None = None,
    batch: int | None = None,
    tokens: int | None = None,
    context: int | None = None,
    only: Sequence[str] | None = None,
) -> Network:
    """Return the network of a model from its ``config.json``.

    Parameters
    ----------
    path : str or Path
        The file, its folder, or the name of a configuration that ships, such as ``llama-3-8b``.
    phase : str, optional
        ``"prefill"``, a prompt at once (default), or ``"decode"``, one token per sequence.
    batch : int, optional
        Sequences, images or recordings that run together; default 1.
    tokens : int, optional
        New tokens of each sequence; default 2048 or what the model has positions for.
    context : int, optional
        Tokens that the last one attends to, itself included; default: the new ones in prefill,
        2048 or what the model has positions for in decode.
    only : sequence of str, optional
        Kinds of operations that become layers; the others are left out, on record.

    Raises
    ------
    InputError
        When the file is malformed or not of a family that is known.
    """
    names = configuration_names()
    shipped = str(path) in names
    if not shipped and not Path(path).exists() and len(Path(path).parts) == 1:
        raise InputError(
            f"no model '{path}'; accepted: the path of a config.json, or one of "
            f"{', '.join(names)}{nearest(str(path), names)}",
            key="workload",
        )
    if Path(path).is_dir():
        path = Path(path) / "config.json"
    document = load(MODELS / f"{path}.json" if shipped else path)
    if not isinstance(document.data, dict) or "model_type" not in document.data:
        raise document.error("expected the keys of a model configuration, with 'model_type'")
    family = document.data["model_type"]
    if not isinstance(family, str) or family not in FAMILIES:
        raise document.error(
            f"no model type {describe(family)}; accepted: {', '.join(FAMILIES)}"
            f"{nearest(str(family), FAMILIES)}",
            ("model_type",),
        )
    if phase not in (None, *PHASES):
        raise InputError(
            f"no phase '{phase}'; accepted: {', '.join(PHASES)}{nearest(str(phase), PHASES)}",
            key="phase",
        )
    for key, value in (("batch", batch), ("tokens", tokens), ("context", context)):
        if value is not None and (type(value) is not int or not 1 <= value < MAX_SIZE):
            raise InputError(
                f"expected a whole number of at least 1, found {describe(value)}", key=key
            )
    config = Config(document)
    config = Config(document)
    name = config.text("_name_or_path", default="") or _stem(Path(document.source))
    builder = Builder(name.rpartition("/")[2], config.text("source", default=""), only)
    try:
        FAMILIES[family](config, builder, Request(config, phase, batch, tokens, context))
        return builder.network()
    except InputError as failure:
        if failure.source is not None or failure.key in ("phase", "tokens", "context"):
            raise
        raise InputError(failure.message, source=document.source, key=failure.key) from None


def _stem(path: Path) -> str:
    """Return a name for a model: of its folder where the file is called as all are."""
    resolved = path.resolve()
    return resolved.parent.name if resolved.name == "config.json" else resolved.stem


def configuration_names() -> list[str]:
    """Return the names of the configurations that ship, sorted."""
    return sorted(path.stem for path in MODELS.glob("*.json"))
