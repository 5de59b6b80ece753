"""Rows of the host that a CUDA device reads: for data that does not fit in the memory of the device."""

from typing import Any

from numpy.typing import ArrayLike

from ravine._outofcore import CHUNK_BYTES, RowsFromHost

__all__ = ["from_host"]


def from_host(X: ArrayLike, device: int = 0, chunk_bytes: int = CHUNK_BYTES) -> Any:
    """Have a CUDA device read rows that stay in the memory of the host, chunk by chunk in every pass.

    Use this for rows that do not fit in the memory of the device; rows that fit are faster on the device. `NCutH`,
    `MDH`, `PDDP` and `IncrementalMDH` take the result in place of X, in `fit`, `predict` and `transform`. Labels and
    other results are NumPy arrays.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows in float32 or float64, in C order: an array, a memory map, or a tensor on the CPU. They are not copied.
    device : int, default=0
        Number of the device.
    chunk_bytes : int, default=2**30
        Size of a chunk. The device holds one chunk, and the host two in pinned memory. The result does not depend on
        it, unless rows are equal.

    Returns
    -------
    rows : object
        To be passed to an estimator.

    See Also
    --------
    ravine.NCutH : One of the estimators that read such rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import NCutH, gpu
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> model = NCutH(2).fit(gpu.from_host(X))  # doctest: +SKIP
    """
    return RowsFromHost(X, device, chunk_bytes)
