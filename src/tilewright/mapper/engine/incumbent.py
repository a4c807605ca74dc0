"""What the search knows already, and what it asks of it: one engine for all searches by labels.

The kernels of this package ask the same questions of every incumbent. Which answer is compiled in
depends on the kind of record:

=============  ==================================  ===============================================
incumbent      what it holds                       who searches with it
=============  ==================================  ===============================================
`Best`         the best mapping so far             `search`: the best mapping, any mapping (with
                                                   links that cost nothing), the least memory among
                                                   equals and the points of a front, one after the
                                                   other, each below a ceiling
`Staircase`    the best for every pair of sizes    `memory_sizes`: every size of one or two memories
=============  ==================================  ===============================================

A new incumbent is a record with a function for each name below, in a file of its own.
"""

from __future__ import annotations

from tilewright.kernels.by_record import by_record
from tilewright.mapper.engine import best, staircase, staircase_labels
from tilewright.mapper.engine.best import Best
from tilewright.mapper.engine.staircase import Staircase

has_place = by_record({Best: best.has_place, Staircase: staircase.has_place})
"""Whether one more mapping can be taken."""

look_at = by_record({Best: best.look_at, Staircase: staircase_labels.look_at})
"""Prepare the list of labels that have their turn next."""

is_superfluous = by_record({Best: best.is_superfluous, Staircase: staircase_labels.is_superfluous})
"""Whether a label whose turn it is leads to nothing better."""

may_be_bounded = by_record({Best: best.may_be_bounded, Staircase: staircase_labels.may_be_bounded})
"""Whether a new label is worth a lower bound; tidies what it remembers."""

is_hopeful = by_record({Best: best.is_hopeful, Staircase: staircase_labels.is_hopeful})
"""Whether a label with lower bounds may lead to something better."""

to_beat = by_record({Best: best.to_beat, Staircase: staircase_labels.to_beat})
"""Return the value and the tie-break that what comes of a label has to beat."""

forget_bits = by_record({Best: best.forget_bits, Staircase: staircase_labels.forget_bits})
"""Forget bits that the memories above an array hold, below it."""

take = by_record({Best: best.take, Staircase: staircase_labels.take})
"""Take a whole mapping if it is better; return whether it is."""
