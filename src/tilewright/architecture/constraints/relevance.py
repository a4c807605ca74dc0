"""Dimensions named by the tensors that they are relevant to: ``W&O`` for output channels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tilewright.errors import nearest

EVERY = "all"
"""Instead of tensors: relevant to all of them, as batches of products and groups are."""
SLIDES = {"sliding": True, "not sliding": False}
LINES = ("rows", "columns")
EXAMPLES = ("W&O", "I&W", "I&W sliding", "I&W not sliding", "I&O", "I&O rows", "I&O columns", EVERY)


@dataclass(frozen=True)
class Relevance:
    """Which dimensions of a layer are meant, whatever their letters.

    Attributes
    ----------
    tensors : tuple of str
        Names or roles of the tensors that they are relevant to, and of these alone; empty when they
        are relevant to all.
    slides : bool or None
        Whether they share an index expression with another dimension; None when it does not matter.
    line : str
        ``"rows"`` or ``"columns"`` for one of the axes of an image, else empty.
    """

    tensors: tuple[str, ...]
    slides: bool | None = None
    line: str = ""


def is_relevance(name: str) -> bool:
    """Whether a name is meant to say what a dimension is relevant to; others are letters."""
    return "&" in name or name.split()[:1] == [EVERY]


@lru_cache(maxsize=1024)
def parse_relevance(name: str) -> Relevance:
    """Return what a name such as ``I&W not sliding`` says.

    Raises
    ------
    ValueError
        When it is malformed, with what is accepted.
    """
    *others, last = name.split("&")
    first, *words = last.split() or [""]
    tensors = (*(part.strip() for part in others), first) if others else ()
    if len({tensor for tensor in tensors if len(tensor.split()) == 1}) < len(tensors):
        raise ValueError(
            f"'{name}': expected different tensors with '&' between them, and other words after "
            "them, as in I&W sliding"
        )
    line = words.pop() if words and words[-1] in LINES else ""
    slides = SLIDES.get(" ".join(words)) if words else None
    if words and slides is None:
        accepted = (*SLIDES, *LINES)
        wrong = " ".join(words)
        raise ValueError(
            f"'{name}': '{wrong}' is none of the words after the tensors; accepted: "
            f"{', '.join(accepted)}, or one of the first two and one of the others"
            f"{nearest(wrong, accepted)}"
        )
    return Relevance(tensors, slides, line)
