"""HyperplaneTree: arrays of cuts, indexed by node.

Nodes are numbered in preorder, the left subtree before the right. Therefore the leaves in numerical order are the
leaves from left to right, a subtree is a range of numbers, and two trees are equal if their arrays are equal.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ravine._blocks import BLOCK_CELLS
from ravine._checks import all_finite, as_floats, checked_sparse, checked_weights
from ravine._lazy import public
from ravine._matrix import Bools, Floats, Ints, Matrix, Moments, moments_of, walk
from ravine.cuts import Cut
from ravine.tree import _check, _html, _mixture, _surfaces, _text
from ravine.tree._coarser import labels_in
from ravine.tree._mixture import Mixture


@public("ravine.tree")
@dataclass(frozen=True, eq=False, repr=False)
class HyperplaneTree:
    """A binary tree of cuts; every leaf is a cluster.

    All arrays are indexed by node and read-only. The root is node 0. A leaf has -1 in `left` and `right`, and zeros in
    the arrays of cuts. Models create trees, and so do `cut_to` and the other methods. The parameters are also available
    as attributes.

    Parameters
    ----------
    normal : ndarray of shape (n_nodes, n_features)
        Unit normal of each cut, in the units of the data.
    offset : ndarray of shape (n_nodes,)
        Offset of each cut. Rows with ``x @ normal < offset`` go left.
    left, right, parent : ndarray of shape (n_nodes,)
        Left child, right child and parent of each node; -1 if there is none.
    depth : ndarray of shape (n_nodes,)
        Depth of each node: the number of cuts above it.
    rank : ndarray of shape (n_nodes,)
        Position of each cut in the sequence from one cluster to all clusters, starting at 1; 0 for a leaf. `cut_to`
        keeps the first cuts of this sequence.
    count : ndarray of shape (n_nodes,)
        Number of rows in each node, or their total weight.
    mean : ndarray of shape (n_nodes, n_features)
        Mean of the rows of each node.
    sum_sq : ndarray of shape (n_nodes,)
        Sum of the squared distances of the rows of each node to their mean.
    value : ndarray of shape (n_nodes,)
        Value of the objective at each cut; smaller is better.
    relative_depth : ndarray of shape (n_nodes,)
        Depth of the valley at each cut, relative to the density at the cut (Hofmeyr 2016, eq. 2.30).
    p_value : ndarray of shape (n_nodes,)
        P-value of the valley of each node on held-out rows, also for leaves that were tested; 1 if not tested.
    surface : ndarray of shape (n_nodes,)
        The `Surface` of each cut that bends; its normal and offset are those of a hyperplane near it. None for all
        other nodes.
    mixture : Mixture or None
        A mixture of t distributions with a component for each leaf. It may decide where clusters end, see `predict`.
        Counts, means and sums of squares are always those of the rows that reach a node by the cuts.

    Attributes
    ----------
    n_nodes : int
        Number of nodes: cuts and leaves together.
    n_features : int
        Number of features of the data.
    n_clusters : int
        Number of leaves.
    is_leaf : ndarray of shape (n_nodes,)
        Whether each node is a leaf, that is, a cluster.
    leaves : ndarray of shape (n_clusters,)
        Node of each cluster, from left to right.
    cuts : ndarray of shape (n_clusters - 1,)
        Nodes that have a cut.
    label : ndarray of shape (n_nodes,)
        Label of each leaf, from 0 to ``n_clusters - 1``, from left to right; -1 for a node that has a cut.

    See Also
    --------
    tree_of : Returns the tree of a fitted model.
    ravine.plot.tree : Draws a tree.
    ravine.tree.grow : Grows a tree with any function that finds a cut.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ravine import PDDP
    >>> print(PDDP(n_clusters=3, criterion="mean").fit(load_iris().data).tree_)
    HyperplaneTree: 3 clusters, 2 cuts, 4 features
    0: 150 rows, x2 (74%), x3 (13%)
    ├─ 1: 59 rows → cluster 0
    └─ 2: 91 rows, x2 (55%), x0 (31%)
       ├─ 3: 52 rows → cluster 1
       └─ 4: 39 rows → cluster 2
    """

    normal: Floats
    offset: Floats
    left: Ints
    right: Ints
    parent: Ints
    depth: Ints
    rank: Ints
    count: Floats
    mean: Floats
    sum_sq: Floats
    value: Floats
    relative_depth: Floats
    p_value: Floats
    surface: NDArray[Any] = None  # type: ignore[assignment]
    mixture: Mixture | None = None

    def __post_init__(self) -> None:
        arrays = fields_of(self)
        surface = arrays.pop("surface")
        mixture = arrays.pop("mixture")
        arrays = _check.STRUCTURE.checked(_check.typed(arrays))
        arrays["surface"] = _check.checked_surfaces(surface, arrays["left"] >= 0)
        self._set(arrays)
        if mixture is not None and mixture.n_clusters != self.n_clusters:
            raise ValueError(f"the mixture has {mixture.n_clusters} clusters, but the tree has {self.n_clusters}")

    def __getstate__(self) -> dict[str, Any]:
        return self.to_dict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(vars(HyperplaneTree.from_dict(state)))

    def _set(self, arrays: dict[str, NDArray[Any]]) -> None:
        for name, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def from_nodes(cls, left: ArrayLike, right: ArrayLike, rank: ArrayLike, **columns: ArrayLike) -> "HyperplaneTree":
        """Build a tree from nodes in any order, with the root first.

        Parameters
        ----------
        left, right : array-like of shape (n_nodes,)
            Children of each node; -1 if there are none. Nodes that cannot be reached from the root are dropped.
        rank : array-like of shape (n_nodes,)
            Order of the cuts. Gaps are closed.
        **columns : array-like
            The remaining arrays, without `parent` and `depth`.

        Returns
        -------
        tree : HyperplaneTree
            Tree with its nodes in preorder.
        """
        left, right, rank = (np.asarray(a, dtype=np.int64) for a in (left, right, rank))
        order, depth = _preorder(left, right)
        number = np.full(len(left) + 1, -1)
        number[order] = np.arange(len(order))
        left, right = number[left[order]], number[right[order]]
        parent = np.full(len(order), -1)
        cuts = np.flatnonzero(left >= 0)
        parent[left[cuts]] = parent[right[cuts]] = cuts
        rank = np.where(left >= 0, _ranks(rank[order], left >= 0), 0)
        arrays = {name: np.asarray(column)[order] for name, column in columns.items()}
        fields_of_tree: dict[str, Any] = {**arrays, "parent": parent, "depth": depth, "rank": rank}
        return cls(left=left, right=right, **fields_of_tree)

    # Contents

    @property
    def n_nodes(self) -> int:
        """Number of nodes: cuts and leaves together."""
        return len(self.left)

    @property
    def n_features(self) -> int:
        """Number of features of the data."""
        return self.normal.shape[1]

    @property
    def is_leaf(self) -> Bools:
        """Whether each node is a leaf, that is, a cluster."""
        return self.left < 0

    @property
    def leaves(self) -> Ints:
        """Node of each cluster, from left to right."""
        return np.flatnonzero(self.left < 0)

    @property
    def cuts(self) -> Ints:
        """Nodes that have a cut."""
        return np.flatnonzero(self.left >= 0)

    @property
    def n_clusters(self) -> int:
        """Number of leaves."""
        return len(self.leaves)

    @property
    def has_soft_labels(self) -> bool:
        """Whether the labels of rows depend on `mixture`; if not, they are those of the leaves."""
        return self.mixture is not None and self.mixture.has_labels

    @property
    def label(self) -> Ints:
        """Label of each leaf, from 0 to ``n_clusters - 1``, from left to right; -1 for a node that has a cut."""
        return np.where(self.is_leaf, np.cumsum(self.is_leaf) - 1, -1)

    def sibling(self, node: int) -> int:
        """Return the other child of the node's parent; -1 for the root.

        Parameters
        ----------
        node : int
            Number of a node.

        Returns
        -------
        sibling : int
            Number of the sibling, or -1.
        """
        parent = self.parent[node]
        if parent < 0:
            return -1
        return int(self.right[parent] if self.left[parent] == node else self.left[parent])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HyperplaneTree):
            return NotImplemented
        arrays = [f.name for f in fields(self) if f.name != "mixture"]
        are_equal = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)
        return are_equal and self.mixture == other.mixture

    __hash__ = None  # type: ignore[assignment]

    # Passing rows down the tree

    def apply(self, X: Matrix, n_jobs: int | None = -1, check_input: bool = True) -> Ints:
        """Return the leaf that each row reaches.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Rows with the same columns as the data of the tree.
        n_jobs : int, default=-1
            Number of threads; -1 uses all cores. The result does not depend on it.
        check_input : bool, default=True
            Whether to check the rows. Set it to False only for rows that have been checked before.

        Returns
        -------
        node : ndarray of shape (n_samples,)
            Number of a leaf for each row, one of `leaves`.

        Examples
        --------
        >>> from ravine import PDDP
        >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
        >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
        >>> tree.apply(X)
        array([2, 2, 4, 4, 3, 3])
        """
        X = self._rows(X) if check_input else X
        if not self._bends:
            return walk(X, self.normal, self.offset, self.left, self.right, n_jobs=n_jobs)
        leaf = np.empty(X.shape[0], dtype=np.int64)
        for node, rows, _ in self._descent(X, n_jobs):
            if self.is_leaf[node]:
                leaf[rows] = node
        return leaf

    def predict(self, X: Matrix, n_jobs: int | None = -1, check_input: bool = True) -> Ints:
        """Predict the label of each row: that of its leaf, or of its likeliest component if `mixture` decides.

        If the mixture has a limit for outliers, rows beyond it have the label -1.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Rows with the same columns as the data of the tree.
        n_jobs : int, default=-1
            Number of threads; -1 uses all cores. The result does not depend on it.
        check_input : bool, default=True
            Whether to check the rows. Set it to False only for rows that have been checked before.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row, from 0 to ``n_clusters - 1``, in the order of the leaves from left to right; -1 for
            outliers.

        Examples
        --------
        >>> from ravine import PDDP
        >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
        >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
        >>> tree.predict(X)
        array([0, 0, 2, 2, 1, 1])
        """
        X = self._rows(X) if check_input else X
        label = self.label[self.apply(X, n_jobs, check_input=False)]
        return self.mixture.labels(X, label, n_jobs) if self.mixture is not None and self.has_soft_labels else label

    def membership(self, X: Matrix, n_jobs: int | None = -1, check_input: bool = True) -> Floats:
        """Compute the probability that each row belongs to each cluster, by the mixture.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Rows with the same columns as the data of the tree.
        n_jobs : int, default=-1
            Number of threads; -1 uses all cores. The result does not depend on it.
        check_input : bool, default=True
            Whether to check the rows. Set it to False only for rows that have been checked before.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_clusters)
            Each row adds up to 1. The largest is that of the label if the mixture decides.

        Examples
        --------
        >>> from ravine import NCutH
        >>> from sklearn.datasets import load_iris
        >>> tree = NCutH(n_clusters=3).fit(load_iris().data).tree_
        >>> tree.membership([[5.0, 3.4, 1.5, 0.2], [6.3, 2.8, 4.9, 1.7]]).round(2)
        array([[1.  , 0.  , 0.  ],
               [0.  , 0.22, 0.78]])
        """
        X = self._rows(X) if check_input else X
        label = self.label[self.apply(X, n_jobs, check_input=False)]
        return self._required_mixture().memberships(X, label, n_jobs)

    def log_density(self, X: Matrix, n_jobs: int | None = -1, check_input: bool = True) -> Floats:
        """Compute the logarithm of the density of the mixture at each row: how typical a row is.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Rows with the same columns as the data of the tree.
        n_jobs : int, default=-1
            Number of threads; -1 uses all cores. The result does not depend on it.
        check_input : bool, default=True
            Whether to check the rows. Set it to False only for rows that have been checked before.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Smaller for rows far from all clusters. It depends on the units of the columns.
        """
        return self._required_mixture().log_density(self._rows(X) if check_input else X, n_jobs)

    def _log_density_beside(self, X: Matrix) -> Floats:
        """Return the log density of each row in the columns that the mixture does not describe."""
        return self._required_mixture().log_density_beside(X, self.mean[0])

    def _required_mixture(self) -> Mixture:
        if self.mixture is None:
            raise ValueError(
                "the tree has no mixture, which gives memberships and densities: use a model with "
                "assign_labels='mixture', on dense rows with at most 2,048 columns, and fewer clusters if some have "
                "only a few rows and would lose all of them to others"
            )
        return self.mixture

    def decision_path(self, X: Matrix, n_jobs: int | None = -1) -> sparse.csr_array:
        """Return the nodes that each row passes through.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Rows with the same columns as the data of the tree.
        n_jobs : int, default=-1
            Number of threads; -1 uses all cores. The result does not depend on it.

        Returns
        -------
        passes : sparse array of shape (n_samples, n_nodes)
            Whether each row passes through each node.

        Examples
        --------
        >>> from ravine import PDDP
        >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
        >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
        >>> tree.decision_path(X[:3]).toarray().astype(int)
        array([[1, 1, 1, 0, 0],
               [1, 1, 1, 0, 0],
               [1, 0, 0, 0, 1]])
        """
        leaf = self.apply(X, n_jobs)
        paths = sparse.csr_array(self._paths())
        return paths[self.label[leaf]]

    def signed_distance(self, X: Matrix, n_jobs: int | None = -1, check_input: bool = True) -> Floats:
        """Compute the signed distance of each row to the cuts on its path, negative on the left.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Rows with the same columns as the data of the tree.
        n_jobs : int, default=-1
            Number of threads; -1 uses all cores. The result does not depend on it.
        check_input : bool, default=True
            Whether to check the rows. Set it to False only for rows that have been checked before.

        Returns
        -------
        distance : ndarray of shape (n_samples, n_cuts)
            One column for each cut, in the order of `cuts`. The distance is 0 for cuts that are not on the path of the
            row.

        Examples
        --------
        >>> from ravine import PDDP
        >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
        >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
        >>> tree.signed_distance(X[1:3]).round(1)
        array([[-0.7, -3.8],
               [ 6.5,  0. ]])
        """
        X = self._rows(X) if check_input else X
        column = np.cumsum(~self.is_leaf) - 1
        distance = np.zeros((X.shape[0], len(self.cuts)))
        if not self._bends:
            tree = (self.normal, self.offset, self.left, self.right)
            walk(X, *tree, column=column, distance=distance, n_jobs=n_jobs)
            return distance
        for node, rows, heights in self._descent(X, n_jobs):
            if not self.is_leaf[node]:
                distance[rows, column[node]] = heights
        return distance

    @property
    def _bends(self) -> bool:
        return any(surface is not None for surface in self.surface)

    def _descent(self, X: Matrix, n_jobs: int | None) -> Iterator[tuple[int, Ints, Floats]]:
        """Yield each node with the rows that reach it and their heights above its cut, for cuts of any kind."""
        # Works in blocks of rows, because a node copies its rows.
        row_length = max(X.nnz // max(X.shape[0], 1) if sparse.issparse(X) else X.shape[1], 1)
        size = max(BLOCK_CELLS // row_length, 1)
        for start in range(0, X.shape[0], size):
            stack = [(0, np.arange(start, min(start + size, X.shape[0])))]
            while stack:
                node, rows = stack.pop()
                if self.is_leaf[node]:
                    yield node, rows, np.empty(0)
                    continue
                heights = self.cut(node).heights(X[rows], n_jobs)
                yield node, rows, heights
                stack += [(int(self.left[node]), rows[heights < 0]), (int(self.right[node]), rows[~(heights < 0)])]

    def cut(self, node: int) -> Cut:
        """Return the cut of a node.

        Parameters
        ----------
        node : int
            A node that has a cut, one of `cuts`.

        Returns
        -------
        cut : Cut
            Normal, offset, and the evidence for the valley.

        Examples
        --------
        >>> from ravine import PDDP
        >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
        >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
        >>> cut = tree.cut(1)
        >>> cut.normal.round(2), round(cut.offset, 2)
        (array([0.06, 1.  ]), 4.76)
        """
        names = ("offset", "value", "relative_depth", "p_value")
        numbers = {name: float(getattr(self, name)[node]) for name in names}
        return Cut(self.normal[node], surface=self.surface[node], **numbers)

    def _rows(self, X: Matrix) -> Matrix:
        if sparse.issparse(X):
            X = checked_sparse(X)
            values = as_floats(X.data, "X")
            X = X if values is X.data else type(X)((values, X.indices, X.indptr), shape=X.shape)
        else:
            X = values = as_floats(X, "X")
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X has shape {X.shape}, but the tree was grown on {self.n_features} columns")
        if not all_finite(values):
            raise ValueError("X contains NaN or infinity, which lie on no side of a cut: impute them, or drop the rows")
        return X

    def _paths(self) -> Bools:
        """Return whether each node is on the path to each leaf."""
        on_path = np.zeros((self.n_clusters, self.n_nodes), dtype=bool)
        node = self.leaves.copy()
        while (node >= 0).any():
            on_path[node >= 0, node[node >= 0]] = True
            node = np.where(node >= 0, self.parent[node], -1)
        return on_path

    # Trees derived from this one

    def cut_to(self, n_clusters: int) -> "HyperplaneTree":
        """Return the tree that has only the first ``n_clusters - 1`` cuts, by `rank`.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, from 1 to the number of leaves.

        Returns
        -------
        tree : HyperplaneTree
            Tree with `n_clusters` leaves.

        Examples
        --------
        >>> from ravine import PDDP
        >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
        >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
        >>> print(tree.cut_to(2))
        HyperplaneTree: 2 clusters, 1 cut, 2 features
        0: 6 rows, x0 (69%), x1 (31%)
        ├─ 1: 4 rows → cluster 0
        └─ 2: 2 rows → cluster 1
        """
        if not _is_whole(n_clusters) or not 1 <= n_clusters <= self.n_clusters:
            raise ValueError(
                f"n_clusters={n_clusters} must be an integer between 1 and {self.n_clusters}, the number of leaves: "
                "for more clusters, fit again with a larger n_clusters"
            )
        return self._without(np.flatnonzero(self.rank >= n_clusters))

    def prune(self, node: int) -> "HyperplaneTree":
        """Return the tree in which `node` is a leaf; its cut and all nodes below it are removed.

        Parameters
        ----------
        node : int
            A node that has a cut, one of `cuts`.

        Returns
        -------
        tree : HyperplaneTree
            Tree with fewer leaves.

        Examples
        --------
        >>> from ravine import PDDP
        >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
        >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
        >>> tree.prune(1)
        <HyperplaneTree: 2 clusters, 1 cut, 2 features>
        """
        self._check_node(node)
        if self.is_leaf[node]:
            raise ValueError(f"node {node} is already a leaf; the nodes that can be pruned are {self.cuts.tolist()}")
        return self._without(np.array([node]))

    def split(
        self, node: int, cut: Cut, X: Matrix | None = None, sample_weight: ArrayLike | None = None
    ) -> "HyperplaneTree":
        """Return the tree in which the leaf `node` is split in two.

        Counts, means and sums of squares of the two new leaves come from the rows of `X` that reach them. Without `X`,
        they are unknown: the new leaves have count 0 and the mean of `node`.

        Parameters
        ----------
        node : int
            A leaf, one of `leaves`.
        cut : Cut
            The cut of the leaf. Its normal need not have unit length.
        X : ndarray or CSR matrix of shape (n_samples, n_features), optional
            Rows to count on both sides. Rows that do not reach the node are ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. Default: 1 for each.

        Returns
        -------
        tree : HyperplaneTree
            Tree with one more leaf. The new cut comes last in `rank`.

        Examples
        --------
        >>> import numpy as np
        >>> from ravine import PDDP
        >>> from ravine.cuts import Cut
        >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
        >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
        >>> across = Cut(np.array([0.0, 1.0]), 0.5)
        >>> print(tree.split(4, across, X))
        HyperplaneTree: 4 clusters, 3 cuts, 2 features
        0: 6 rows, x0 (69%), x1 (31%)
        ├─ 1: 4 rows, x1 (100%), x0 (0%)
        │  ├─ 2: 2 rows → cluster 0
        │  └─ 3: 2 rows → cluster 1
        └─ 4: 2 rows, x1 (100%)
           ├─ 5: 1 row → cluster 2
           └─ 6: 1 row → cluster 3
        """
        self._check_node(node)
        if not self.is_leaf[node]:
            raise ValueError(f"node {node} already has a cut; the leaves are {self.leaves.tolist()}")
        normal = np.asarray(cut.normal, dtype=np.float64)
        if normal.shape != (self.n_features,):
            raise ValueError(
                f"the normal of the cut has shape {normal.shape}, but the tree has {self.n_features} features"
            )
        length = np.linalg.norm(normal)
        if not (np.isfinite(length) and length > 0 and np.isfinite(cut.offset)):
            raise ValueError("the cut must have a finite, non-zero normal and a finite offset")
        children = [self.n_nodes, self.n_nodes + 1]
        # The cut of a leaf is all zeros, so two copies of the leaf are valid leaves.
        nodes = {name: np.concatenate([array, array[[node, node]]]) for name, array in columns_of(self).items()}
        nodes["count"][children] = nodes["sum_sq"][children] = 0.0
        nodes["p_value"][children] = 1.0
        nodes["left"][node], nodes["right"][node], nodes["rank"][node] = *children, self.n_clusters
        nodes["normal"][node], nodes["offset"][node] = normal / length, cut.offset / length
        nodes["surface"][node] = cut.surface
        for name in ("value", "relative_depth", "p_value"):
            nodes[name][node] = getattr(cut, name)
        if X is not None:
            unit = replace(cut, normal=normal / length, offset=float(cut.offset / length))
            for child, moments in zip(children, self._halves(node, unit, X, sample_weight), strict=True):
                if moments is not None:
                    nodes["count"][child], nodes["mean"][child], nodes["sum_sq"][child] = (
                        moments.count,
                        moments.mean,
                        moments.sum_sq,
                    )
        return HyperplaneTree.from_nodes(**nodes)

    def _halves(self, node: int, cut: Cut, X: Matrix, sample_weight: ArrayLike | None) -> list[Moments | None]:
        """Return the moments of the rows on each side of the new cut of a leaf; None for a side without rows."""
        X = self._rows(X)
        weights = checked_weights(sample_weight, X.shape[0], allow_all_zero=True)
        here = np.flatnonzero(self.apply(X) == node)
        goes_left = cut.goes_left(X[here])
        sides = here[goes_left], here[~goes_left]
        return [moments_of(X[rows], weights[rows]) if weights[rows].sum() > 0 else None for rows in sides]

    def unscaled(self, center: Floats, scale: Floats) -> "HyperplaneTree":
        """Return the tree in the original units, for a tree that was grown on ``(rows - center) / scale``.

        The sums of squares are not converted.

        Parameters
        ----------
        center, scale : ndarray of shape (n_features,)
            Center that was subtracted from the columns, and scale by which they were divided.

        Returns
        -------
        tree : HyperplaneTree
            Tree that sends an original row to the same leaf to which this tree sends the scaled row.

        Examples
        --------
        >>> import numpy as np
        >>> from ravine import PDDP
        >>> X = np.array([[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]])
        >>> center, scale = X.mean(axis=0), X.std(axis=0)
        >>> scaled = (X - center) / scale
        >>> tree = PDDP(n_clusters=3, criterion="mean").fit(scaled).tree_
        >>> bool((tree.unscaled(center, scale).predict(X) == tree.predict(scaled)).all())
        True
        """
        normal = self.normal / scale
        length = np.linalg.norm(normal, axis=1)
        length[self.is_leaf] = 1.0
        normal /= length[:, np.newaxis]
        offset = np.where(self.is_leaf, 0.0, self.offset / length + normal @ center)
        surface = np.array([s if s is None else s.unscaled(center, scale) for s in self.surface], dtype=object)
        mixture = None if self.mixture is None else self.mixture.unscaled(center, scale)
        moved: dict[str, Any] = {"normal": normal, "offset": offset, "mean": self.mean * scale + center}
        moved |= {"surface": surface, "mixture": mixture}
        return HyperplaneTree(**{**fields_of(self), **moved})

    def _without(self, ends: Ints) -> "HyperplaneTree":
        left = self.left.copy()
        left[ends] = -1
        kept = columns_of(self)
        for name in ("normal", "offset", "value", "relative_depth"):
            kept[name] = kept[name].copy()
            kept[name][ends] = 0.0
        kept["surface"] = kept["surface"].copy()
        kept["surface"][ends] = None
        tree = HyperplaneTree.from_nodes(**{**kept, "left": left, "right": np.where(left < 0, -1, self.right)})
        return tree if self.mixture is None else replace(tree, mixture=self.mixture.merged(labels_in(self, tree)))

    def _check_node(self, node: int) -> None:
        if not _is_whole(node) or not 0 <= node < self.n_nodes:
            raise ValueError(f"there is no node {node!r}; the nodes of the tree are 0 to {self.n_nodes - 1}")

    # Text, HTML and dictionaries

    def describe(self, feature_names: Sequence[str] | None = None, n_features: int = 5) -> list[dict[str, Any]]:
        """Describe which features drive each cut and how each cluster differs from its sibling.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names of the features. Default: x0, x1 and so on.
        n_features : int, default=5
            Number of features for each node, those with the largest share first.

        Returns
        -------
        records : list of dict
            One record for each node and feature, ready for pandas. `share` is the share of the feature in the distance
            between the means of the two sides of a cut, along its normal. It does not depend on the units. Records with
            ``kind="cut"`` also have the `coefficient` of the feature in the unit normal. Records with
            ``kind="cluster"`` describe the cut above the cluster. They have the `difference` between the mean of the
            cluster and the mean of its sibling, that is, of all rows below the sibling.

        Examples
        --------
        >>> from ravine import PDDP
        >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
        >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
        >>> for record in tree.describe(["width", "height"], n_features=1):
        ...     print(record["node"], record["kind"], record["feature"], round(record["share"], 2))
        0 cut width 0.69
        1 cut height 1.0
        2 cluster height 1.0
        3 cluster height 1.0
        4 cluster width 0.69
        """
        return _text.describe(self, feature_names, n_features)

    def to_text(self, feature_names: Sequence[str] | None = None, n_features: int = 2) -> str:
        """Return the tree as text, with the features that drive each cut.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names of the features. Default: x0, x1 and so on.
        n_features : int, default=2
            Maximum number of features to name at each cut.

        Returns
        -------
        text : str
            One line for each node. ``print(tree)`` shows the same text, but a tree does not know the names of its
            features: pass ``feature_names=model.feature_names_in_`` to show them.

        Examples
        --------
        >>> from ravine import PDDP
        >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
        >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
        >>> print(tree.to_text(["width", "height"], n_features=1))
        HyperplaneTree: 3 clusters, 2 cuts, 2 features
        0: 6 rows, width (69%)
        ├─ 1: 4 rows, height (100%)
        │  ├─ 2: 2 rows → cluster 0
        │  └─ 3: 2 rows → cluster 1
        └─ 4: 2 rows → cluster 2
        """
        return _text.draw(self, feature_names, n_features)

    def to_html(self, feature_names: Sequence[str] | None = None) -> str:
        """Return the tree as HTML without scripts: a map of the tree and a table of its clusters.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names of the features. Default: x0, x1 and so on.

        Returns
        -------
        html : str
            HTML fragment. A notebook shows it, without names, if a tree is the value of a cell.
        """
        return _html.draw(self, feature_names)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<HyperplaneTree: {_text.size(self)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the arrays by name, with a format version.

        Returns
        -------
        record : dict
            Copies of the arrays, from which `from_dict` builds the tree again.

        Examples
        --------
        >>> from ravine import PDDP
        >>> from ravine.tree import HyperplaneTree
        >>> tree = PDDP(n_clusters=2, criterion="mean").fit([[0.0], [1.0], [9.0]]).tree_
        >>> HyperplaneTree.from_dict(tree.to_dict()) == tree
        True
        """
        arrays = fields_of(self)
        parts = {"surfaces": _surfaces.packed(arrays.pop("surface")), "mixture": _mixture.packed(arrays.pop("mixture"))}
        record = {"format_version": _check.FORMAT_VERSION, **{name: a.copy() for name, a in arrays.items()}}
        return {**record, **{name: part for name, part in parts.items() if part is not None}}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "HyperplaneTree":
        """Build a tree from the result of `to_dict`; raise ValueError that names a missing or invalid field.

        Parameters
        ----------
        record : mapping from str to ndarray
            The arrays, and a format version.

        Returns
        -------
        tree : HyperplaneTree
            Tree with checked arrays.
        """
        if not isinstance(record, Mapping):
            raise ValueError(f"record must be a dictionary, not {type(record).__name__}")
        nodes = _check.typed({name: array for name, array in record.items() if name in _check.NODES})
        surfaces = record.get("surfaces")
        if isinstance(surfaces, Mapping):
            surfaces = {name: np.asarray(array) for name, array in surfaces.items()}
        return restored(_check.TREE.checked({**record, **nodes, "surfaces": surfaces}))


def restored(checked: dict[str, Any]) -> HyperplaneTree:
    """Build a tree from the checked fields of `_check.TREE`, without copies."""
    tree = object.__new__(HyperplaneTree)
    arrays = {name: checked[name] for name in _check.NODES}
    tree._set({**arrays, "surface": _surfaces.unpacked(checked["surfaces"], len(arrays["left"]))})
    object.__setattr__(tree, "mixture", _mixture.unpacked(checked["mixture"]))
    return tree


def fields_of(tree: HyperplaneTree) -> dict[str, Any]:
    """Return the fields of the tree by name, without copies."""
    return {f.name: getattr(tree, f.name) for f in fields(tree)}


def columns_of(tree: HyperplaneTree) -> dict[str, Any]:
    """Return the fields that `HyperplaneTree.from_nodes` takes: those that follow the nodes into another order."""
    return {name: array for name, array in fields_of(tree).items() if name not in ("parent", "depth", "mixture")}


def _is_whole(number: Any) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)


def _preorder(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Return the nodes that can be reached from the root, left subtrees first, and their depths."""
    order, depths, stack = [], [], [(0, 0)]
    while stack:
        node, depth = stack.pop()
        order.append(node)
        depths.append(depth)
        if left[node] >= 0:
            stack += [(right[node], depth + 1), (left[node], depth + 1)]
    return np.array(order, dtype=np.int64), np.array(depths, dtype=np.int64)


def _ranks(rank: Ints, is_cut: Bools) -> Ints:
    """Return the ranks of the cuts without gaps, in the same order."""
    closed = np.zeros_like(rank)
    cuts = np.flatnonzero(is_cut)
    closed[cuts[np.argsort(rank[cuts], kind="stable")]] = np.arange(1, len(cuts) + 1)
    return closed
