"""A fused mapping: a tree of shared nodes, branches and the nodes of each layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.mapping.nodes import Node

RETAIN = "retain"
RECOMPUTE = "recompute"
REFETCH = "refetch"
HALO_MODES = (RETAIN, RECOMPUTE, REFETCH)


@dataclass(frozen=True)
class Turn:
    """How a layer runs in those of its turns that work on some extents.

    Attributes
    ----------
    bounds : tuple of (str, int)
        Dimensions of the layer and their extents; of others, a turn may have any.
    nodes : tuple
        In the place of `Branch.nodes`.
    """

    bounds: tuple[tuple[str, int], ...]
    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Branch:
    """What runs in its turn in every iteration of the loops above.

    Attributes
    ----------
    layer : str or None
        The layer that it carries out; None for a branch that itself fuses.
    nodes : tuple
        Of a layer: `Store`, `For` and `Spatial` nodes under the layer's own names, as in a mapping
        of it alone. Otherwise as `FusedMapping.nodes`.
    turns : tuple of Turn
        Of a layer: other nodes for turns of certain extents, such as the first one of a window.
        The first that fits a turn is taken.
    """

    layer: str | None
    nodes: tuple[TreeNode, ...] = ()
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True)
class Fuse:
    """Branches that run in every iteration of the loops above.

    Attributes
    ----------
    branches : tuple of Branch
        In the order in which they run.
    pipelined : bool
        False: one after the other, each on the whole machine. True: at the same time, each on its
        part of an array; a layer works on what those that it reads from have made before.
    """

    branches: tuple[Branch, ...]
    pipelined: bool = False


TreeNode = Node | Fuse


@dataclass(frozen=True)
class Halo:
    """What becomes of the words that two neighbouring tiles of an intermediate tensor share.

    Attributes
    ----------
    tensor : str
        The intermediate tensor.
    dimension : str
        Dimension of the layer that makes it.
    mode : str
        ``"retain"``: they stay until nothing needs them any more; ``"recompute"``: they are made
        again; ``"refetch"``: they are read back from the memory around.
    """

    tensor: str
    dimension: str
    mode: str


@dataclass(frozen=True)
class FusedMapping:
    """How a segment of connected layers runs on a machine: a tree.

    Attributes
    ----------
    nodes : tuple
        Outermost first: `Store` nodes that name tensors of the segment, temporal `For` loops that
        all layers below share, and at the end one `Fuse`.
    halos : tuple of Halo
        Where neighbouring tiles of an intermediate overlap and are not retained.
    """

    nodes: tuple[TreeNode, ...]
    halos: tuple[Halo, ...] = ()

    @property
    def fuse(self) -> Fuse:
        """The node at the end."""
        last = self.nodes[-1] if self.nodes else None
        return last if isinstance(last, Fuse) else Fuse(())

    def leaves(self) -> Iterator[Branch]:
        """Yield the branches that carry out a layer, in the order in which they run."""
        yield from leaves(self.fuse)

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the layers, in the order in which they run."""
        return tuple(branch.layer for branch in self.leaves() if branch.layer is not None)


def leaves(fuse: Fuse) -> Iterator[Branch]:
    """Yield the branches below a fuse node that carry out a layer, in order."""
    for branch in fuse.branches:
        last = branch.nodes[-1] if branch.nodes else None
        if branch.layer is None and isinstance(last, Fuse):
            yield from leaves(last)
        else:
            yield branch
