"""The private names of scikit-learn that ravine uses. No other module imports one.

A release of scikit-learn may move or change them; then this is the one module to change.
"""

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._array_api import get_namespace_and_device, move_to
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_params,
)
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _get_feature_names as get_feature_names
from sklearn.utils.validation import _is_fitted as is_fitted
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "check_feature_names",
    "fit_context",
    "get_feature_names",
    "get_namespace_and_device",
    "is_fitted",
    "move_to",
    "num_samples",
    "safe_indexing",
    "validate_params",
]
