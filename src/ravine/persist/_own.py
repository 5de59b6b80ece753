"""Create the models of ravine from the fields of a file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ravine._blocks import check_threads
from ravine.persist._values import Given, bounded, decode


def own_model(made: Any, fields: Mapping[str, Any], arrays: Given) -> Any:
    """Create a model of ravine from its fields. Each array that is used is removed from `arrays`.

    Parameters
    ----------
    made : type
        An estimator, or a class that can do without scikit-learn (`ravine._read_only`).
    fields : mapping
        Fields of the header.
    arrays : dict
        Functions that read the arrays of the file.
    """
    name = fields["estimator"]
    parameters = {key: decode(node, arrays) for key, node in fields["parameters"].items()}
    unknown = sorted(parameters.keys() - set(made._get_param_names()))
    if unknown:
        raise ValueError(f"{name} has no parameter {unknown[0]!r}")
    model = made(**parameters)
    model._validate_params()
    set_columns(model, fields["n_features_in"], fields["feature_names"])
    if hasattr(model, "n_jobs"):
        check_threads(model.n_jobs)
    sizes = model._sizes() if hasattr(model, "_sizes") else {"n_features": model.n_features_in_}
    model._restore(model._schema.checked(decode(fields["state"], arrays), sizes))
    return model


def set_columns(model: Any, n_features: int, names: list[Any] | None) -> None:
    """Set the number and the names of the columns of a model. Raises ValueError if they do not match."""
    if bounded(n_features) < 1 or (names is not None and len(names) != n_features):
        raise ValueError("field 'n_features_in' is not positive, or does not match the length of 'feature_names'")
    model.n_features_in_ = n_features
    if names is not None:
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ValueError("field 'feature_names' has an entry that is not a string or occurs twice")
        model.feature_names_in_ = np.array(names, dtype=object)
