"""The tree and the mixture as nodes of a graph of ONNX.

The whole tree is evaluated at once: one product with all normals, one comparison with all offsets, and one product with
a matrix that says which side of each cut the way to each leaf takes. The largest entry is that of the leaf of the row.
"""

import math
import sys

import numpy as np

from ravine._matrix import Ints
from ravine.cuts import Surface
from ravine.export._graph import Graph
from ravine.tree import HyperplaneTree
from ravine.tree._mixture import Mixture


def add_leaf(graph: Graph, tree: HyperplaneTree, x: str) -> str:
    """Add the walk down a tree, and return the name of the labels of the leaves."""
    cuts = tree.cuts
    if not len(cuts):
        n_rows = graph("Gather", graph("Shape", x), graph.constant([0], "i8"))
        return graph("Expand", graph.constant([0], "i8"), n_rows)
    is_straight = np.array([tree.surface[node] is None for node in cuts])
    sides = []
    if is_straight.any():
        straight = cuts[is_straight]
        along = graph("MatMul", x, graph.constant(tree.normal[straight].T))
        sides.append(graph("Less", along, graph.constant(tree.offset[straight])))
    sides += [_add_surface(graph, tree.surface[node], x) for node in cuts[~is_straight]]
    goes_left = graph("Concat", *sides, axis=1) if len(sides) > 1 else sides[0]
    order = np.concatenate([cuts[is_straight], cuts[~is_straight]])
    agrees = graph("MatMul", graph.cast(goes_left, "FLOAT"), graph.constant(_turns(tree, order), "f4"))
    # A leaf that the row reaches has as many left turns as its path, and loses none for a right turn: its sum is 0.
    n_left = np.maximum(_turns(tree, order), 0).sum(axis=0)
    return graph("ArgMax", graph("Sub", agrees, graph.constant(n_left, "f4")), axis=1, keepdims=0)


def _turns(tree: HyperplaneTree, cuts: Ints) -> Ints:
    """Return 1 for each cut and leaf if the way to the leaf goes left at the cut, -1 if it goes right, otherwise 0."""
    turns = np.zeros((len(cuts), tree.n_clusters), dtype=np.int64)
    below = tree._paths()
    for row, cut in zip(turns, cuts, strict=True):
        row[below[:, tree.left[cut]]] = 1
        row[below[:, tree.right[cut]]] = -1
    return turns


def _add_surface(graph: Graph, surface: Surface, x: str) -> str:
    """Add the test of a cut that bends: whether the nearest point is on the left."""
    at = graph("MatMul", x, graph.constant(surface.directions.T))
    apart = graph("Sub", graph("Unsqueeze", at, graph.constant([1], "i8")), graph.constant(surface.positions))
    squares = graph("ReduceSumSquare", apart, graph.constant([2], "i8"), keepdims=0)
    nearest = []
    for positions in (np.flatnonzero(surface.is_left), np.flatnonzero(~surface.is_left)):
        of_side = graph("Gather", squares, graph.constant(positions, "i8"), axis=1)
        nearest.append(graph("Sqrt", graph("ReduceMin", of_side, graph.constant([1], "i8"), keepdims=1)))
    return graph("Less", *nearest)


def add_mixture(graph: Graph, mixture: Mixture, x: str, leaf: str) -> tuple[str, str]:
    """Add a mixture, and return the names of the labels and of the memberships; `leaf` has the labels of the cuts."""
    last = graph.constant([1], "i8")
    squares = None
    if math.isinf(mixture.freedom):
        center, constant, direction = mixture.planes
        along = graph("MatMul", graph("Sub", x, graph.constant(center)), graph.constant(direction.T))
        density = graph("Add", along, graph.constant(constant))
        has_density = graph.all_finite(density)
    else:
        squares = _add_squares(graph, mixture, x)
        ratio = graph("Div", squares, graph.constant(mixture.freedom))
        logs = graph("Mul", graph("Log", graph("Add", ratio, graph.constant(1.0))), graph.constant(mixture.power))
        density = graph("Sub", graph.constant(mixture.constant), logs)
        least = graph.constant(-sys.float_info.max)
        has_density = graph("Greater", graph("ReduceMax", density, last, keepdims=0), least)
    label = _add_label(graph, mixture, x, leaf, density, has_density, squares) if mixture.has_labels else leaf
    is_known = graph("Unsqueeze", has_density, last)
    share = graph("Softmax", graph("Where", is_known, density, graph.constant(0.0)), axis=1)
    of_cluster = np.eye(mixture.n_clusters)
    share = graph("MatMul", share, graph.constant(of_cluster[mixture.cluster]))
    return label, graph("Where", is_known, share, graph("Gather", graph.constant(of_cluster), leaf))


def _add_label(
    graph: Graph, mixture: Mixture, x: str, leaf: str, density: str, has_density: str, squares: str | None
) -> str:
    """Add the labels: those of the likeliest components or of the cuts, and -1 for outliers."""
    first_of = graph.constant([int(np.argmax(mixture.cluster == k)) for k in range(mixture.n_clusters)], "i8")
    likeliest = graph("ArgMax", density, axis=1, keepdims=0)
    best = graph("Where", has_density, likeliest, graph("Gather", first_of, leaf))
    label = graph("Gather", graph.constant(mixture.cluster, "i8"), best) if mixture.decides else leaf
    if mixture.limit is None:
        return label
    last = graph.constant([1], "i8")
    squares = _add_squares(graph, mixture, x) if squares is None else squares
    own = graph("GatherElements", squares, graph("Unsqueeze", best, last), axis=1)
    distance = graph("Sqrt", graph("Squeeze", own, last))
    is_inside = graph("LessOrEqual", distance, graph("Gather", graph.constant(mixture.limit), best))
    return graph("Where", is_inside, label, graph.constant(-1, "i8"))


def _add_squares(graph: Graph, mixture: Mixture, x: str) -> str:
    """Add the squared distances of the rows from each component."""
    apart = graph("Sub", graph("Unsqueeze", x, graph.constant([0], "i8")), graph.constant(mixture.mean[:, np.newaxis]))
    along = graph("MatMul", apart, graph.constant(mixture.factor.transpose(0, 2, 1)))
    squares = graph("ReduceSumSquare", along, graph.constant([2], "i8"), keepdims=0)
    return graph("Transpose", squares, perm=[1, 0])
