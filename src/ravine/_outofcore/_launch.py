"""Starts kernels on a CUDA device: how many blocks of threads, and arrays for their results."""

import warnings
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._outofcore._device_arrays import cuda

MOST_BLOCKS = 2048
"""Maximum number of blocks of threads in a pass; each block reads several tiles of many rows."""


def launch(kernel: Any, grid: Any, *arguments: Any, threads: int = 0) -> None:
    """Start a kernel with so many blocks of `threads` threads, or else of the usual number."""
    with warnings.catch_warnings():
        # Few rows leave most of the device idle, which is no fault. The text may begin with codes for colors.
        warnings.filterwarnings("ignore", ".*Grid size")
        configured = kernel[grid, threads or _kernels.cuda.THREADS]
    configured(*arguments)


def row_blocks(n_rows: int, n_columns: int) -> int:
    """Return the number of blocks for a pass over tiles of whole rows."""
    kernels = _kernels.cuda
    size = min(kernels.THREADS, kernels.TILE // (n_columns | 1))
    return max(min(-(-n_rows // size), MOST_BLOCKS), 1)


def flat_blocks(n: int) -> int:
    """Return the number of blocks for a pass over so many numbers."""
    return max(min(-(-n // _kernels.cuda.THREADS), MOST_BLOCKS), 1)


def column_blocks(n_columns: int) -> int:
    """Return the number of blocks, side by side, in which each thread has one column."""
    return -(-n_columns // _kernels.cuda.THREADS)


def to_device(array: Any) -> Any:
    """Return an array of the host on the current device."""
    return cuda().to_device(np.ascontiguousarray(array))


def zeros(shape: int | tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Return an array of zeros on the current device."""
    flat = cuda().device_array(int(np.prod(shape)), dtype)
    launch(_kernels.cuda.fill, flat_blocks(flat.shape[0]), flat, np.dtype(dtype).type(0))
    return flat.reshape(shape) if isinstance(shape, tuple) else flat
