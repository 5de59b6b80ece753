"""Arrays on a CUDA device: CuPy arrays, torch tensors, device arrays of Numba, and others of the same protocol.

They are read where they are, without a copy, by `__cuda_array_interface__`. None of these libraries is imported before
there is such an array.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels

HOST_CELLS = 1 << 24
"""Number of values that are copied to the host at a time."""

MOST_ROWS = 2**31 - 1
"""Largest number of rows: their numbers take 32 bits."""


def is_on_device(X: Any) -> bool:
    """Return whether `X` is an array on a CUDA device."""
    if is_tensor(X):
        return str(X.device.type) == "cuda"
    return hasattr(X, "__cuda_array_interface__") or hasattr(X, "__cuda_ndarray__")  # the latter: Numba's own arrays


def is_tensor(X: Any) -> bool:
    """Return whether `X` is a torch tensor, without importing torch."""
    return any(kind.__module__.partition(".")[0] == "torch" and kind.__name__ == "Tensor" for kind in type(X).__mro__)


def cuda() -> Any:
    """Return the module `numba.cuda`."""
    try:
        from numba import cuda

        _import_with_new_numpy()
    except ImportError as error:
        raise ImportError("arrays on a CUDA device need numba-cuda: pip install 'ravine[gpu]'") from error
    return cuda


@cache
def _import_with_new_numpy() -> None:
    """Import what numba-cuda compiles with: up to 0.30, it reads a name that NumPy 2.5 no longer has."""
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0.dev0":
        np.row_stack = np.vstack  # noqa: NPY201
        try:
            if find_spec("numba.cuda.np") is not None:
                import_module("numba.cuda.np.arrayobj")
        finally:
            del np.row_stack  # noqa: NPY201


def device_of(X: Any) -> int:
    """Return the number of the device of an array; an array of Numba is taken to be on the current device."""
    if is_tensor(X):
        return int(X.device.index or 0)
    if hasattr(X, "__cuda_ndarray__"):
        return int(getattr(cuda().current_context().device, "id", 0))
    return int(getattr(getattr(X, "device", None), "id", 0))


def on_device_of(X: Any) -> AbstractContextManager[Any]:
    """Return a context in which kernels run on the device of an array; raise RuntimeError if there is no device."""
    if not cuda().is_available():
        raise RuntimeError(
            "X is on a CUDA device, but Numba finds no device: pip install 'ravine[gpu]', and check the driver with "
            "nvidia-smi"
        )
    context: AbstractContextManager[Any] = cuda().gpus[device_of(X)]
    return context


def as_rows(X: Any) -> Any:
    """Return an array on a device as kernels take it, without a copy; a ValueError says what to change."""
    _refuse_gradients(X, "X")
    dtype = str(X.dtype).rpartition(".")[2]  # of torch.float32, too
    if dtype not in ("float32", "float64"):
        raise ValueError(f"X on a device has {dtype}: convert it to float32, with X.float() or X.astype('float32')")
    if len(X.shape) != 2:
        raise ValueError(
            f"X on a device has {len(X.shape)} dimensions: it needs one row for each sample, as X.reshape(-1, 1)"
        )
    cuda().synchronize()  # other libraries may still write to it, in streams of their own
    found = as_values(X)
    if not found.is_c_contiguous():
        raise ValueError("the rows of X on a device are not contiguous: pass a copy in C order, such as X.contiguous()")
    n_rows, n_columns = found.shape
    most = _kernels.cuda.MOST_COLUMNS
    if not 1 <= n_columns <= most:
        raise ValueError(f"X on a device has {n_columns} columns, and 1 to {most} are supported: use other columns")
    if n_rows > MOST_ROWS:
        raise ValueError(f"X on a device has {n_rows} rows, and at most {MOST_ROWS} are supported: fit a sample")
    return found


def as_weights(weights: Any, X: Any) -> Any:
    """Return the weights of rows on a device, on the same device, in float64."""
    if not is_on_device(weights):
        return cuda().to_device(np.array(weights, dtype=np.float64))
    _refuse_gradients(weights, "sample_weight")
    if device_of(weights) != device_of(X):
        raise ValueError("X and sample_weight are on different devices: move one of them to the device of the other")
    found = as_values(weights)
    if found.dtype == np.float64 and found.is_c_contiguous():
        return found
    return cuda().to_device(found.copy_to_host().astype(np.float64))


def as_values(X: Any) -> Any:
    """Return an array on a device as kernels take it, of any type and shape."""
    return X if hasattr(X, "__cuda_ndarray__") else cuda().as_cuda_array(X)


def _refuse_gradients(X: Any, name: str) -> None:
    if is_tensor(X) and X.requires_grad:
        raise ValueError(f"{name} requires gradients, which a fit does not have: pass {name}.detach()")


def empty_like(X: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a new array on the device of `X` and of the same library."""
    if is_tensor(X):
        import torch

        return torch.empty(shape, dtype=getattr(torch, np.dtype(dtype).name), device=X.device)
    if type(X).__module__.partition(".")[0] == "cupy":
        import cupy

        with X.device:
            return cupy.empty(shape, dtype=dtype)
    return cuda().device_array(shape, dtype)


def moved_beside(array: NDArray[Any], X: Any) -> Any:
    """Return an array of the host on the device of `X` and of the same library."""
    with on_device_of(X):
        out = empty_like(X, array.shape, array.dtype)
        if array.size:
            cuda().to_device(np.ascontiguousarray(array), to=as_values(out))
        return out


def to_host(X: Any) -> NDArray[Any]:
    """Return an array on a device in the memory of the host."""
    _refuse_gradients(X, "X")
    with on_device_of(X):
        return np.asarray(as_values(X).copy_to_host())


def blocks_on_host(X: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield rows on a device in blocks, in the memory of the host, and where each block stands."""
    with on_device_of(X):
        rows = as_rows(X)
        size = max(HOST_CELLS // rows.shape[1], 1)
        for start in range(0, rows.shape[0], size):
            block = slice(start, min(start + size, rows.shape[0]))
            yield block, rows[block].copy_to_host()


def fill_block(out: Any, block: slice, values: NDArray[Any]) -> None:
    """Copy values to a part of an array on a device."""
    cuda().to_device(np.ascontiguousarray(values), to=as_values(out)[block])
