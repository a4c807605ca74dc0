"""How several connected layers run together: trees, the segments they cover, files, text."""

from tilewright.mapping.fused.connections.connected_layers import segment
from tilewright.mapping.fused.connections.segments import (
    Access,
    Exchange,
    Segment,
    SharedTensor,
    Tie,
)
from tilewright.mapping.fused.notation.files import (
    FusedFile,
    is_fused,
    load_fused,
    parse_fused,
)
from tilewright.mapping.fused.notation.text import fused_text, parse_fused_text
from tilewright.mapping.fused.notation.writing import dump_fused, fused_data
from tilewright.mapping.fused.tree import (
    HALO_MODES,
    RECOMPUTE,
    REFETCH,
    RETAIN,
    Branch,
    Fuse,
    FusedMapping,
    Halo,
    Turn,
)

__all__ = [
    "HALO_MODES",
    "RECOMPUTE",
    "REFETCH",
    "RETAIN",
    "Access",
    "Branch",
    "Exchange",
    "Fuse",
    "FusedFile",
    "FusedMapping",
    "Halo",
    "Segment",
    "SharedTensor",
    "Tie",
    "Turn",
    "dump_fused",
    "fused_data",
    "fused_text",
    "is_fused",
    "load_fused",
    "parse_fused",
    "parse_fused_text",
    "segment",
]
