"""What fused mappings cost.

The trees themselves, the segments that they cover and their files are in
`tilewright.mapping.fused`; the definition of what is counted is `tilewright.reference.fused`.
"""

from tilewright.fusion.evaluation import check, evaluate, simulate
from tilewright.fusion.result import FusedEvaluation, FusedNetworkEvaluation
from tilewright.mapping.fused import (
    Branch,
    Fuse,
    FusedFile,
    FusedMapping,
    Halo,
    Segment,
    Turn,
    dump_fused,
    load_fused,
    parse_fused,
    segment,
)

__all__ = [
    "Branch",
    "Fuse",
    "FusedEvaluation",
    "FusedFile",
    "FusedMapping",
    "FusedNetworkEvaluation",
    "Halo",
    "Segment",
    "Turn",
    "check",
    "dump_fused",
    "evaluate",
    "load_fused",
    "parse_fused",
    "segment",
    "simulate",
]
