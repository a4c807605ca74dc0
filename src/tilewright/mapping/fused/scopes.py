"""A fused mapping resolved against its segment: what each shared loop cuts, what each store holds.

A loop over a dimension of one layer cuts the dimensions that are tied to it in all layers below.
Its tile counts iterations of the layers at the end of the chain, those whose outputs nobody below
reads: what the others carry out follows from what is read (`tilewright.mapping.fused.turns`).
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tilewright.errors import MappingError
from tilewright.mapping.fused.connections.loop_classes import LoopClass, fault, loop_class
from tilewright.mapping.fused.connections.segments import Access, Exchange, Segment
from tilewright.mapping.fused.pipelines import LayerPipeline, pipeline_of
from tilewright.mapping.fused.tree import (
    RECOMPUTE,
    Branch,
    Fuse,
    FusedMapping,
    TreeNode,
    Turn,
    leaves,
)
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store


@dataclass(frozen=True, eq=False)
class SharedLoop:
    """A loop that several layers share.

    Attributes
    ----------
    number : int
        Position among all shared loops of the tree.
    tile : int
        Iterations of the layers at the end in each chunk.
    cuts : LoopClass
        What it cuts.
    anew : frozenset of str
        Layers that make again what neighbouring chunks of this loop share.
    node : str
        Where it stands in the tree.
    """

    number: int
    tile: int
    cuts: LoopClass
    anew: frozenset[str]
    node: str


@dataclass(frozen=True, eq=False)
class SharedStore:
    """A memory that holds a tensor for the layers below.

    Attributes
    ----------
    memory, tensor : str
        What is held, and where.
    loops : tuple of SharedLoop
        The loops above, outermost first.
    parent : SharedStore or None
        The next store of the tensor outward.
    below : tuple of str
        The layers below, in the order in which they run.
    lasting : bool
        Whether loops stand between it and the branches: its tile then lasts from turn to turn.
    entered : int
        How many of the loops stand above the list of nodes in which it stands: when one of these
        advances, it begins with an empty tile.
    node : str
        Where it stands in the tree, for messages.
    """

    memory: str
    tensor: str
    loops: tuple[SharedLoop, ...]
    parent: SharedStore | None
    below: tuple[str, ...]
    lasting: bool
    entered: int
    node: str


@dataclass(frozen=True, eq=False)
class Leaf:
    """A layer and what stands above it.

    Attributes
    ----------
    layer : str
        Its name.
    mapping : Mapping
        Its own nodes.
    turns : tuple of Turn
        Other nodes for turns of certain extents.
    loops : tuple of SharedLoop
        The loops above, outermost first.
    chains : mapping of str to tuple of SharedStore
        By tensor of the layer the shared stores above, outermost first.
    node : str
        Where it stands in the tree, for messages.
    """

    layer: str
    mapping: Mapping
    loops: tuple[SharedLoop, ...]
    chains: Dict[str, tuple[SharedStore, ...]]
    node: str
    turns: tuple[Turn, ...] = ()

    def mapping_of(self, extents: Dict[str, int]) -> Mapping:
        """Return the nodes of a turn of some extents."""
        turn = self.turn_of(extents)
        return self.mapping if turn is None else Mapping(turn.nodes)

    def turn_of(self, extents: Dict[str, int]) -> Turn | None:
        """Return which turn one of some extents is, if it has nodes of its own."""
        for turn in self.turns:
            if all(extents.get(d) == n for d, n in turn.bounds):
                return turn
        return None


@dataclass(frozen=True, eq=False)
class Resolved:
    """A fused mapping whose names are resolved.

    Attributes
    ----------
    segment : Segment
        Its layers.
    leaves : tuple of Leaf
        In the order in which they run.
    stores : tuple of SharedStore
        All shared stores, outer ones first.
    loops : tuple of SharedLoop
        All shared loops, outer ones first.
    modes : mapping of (tensor, dimension) to str
        What was said about halos.
    pipelines : tuple of LayerPipeline
        Layers that run at the same time.
    """

    segment: Segment
    leaves: tuple[Leaf, ...]
    stores: tuple[SharedStore, ...]
    loops: tuple[SharedLoop, ...]
    modes: Dict[tuple[str, str], str]
    pipelines: tuple[LayerPipeline, ...] = ()

    @cached_property
    def pipeline_of(self) -> dict[str, LayerPipeline]:
        """The pipelines by layer."""
        return {layer: pipe for pipe in self.pipelines for layer in pipe.layers}

    @cached_property
    def leaf_of(self) -> dict[str, Leaf]:
        """The leaves by layer."""
        return {leaf.layer: leaf for leaf in self.leaves}

    @cached_property
    def exchanges_of(self) -> dict[str, tuple[Exchange, ...]]:
        """The exchanges of each tensor that is made inside."""
        found: dict[str, tuple[Exchange, ...]] = {}
        for exchange in self.segment.exchanges:
            found[exchange.tensor] = (*found.get(exchange.tensor, ()), exchange)
        return found


def resolve_fused(mapping: FusedMapping, segment: Segment) -> Resolved:
    """Resolve the names of a fused mapping.

    Raises
    ------
    MappingError
        When the tree is malformed or a loop cannot be shared; its key says where it stands.
    """
    return _Resolving(mapping, segment).resolved()


class _Resolving:
    """Walks a tree from its root to its leaves."""

    def __init__(self, mapping: FusedMapping, segment: Segment) -> None:
        self.mapping = mapping
        self.segment = segment
        self.loops: list[SharedLoop] = []
        self.stores: list[SharedStore] = []
        self.leaves: list[Leaf] = []
        self.pipelines: list[LayerPipeline] = []
        self.modes = {(halo.tensor, halo.dimension): halo.mode for halo in mapping.halos}

    def resolved(self) -> Resolved:
        """Return the whole tree."""
        names = self.mapping.layers
        known = [layer.name for layer in self.segment.layers]
        for name in names:
            if name not in known:
                raise fault(f"no layer '{name}' in the segment: {', '.join(known)}", "mapping")
            if names.count(name) > 1:
                raise fault(f"layer '{name}' runs in two branches", "mapping")
        if missing := [name for name in known if name not in names]:
            raise fault(f"no branch carries out layer '{missing[0]}'", "mapping")
        for exchange in self.segment.exchanges:
            made, read = exchange.producer.layer, exchange.reader.layer
            if names.index(made) > names.index(read):
                raise fault(
                    f"layer '{read}' runs before '{made}', whose output it reads", "mapping"
                )
        self.scope(self.mapping.nodes, "mapping", (), {})
        stores, loops = tuple(self.stores), tuple(self.loops)
        return Resolved(
            self.segment, tuple(self.leaves), stores, loops, self.modes, tuple(self.pipelines)
        )

    def scope(
        self,
        nodes: Sequence[TreeNode],
        path: str,
        loops: tuple[SharedLoop, ...],
        chains: Dict[str, tuple[SharedStore, ...]],
    ) -> None:
        """Resolve shared nodes and the branches at their end."""
        *shared, last = nodes or (None,)
        if not isinstance(last, Fuse) or not last.branches:
            raise fault("the last node must be 'fuse' with at least one branch", path)
        below = tuple(branch.layer or "" for branch in leaves(last))
        entered = len(loops)
        for i, node in enumerate(shared):
            here = f"{path}[{i}]"
            if isinstance(node, For):
                loops = (*loops, self.loop(node, below, here, chains))
                self.loops.append(loops[-1])
            elif isinstance(node, Store):
                rest = any(isinstance(n, For) for n in shared[i + 1 :])
                for tensor in self.stored(node, below, here):
                    above = chains.get(tensor, ())
                    store = SharedStore(
                        memory=node.memory,
                        tensor=tensor,
                        loops=loops,
                        parent=above[-1] if above else None,
                        below=below,
                        lasting=rest,
                        entered=entered,
                        node=here,
                    )
                    self.stores.append(store)
                    chains = {**chains, tensor: (*above, store)}
            else:
                kind = "a spatial loop" if isinstance(node, Spatial) else "'fuse'"
                raise fault(f"{kind} cannot stand among shared nodes", here)
        if last.pipelined:
            here = f"{path}[{len(shared)}]"
            self.pipelines.append(pipeline_of(last, self.segment, loops, entered, here))
        for i, branch in enumerate(last.branches):
            self.branch(branch, f"{path}[{len(shared)}].fuse[{i}]", loops, chains)

    def branch(
        self,
        branch: Branch,
        path: str,
        loops: tuple[SharedLoop, ...],
        chains: Dict[str, tuple[SharedStore, ...]],
    ) -> None:
        """Resolve a branch."""
        if branch.layer is None:
            self.scope(branch.nodes, path, loops, chains)
            return
        own: list[Node] = []
        for node in branch.nodes:
            if isinstance(node, Fuse):
                raise fault("a branch that names a layer has no 'fuse' of its own", path)
            own.append(node)
        name = self.segment.shared_name
        mine = {
            tensor.name: chains.get(name[Access(branch.layer, tensor.name)], ())
            for tensor in self.segment.layer_of[branch.layer].tensors
        }
        self.leaves.append(Leaf(branch.layer, Mapping(tuple(own)), loops, mine, path, branch.turns))

    def stored(self, node: Store, below: tuple[str, ...], path: str) -> tuple[str, ...]:
        """Return the tensors of a store node, if the layers below use them all."""
        for tensor in node.tensors:
            if tensor not in self.segment.tensor_of:
                names = ", ".join(self.segment.tensor_of)
                raise fault(f"no tensor '{tensor}' in the segment; accepted: {names}", path)
            users = {access.layer for access in self.segment.tensor_of[tensor].accesses}
            if not users & set(below):
                raise fault(f"no layer below '{node.memory}' uses {tensor} here", path)
        return node.tensors

    def loop(
        self,
        node: For,
        below: tuple[str, ...],
        path: str,
        chains: Dict[str, tuple[SharedStore, ...]],
    ) -> SharedLoop:
        """Resolve a shared loop."""
        try:
            cuts = loop_class(self.segment, below, node.dimension)
        except MappingError as wrong:
            raise fault(wrong.message, path) from None
        bound = self.segment.layer_of[cuts.ends[0]].bounds[cuts.dims[cuts.ends[0]]]
        if not 1 <= node.tile <= bound:
            raise fault(
                f"tile of {node.dimension} must be from 1 to {bound}, its bound in layer "
                f"'{cuts.ends[0]}'; found {node.tile}",
                path,
            )
        anew = frozenset(
            e.producer.layer
            for e in self.segment.exchanges
            if e.producer.layer in below
            and e.tensor not in chains
            and self.modes.get((e.tensor, cuts.dims[e.producer.layer])) == RECOMPUTE
        )
        return SharedLoop(len(self.loops), node.tile, cuts, anew, path)
