"""The park: plausible machines and layers by the dozen, and how the mapper fares on them."""

from benchmarks.park.layers import random_layer
from benchmarks.park.machines import chain, random_machine

__all__ = ["chain", "random_layer", "random_machine"]
