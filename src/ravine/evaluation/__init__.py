"""Models on streams: how well rows are clustered that the model has not learned yet."""

from ravine.evaluation._evaluate import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
