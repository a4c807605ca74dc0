"""What computes: machines as chains of memories, arrays and a compute unit.

Names are imported when they are first used.
"""

from tilewright.exports import on_use

__getattr__, __dir__ = on_use(__name__, __file__)
