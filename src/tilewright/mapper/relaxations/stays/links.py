"""The ways of tensors between memories."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """The way of a tensor from one memory to the next one that keeps it, or to the compute unit.

    Attributes
    ----------
    tensor, sender, receiver : int
        Positions of the tensor and the memories; the compute unit comes after all memories.
    """

    tensor: int
    sender: int
    receiver: int


@dataclass(frozen=True)
class Price:
    """What the words of a link cost: each one sent, each one received, and all together."""

    sent: float = 0.0
    received: float = 0.0
    once: float = 0.0
