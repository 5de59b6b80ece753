"""Labels and distances of rows on a CUDA device, by a tree on the host: one pass, one or two more with a mixture."""

import math
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._matrix import Ints
from ravine._outofcore._device_arrays import as_rows, as_values, cuda, empty_like, on_device_of
from ravine._outofcore._launch import flat_blocks, launch, row_blocks, to_device
from ravine.tree._mixture import Mixture
from ravine.tree._tree import HyperplaneTree


def predict(tree: HyperplaneTree, X: Any) -> Any:
    """Return the label of each row on the device of the rows, as `HyperplaneTree.predict` does on the host."""
    with on_device_of(X):
        out = empty_like(X, (X.shape[0],), np.int64)
        rows, label = as_rows(X), as_values(out)
        _walk(tree, rows, label, to_device(np.empty((1, 0))))
        if tree.mixture is not None and tree.has_soft_labels:
            _label_by_mixture(tree.mixture, rows, label)
        cuda().synchronize()
    return out


def signed_distance(tree: HyperplaneTree, X: Any) -> Any:
    """Return the signed distances to the cuts, as `HyperplaneTree.signed_distance` does; without cuts, one of zeros."""
    with on_device_of(X):
        out = empty_like(X, (X.shape[0], max(len(tree.cuts), 1)), np.float64)
        distance = as_values(out)
        flat = distance.reshape(distance.shape[0] * distance.shape[1])
        launch(_kernels.cuda.fill, flat_blocks(flat.shape[0]), flat, 0.0)
        _walk(tree, as_rows(X), cuda().device_array(X.shape[0], np.int64), distance)
        cuda().synchronize()
    return out


def _walk(tree: HyperplaneTree, rows: Any, label: Any, distance: Any) -> None:
    cuts = tree.normal, tree.offset, tree.left, tree.right, np.cumsum(~tree.is_leaf) - 1, tree.label
    _launch_on(rows, _kernels.cuda.walk, *(to_device(array) for array in cuts), label, distance)


def _label_by_mixture(mixture: Mixture, rows: Any, label: Any) -> None:
    """Replace the labels by the cuts with those of `Mixture.labels`."""
    component = cuda().device_array(label.shape[0], np.int64)
    first = to_device(mixture.first_components)
    if math.isinf(mixture.freedom):
        planes = (to_device(array) for array in mixture.planes)
        _launch_on(rows, _kernels.cuda.likeliest_of_planes, *planes, first, label, component)
    else:
        components = (to_device(array) for array in (mixture.mean, mixture.factor, mixture.constant))
        shape = float(mixture.freedom), float(mixture.power)
        _launch_on(rows, _kernels.cuda.likeliest, *components, *shape, first, label, component)
    if mixture.decides:
        cluster: Ints = mixture.cluster
        launch(_kernels.cuda.look_up, flat_blocks(label.shape[0]), to_device(cluster), component, label)
    if mixture.limit is not None:
        shape_of = (to_device(array) for array in (mixture.mean, mixture.factor, mixture.limit))
        _launch_on(rows, _kernels.cuda.label_outliers, component, *shape_of, label)


def _launch_on(rows: Any, kernel: Any, *arguments: Any) -> None:
    """Start a kernel that reads all rows as they are."""
    blocks = row_blocks(*rows.shape)
    launch(kernel, blocks, rows, to_device(np.empty((3, 0))), rows.shape[0], *arguments)
