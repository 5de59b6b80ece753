"""Arrays of other libraries than NumPy: on a CUDA device, or with scikit-learn's array API dispatch.

With dispatch, rows are converted to NumPy and the results back. On a device, few rows are copied to the host, since
passes over them would take longer than a fit there. In both cases results lie where the rows do.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn import config_context, get_config
from sklearn.utils.validation import check_is_fitted, validate_data

from ravine._outofcore import (
    blocks_on_host,
    check_device_rows,
    empty_like,
    fill_block,
    is_from_host,
    is_on_device,
    is_tensor,
    moved_beside,
    to_host,
)
from ravine._sklearn import get_namespace_and_device, move_to
from ravine.tree import _device
from ravine.tree._unit_rows import has_unit_rows

Method = TypeVar("Method", bound=Callable[..., Any])

BY_KERNEL: dict[str, Callable[..., Any]] = {"predict": _device.predict, "transform": _device.signed_distance}
"""Methods that are computed on a device; the host computes the others."""


def learning(method: Method) -> Method:
    """Let `fit` or `partial_fit` take arrays of other libraries; `labels_` is then an array like X."""

    @wraps(method)
    def learn(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if is_from_host(X):
            refuse_device(self)
            _refuse_mixed(*args, *kwargs.values())
            if method.__name__ == "partial_fit" or self._is_few(X):
                X = X.rows  # the host learns them
            is_few = False
        elif is_on_device(X):
            refuse_device(self)
            is_few = self._is_few(X)
            if is_few:
                check_device_rows(X)
        else:
            is_few = True
            _refuse_mixed(*args, *kwargs.values())
        if is_few:
            found = method(self, on_host(X), *map(on_host, args), **{name: on_host(kwargs[name]) for name in kwargs})
        else:
            found = method(self, X, *args, **kwargs)
        self.__dict__.pop("_home", None)
        if is_elsewhere(X):
            self._home = like(np.empty(0), X)
            if "labels_" in vars(self):
                self.labels_ = like(self.labels_, X)
        return found

    return learn  # type: ignore[return-value]


def answering(method: Method) -> Method:
    """Let a method of a fitted model take arrays of other libraries; what it returns is then an array like X."""

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if is_on_device(X):
            check_is_fitted(self)
            refuse_device(self)
            validate_data(self, X, reset=False, skip_check_array=True)
            check_device_rows(X)
            return _answer_on_device(self, method, X)
        if is_from_host(X):
            check_is_fitted(self)
            refuse_device(self)
            validate_data(self, X, reset=False, skip_check_array=True)
            return _answer_from_host(self, method, X)
        found = method(self, on_host(X), *args, **kwargs)
        return like(found, X) if is_elsewhere(X) else found

    return answer  # type: ignore[return-value]


def _answer_on_device(model: Any, method: Callable[..., Any], X: Any) -> Any:
    """Return what a method returns for rows on a device; the host computes what no kernel does, block by block."""
    if method.__name__ in BY_KERNEL:
        return BY_KERNEL[method.__name__](model.tree_, X)
    out: Any = None
    for block, rows in blocks_on_host(X):
        found = np.asarray(method(model, rows))
        out = empty_like(X, (X.shape[0], *found.shape[1:]), found.dtype) if out is None else out
        fill_block(out, block, found)
    return out


def _answer_from_host(model: Any, method: Callable[..., Any], X: Any) -> Any:
    """Return what a method returns for rows that a device reads from the host, chunk by chunk."""
    if method.__name__ not in BY_KERNEL:
        return method(model, X.rows)
    out: Any = None
    for stretch, rows in X.sent(model.n_jobs):
        check_device_rows(rows)
        found = to_host(BY_KERNEL[method.__name__](model.tree_, rows))
        out = np.empty((len(X), *found.shape[1:]), found.dtype) if out is None else out
        out[stretch] = found
    return method(model, X.rows) if out is None else out


def refuse_device(model: Any) -> None:
    """Raise TypeError if an estimator does not read rows on a device."""
    if has_unit_rows(model) or getattr(model, "metric", "") == "cosine":
        raise TypeError(
            "X is on a CUDA device, where metric='cosine' does not read rows: divide them by their lengths there, and "
            "use metric='euclidean' with standardize=False"
        )
    if not model._reads_devices:
        raise TypeError(
            f"X is on a CUDA device, where {type(model).__name__} does not read rows: pass X.cpu() or X.get(), or use "
            "NCutH, MDH, PDDP or IncrementalMDH"
        )


def is_elsewhere(X: Any) -> bool:
    """Return whether results have to be moved to where an array is: on a device, or another library with dispatch."""
    return is_on_device(X) or _is_dispatched(X)


def _is_dispatched(X: Any) -> bool:
    """Return whether scikit-learn would compute with the library of an array, and this is not NumPy."""
    if isinstance(X, np.ndarray | np.generic) or not get_config()["array_api_dispatch"]:
        return False
    return is_tensor(X) or hasattr(X, "__array_namespace__")


def on_host(array: Any) -> Any:
    """Return an array that `is_elsewhere` as NumPy array, and anything else unchanged."""
    return to_numpy(array) if is_elsewhere(array) else array


def to_numpy(array: Any) -> Any:
    """Return an array of another library as NumPy array."""
    if is_on_device(array):
        return to_host(array)
    if is_tensor(array) and array.requires_grad:
        raise ValueError("X requires gradients, which a fit does not have: pass X.detach()")
    with config_context(array_api_dispatch=True):
        return move_to(array, xp=np, device="cpu")


def like(found: Any, X: Any) -> Any:
    """Return a NumPy array in the library and on the device of X; names of classes stay in NumPy."""
    if not isinstance(found, np.ndarray) or found.dtype.kind in "OSU":
        return found
    if is_on_device(X):
        return moved_beside(found, X)
    with config_context(array_api_dispatch=True):
        namespace, _, device = get_namespace_and_device(X)
        return move_to(found, xp=namespace, device=device)


def _refuse_mixed(*others: Any) -> None:
    if any(is_on_device(other) for other in others):
        raise ValueError(
            "X is in the memory of the host, and y or sample_weight on a CUDA device: move them to the same place"
        )
