"""Data-centric directives: MAESTRO's notation, and what it says of loops on a machine.

The notation is that of H. Kwon et al., "MAESTRO: A Data-Centric Approach to Understand Reuse,
Performance, and Hardware Cost of DNN Mappings", IEEE Micro 40(3), 2020.
"""

from tilewright.interop.maestro.syntax import Cluster, Dataflow, Map, Size

__all__ = ["Cluster", "Dataflow", "Map", "Size"]
