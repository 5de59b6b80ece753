"""Types and parameter checks that all generators share."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._sklearn import Interval, StrOptions, validate_params

Seed = int | np.random.RandomState | None
Data = tuple[NDArray[np.float64], NDArray[Any]]

_COUNT = [Interval(Integral, 1, None, closed="left")]
_NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]
CONSTRAINTS = {
    "n_samples": _COUNT,
    "n_features": _COUNT,
    "n_classes": _COUNT,
    "n_classes_final": _COUNT,
    "every": _COUNT,
    "n_irrelevant": [Interval(Integral, 0, None, closed="left")],
    "irrelevant_scale": _NOT_NEGATIVE,
    "variance": _NOT_NEGATIVE,
    "separation": _NOT_NEGATIVE,
    "radii": ["array-like"],
    "noise": _NOT_NEGATIVE,
    "core_std": _NOT_NEGATIVE,
    "sizes": [StrOptions({"equal", "length"})],
    "random_state": ["random_state"],
}
validated = validate_params(CONSTRAINTS, prefer_skip_nested_validation=True)
