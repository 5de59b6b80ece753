"""A tree of low-density cuts learned from a stream in constant memory (Hofmeyr 2020, §2-3).

The tree is complete and has a fixed depth. Each row moves the cuts on its way down and is then discarded. The result
depends neither on how the stream is divided into batches nor on the number of threads.
"""

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._blocks import count_threads, map_items
from ravine._matrix import LARGEST, Floats, Ints, Matrix, project
from ravine._schema import Array, Group, Sizes, State, require
from ravine.tree._derived import without_empty_leaves
from ravine.tree._tree import HyperplaneTree


@dataclass(frozen=True)
class Settings:
    """Settings for learning the cuts of a stream.

    Attributes
    ----------
    exponent : float
        The bandwidth after t rows is σ t^(-exponent), where σ is the deviation of the rows along the normal.
    alpha : float
        A cut is penalized if it is more than this many deviations from the mean.
    penalty : float
        Weight C of the penalty.
    clip : float
        A cut is never more than ``clip * alpha`` deviations from the mean.
    warm_up : float
        Number of rows of a node during which its normal is their running principal component.
    most : float
        Maximum weight of the past; smaller numbers follow a stream that drifts.
    """

    exponent: float = 0.2
    alpha: float = 0.1
    penalty: float = 10.0
    clip: float = 5.0
    warm_up: float = 0.0
    most: float = math.inf


CHUNK_CELLS = 1 << 16
"""Number of values that pass down the tree at a time: half a megabyte stays in the cache."""

MOST = 0.75
"""If one side of a cut has at least this share of some rows, the cut does not separate them."""

SHARE_CELLS = 1 << 14
"""Batches with fewer values are not worth a second thread."""


def weights_are_not_negative(state: State, sizes: Sizes) -> None:
    """No node has a negative weight, variance or number of rows."""
    online = _kernels.imdh
    numbers = state["scalars"][:, [online.COUNT, online.SUM_SQ, online.SPREAD, online.N_ROWS]]
    require((numbers >= 0).all(), "scalars", "has a negative weight, variance or number of rows")


ONLINE = Group(
    {
        "normal": Array("float64", ("n_cuts", "n_features")),
        "mean": Array("float64", ("n_heap", "n_features")),
        "scalars": Array("float64", ("n_heap", "n_scalars")),
    },
    (weights_are_not_negative,),
)
"""The result of `IMDHTree.state`."""


def squares_are_finite(state: State, sizes: Sizes) -> None:
    """The squares of the normals and means do not overflow, also those of sparse rows; a few nodes are checked at a
    time.
    """
    kernel, step = _kernels.imdh, max(CHUNK_CELLS // sizes["n_features"], 1)
    for start in range(0, sizes["n_heap"], step):
        normal, mean, scalars = (array[start : start + step] for array in state["online"].values())
        if state["is_sparse"]:
            scale, share, fade, count = scalars[:, [kernel.SCALE, kernel.SHARE, kernel.FADE, kernel.COUNT]].T
            is_cut = slice(len(normal))
            normal = scale[is_cut, np.newaxis] * (normal + share[is_cut, np.newaxis] * mean[is_cut])
            mean = mean * np.where(count > 0, fade / np.where(count > 0, count, 1.0), 1.0)[:, np.newaxis]
        for name, array in (("online.normal", normal), ("online.mean", mean)):
            require((np.abs(array) <= LARGEST).all(), name, "has an entry that is far too large")


class IMDHTree:
    """Cuts in a heap: node 1 is the root, 2 i and 2 i + 1 are the children of i, and the last level has no cuts.

    Parameters
    ----------
    depth : int
        Number of levels of cuts; the last level has 2^depth nodes.
    n_features : int
    settings : Settings
    is_sparse : bool, default=False
        Whether rows are CSR matrices. A row then costs its nonzeros, not its columns, at each node.
    """

    def __init__(self, depth: int, n_features: int, settings: Settings, is_sparse: bool = False) -> None:
        n_cuts = 1 << depth
        self.depth = depth
        self.n_features = n_features
        self.settings = settings
        self.is_sparse = is_sparse
        # For sparse rows, `_normal` and `_mean` are what the kernels call base and total.
        self._normal = np.full((n_cuts, n_features), n_features**-0.5)
        self._mean = np.zeros((2 * n_cuts, n_features))
        self.scalars = np.zeros((2 * n_cuts, _kernels.imdh.N_SCALARS))

    @classmethod
    def from_state(cls, depth: int, settings: Settings, is_sparse: bool, state: State) -> "IMDHTree":
        """Restore the checked result of `state`."""
        tree = cls(0, state["normal"].shape[1], settings, is_sparse)  # its arrays are small and replaced
        tree.depth = depth
        tree._normal, tree._mean, tree.scalars = state["normal"], state["mean"], state["scalars"]
        return tree

    def state(self) -> dict[str, Any]:
        """Return the fields of `ONLINE`, which must be saved, without copies."""
        return {"normal": self._normal, "mean": self._mean, "scalars": self.scalars}

    def learn(self, X: Matrix, weights: Floats, n_jobs: int | None = None) -> None:
        """Pass rows through the tree, in their order."""
        settings = tuple(map(float, astuple(self.settings)))
        goes_left = np.empty(X.shape[0], dtype=np.bool_)
        all_rows = np.arange(X.shape[0])
        matrix = (X.indptr, X.indices, X.data) if self.is_sparse else (X,)
        kernel: Callable[..., Ints] = _kernels.imdh.learn_csr if self.is_sparse else _kernels.imdh.learn

        def descend(first: int, rows: Ints, chunk: int, stop_level: int) -> Ints:
            state = (self._normal, self._mean, self.scalars)
            return kernel(*matrix, weights, rows, chunk, first, stop_level, *state, settings, goes_left)

        n_cells = matrix[-1].size
        n_threads = count_threads(n_jobs) if n_cells >= SHARE_CELLS else 1
        level = 1 << min(math.ceil(math.log2(n_threads)), self.depth)
        # One thread takes the rows through the first levels; below them, each subtree has its own rows and nodes.
        ends = descend(1, all_rows, X.shape[0], level) if level > 1 else np.array([[1, 0, X.shape[0]]])
        chunk = max(CHUNK_CELLS * X.shape[0] // max(n_cells, 1), 1)
        map_items(
            lambda end: descend(end[0], all_rows[end[1] : end[2]], chunk, len(self._mean)), ends.tolist(), n_threads
        )

    def normal_and_mean(self, node: int) -> tuple[Floats, Floats]:
        """Return the unit normal of the cut of a node, or zeros if it has none, and the mean of its rows."""
        is_cut = node < len(self._normal)
        normal = self._normal[node] if is_cut else np.zeros(self._mean.shape[1])
        mean = self._mean[node]
        scalars = self.scalars[node]
        online = _kernels.imdh
        if self.is_sparse and scalars[online.COUNT] > 0:
            if is_cut:
                normal = scalars[online.SCALE] * (normal + scalars[online.SHARE] * mean)
            mean = mean * (scalars[online.FADE] / scalars[online.COUNT])
        length = float(np.linalg.norm(normal))
        if is_cut and not length > 0:  # rounding has left nothing of it, so any normal will do
            normal, length = np.full(self.n_features, self.n_features**-0.5), 1.0
        return (normal / length if is_cut else normal), mean

    def normal_for(self, X: Matrix, weights: Floats, n_jobs: int | None = None) -> Floats | None:
        """Return the normal of the cut that separates these rows: that of the deepest node that most of them reach."""
        node, online = 1, _kernels.imdh
        while node < len(self._normal) and self.scalars[node, online.COUNT] > 0:
            normal, mean = self.normal_and_mean(node)
            goes_left = project(X, normal, n_jobs) < self.scalars[node, online.OFFSET] + normal @ mean
            left_share = weights[goes_left].sum() / weights.sum()
            if max(left_share, 1 - left_share) < MOST:
                return normal
            kept = goes_left if left_share > 0.5 else ~goes_left
            X, weights, node = X[kept], weights[kept], 2 * node + int(left_share <= 0.5)
        return None

    def cut_tree(self, center: Floats, scale: Floats) -> HyperplaneTree:
        """Return the current cuts in the user's columns, before they were centered and scaled.

        Cuts with no row on one side are removed. Sums of squares stay in the scaled columns.
        """
        node = np.arange(1, len(self._mean))
        is_cut, online = node < len(self._normal), _kernels.imdh
        normal, mean = (np.array(part) for part in zip(*map(self.normal_and_mean, node.tolist()), strict=True))
        unknown = np.zeros(len(node))
        tree = HyperplaneTree.from_nodes(
            left=np.where(is_cut, 2 * node, 0) - 1,
            right=np.where(is_cut, 2 * node + 1, 0) - 1,
            rank=node,
            normal=normal,
            offset=np.where(is_cut, self.scalars[1:, online.OFFSET] + (normal * mean).sum(axis=1), 0.0),
            count=self.scalars[1:, online.COUNT],
            mean=mean,
            sum_sq=self.scalars[1:, online.SUM_SQ],
            value=unknown,
            relative_depth=unknown,
            p_value=unknown + 1.0,
        )
        return without_empty_leaves(tree).unscaled(center, scale)
