"""Evaluation of models on streams: how well they cluster rows that they have not learned yet."""

from ravine.evaluation._compare import Comparison, compare
from ravine.evaluation._evaluate import Evaluation, evaluate

__all__ = ["Comparison", "Evaluation", "compare", "evaluate"]
