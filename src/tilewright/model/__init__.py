"""What a mapping costs: exact counts in closed form, energy, cycles and statistics.

Names are imported when they are first used.
"""

from tilewright.exports import on_use

__getattr__, __dir__ = on_use(__name__, __file__)
