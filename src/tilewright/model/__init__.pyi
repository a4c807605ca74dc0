"""The public names of the package, see `tilewright.exports`."""

from tilewright.model.batch import Batch as Batch
from tilewright.model.batch import evaluate_batch as evaluate_batch
from tilewright.model.count import count as count
from tilewright.model.evaluate import assess as assess
from tilewright.model.evaluate import evaluate as evaluate
from tilewright.model.result import Evaluation as Evaluation
