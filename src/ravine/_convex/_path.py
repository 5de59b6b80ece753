"""The solutions for increasing λ, with fusions: points whose centroids meet continue as one.

With equal weights, groups never break up again as λ grows (Chiquet, Gutierrez and Rigaill 2017), and the path is a
tree. On a graph they can, though rarely. The path then remains a tree but is no longer the solution, which the gap on
the whole graph shows (`GraphProblem.prove`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ravine._convex._groups import group_mean
from ravine._convex._problem import Problem
from ravine._lazy import public
from ravine._matrix import Floats, Ints
from ravine._neighbors import components
from ravine._schema import MOST, Array, Group, Number, Sizes, State, require


def points_are_those_of_the_rows(state: State, sizes: Sizes) -> None:
    """There are as many points as distinct rows, and fewer fusions."""
    require(state["n_points"] == sizes["n_points"], "n_points", f"is not {sizes['n_points']}, the number of points")
    require(sizes["n_fusions"] < sizes["n_points"], "children", "has more fusions than the points allow")


def nodes_fuse_once(state: State, sizes: Sizes) -> None:
    """A fusion joins two nodes that exist before it, and no node fuses twice."""
    children, n_points = state["children"], sizes["n_points"]
    own = n_points + np.arange(len(children))[:, np.newaxis]
    require((children < own).all(), "children", "has a node that does not exist yet")
    require(len(np.unique(children)) == children.size, "children", "has a node that fuses twice")


def lambdas_are_in_order(state: State, sizes: Sizes) -> None:
    """The grid increases, and no fusion happens before the one that is listed before it."""
    require((np.diff(state["lambdas"]) > 0).all(), "lambdas", "is not in order")
    require((np.diff(state["merge_lambdas"]) >= 0).all(), "merge_lambdas", "is not in order")


PATH = Group(
    {
        "n_points": Number(int, low=1, high=MOST),
        "lambdas": Array("float64", ("n_lambdas",), empty=True),
        "children": Array("int64", ("n_fusions", 2), low=0, empty=True),
        "merge_lambdas": Array("float64", ("n_fusions",), low=0, empty=True),
        "centroids": Array("float64", ("n_fusions", "n_features"), empty=True),
    },
    (points_are_those_of_the_rows, nodes_fuse_once, lambdas_are_in_order),
    optional=True,
)
"""What a file keeps of a `FusionTree`."""


@public("ravine.cluster")
@dataclass(frozen=True)
class FusionTree:
    """The tree of fusions: which groups fused at which λ.

    The parameters are also readable attributes.

    Parameters
    ----------
    n_points : int
        Number of leaves of the tree, numbered 0 to ``n_points - 1``.
    lambdas : ndarray
        The grid of λ, up to the λ at which the last two groups fused.
    children : ndarray of shape (n_fusions, 2)
        The two nodes that fusion i joined into node ``n_points + i``; SciPy's format, if all points have fused.
    merge_lambdas : ndarray of shape (n_fusions,)
        Value of the grid at which each fusion happened.
    centroids : ndarray of shape (n_fusions, n_features)
        Centroid of each fusion.

    Attributes
    ----------
    is_complete : bool
        Whether all points have fused at the end of the path.

    See Also
    --------
    ravine.SumOfNorms : Has the tree as `path_`.
    ravine.plot.clusterpath : Plots the tree.

    Examples
    --------
    >>> from ravine import SumOfNorms
    >>> path = SumOfNorms(n_clusters=2, min_cluster_size=2).fit([[0.0], [0.1], [5.0], [5.1]]).path_
    >>> path.children
    array([[0, 1],
           [2, 3],
           [4, 5]])
    >>> path.is_complete
    True
    """

    n_points: int
    lambdas: Floats
    children: Ints
    merge_lambdas: Floats
    centroids: Floats

    @property
    def is_complete(self) -> bool:
        """Whether all points have fused at the end of the path."""
        return len(self.children) == self.n_points - 1

    def labels_at(self, lam: float) -> Ints:
        """Return the group of each point at λ, or at the last value of the grid before it.

        Parameters
        ----------
        lam : float
            The force λ.

        Returns
        -------
        group : ndarray of shape (n_points,)
            Groups, numbered in order of appearance.
        """
        return self.groups_after(self.n_fusions_at(lam))[0]

    def n_fusions_at(self, lam: float) -> int:
        """Return the number of fusions up to λ.

        Parameters
        ----------
        lam : float
            The force λ.

        Returns
        -------
        n_fusions : int
            Number of fusions.
        """
        return int(np.searchsorted(self.merge_lambdas, lam, side="right"))

    def groups_after(self, n_fusions: int) -> tuple[Ints, Ints]:
        """Return the group of each point after the first fusions, and the node of each group.

        Parameters
        ----------
        n_fusions : int
            Number of fusions.

        Returns
        -------
        group : ndarray of shape (n_points,)
            Groups, numbered in order of appearance.
        node : ndarray of shape (n_groups,)
            The node that contains all points of each group.
        """
        n_nodes = self.n_points + n_fusions
        parent = np.repeat(self.n_points + np.arange(n_fusions), 2)
        group = components(self.children[:n_fusions].ravel(), parent, n_nodes)
        top = np.empty(group.max() + 1, dtype=np.int64)
        top[group] = np.arange(n_nodes)  # the last node of a group contains all of it
        return group[: self.n_points], top


def follow(
    problem: Problem,
    lambdas: Floats,
    tol: float,
    max_iter: int,
    on_lambda: Callable[[], bool] = lambda: False,
) -> FusionTree:
    """Solve for each λ in turn, starting from the previous solution, and fuse groups.

    Parameters
    ----------
    problem : Problem
        It is changed: in the end its points are the remaining groups.
    lambdas : ndarray
        Increasing.
    tol, max_iter : float, int
        Settings of each solution.
    on_lambda : callable
        Called after each λ; the path ends if it returns true.
    """
    n_points = len(problem.mass)
    node = np.arange(n_points)
    children: list[tuple[int, int]] = []
    merge_lambdas: list[float] = []
    centroids: list[Floats] = []
    n_followed = 0
    for lam in lambdas:
        if len(node) == 1:
            break
        problem.solve(lam, tol, max_iter)
        group = problem.fused()
        if group.max() + 1 < len(node):
            order, starts = _outwards(problem, group)
            problem.contract(group)
            heads = node[order[starts]]
            ends = np.append(starts[1:], len(order))
            for g in np.flatnonzero(ends - starts > 1).tolist():
                for member in order[starts[g] + 1 : ends[g]]:
                    children.append((int(heads[g]), int(node[member])))
                    merge_lambdas.append(lam)
                    centroids.append(problem.centroids[g])
                    heads[g] = n_points + len(children) - 1
            node = heads
        n_followed += 1
        if on_lambda():
            break
    return FusionTree(
        n_points,
        np.array(lambdas[:n_followed]),
        np.array(children, dtype=np.int64).reshape(-1, 2),
        np.array(merge_lambdas),
        np.array(centroids).reshape(-1, problem.rows.shape[1]),
    )


def _outwards(problem: Problem, group: Ints) -> tuple[Ints, Ints]:
    """Sort the points by group, and within each group from its mean outwards.

    This is the order in which their fusions are recorded.
    """
    away = problem.rows - group_mean(problem.rows, problem.mass, group)[group]
    order = np.lexsort(((away**2).sum(axis=1), group))
    return order, np.searchsorted(group[order], np.arange(group.max() + 1))


def lambda_grid(first: float, last: float, n_lambdas: int) -> Floats:
    """Return values of λ in a geometric sequence from the first fusions to the last."""
    return np.geomspace(first, max(last, 2.0 * first), n_lambdas)


def fusions_of_rows(path: FusionTree, member: Ints) -> tuple[Ints, Floats]:
    """Return children and λ of the fusions of all rows: first those of the copies of a row, then those of the points.

    `member` is the point of each row, or -1 for a row that is not on the path.
    """
    n_rows = len(member)
    head = np.full(path.n_points, -1)
    copies: list[tuple[int, int]] = []
    for row, point in enumerate(member.tolist()):
        if point >= 0:
            if head[point] >= 0:
                copies.append((int(head[point]), row))
            head[point] = row if head[point] < 0 else n_rows + len(copies) - 1
    node = np.append(head, n_rows + len(copies) + np.arange(len(path.children)))
    children = np.concatenate([np.array(copies, dtype=np.int64).reshape(-1, 2), node[path.children]])
    return children, np.append(np.zeros(len(copies)), path.merge_lambdas)
