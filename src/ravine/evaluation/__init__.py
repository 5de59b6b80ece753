"""Evaluation of models: on streams, by rows that they have not learned yet, and of clusters, by fitting them again."""

from ravine.evaluation._compare import Comparison, compare
from ravine.evaluation._evaluate import Evaluation, evaluate
from ravine.evaluation._stability import Stability, stability

__all__ = ["Comparison", "Evaluation", "Stability", "compare", "evaluate", "stability"]
