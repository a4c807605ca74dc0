"""What a mapping costs: exact counts in closed form, energy, cycles and statistics."""

from tilewright.model.batch import Batch, evaluate_batch
from tilewright.model.count import count
from tilewright.model.evaluate import assess, evaluate
from tilewright.model.result import Evaluation

__all__ = ["Batch", "Evaluation", "assess", "count", "evaluate", "evaluate_batch"]
