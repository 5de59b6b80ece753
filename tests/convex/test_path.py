from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.datasets import make_moons

from ravine._convex import PATH, FusionTree
from ravine._convex._edges import Edges, gaussian_weights
from ravine._convex._graph import GraphProblem
from ravine._convex._pairs import PairsProblem
from ravine._convex._path import follow, lambda_grid
from ravine._convex._solution import solve_pairs
from ravine._neighbors import neighbor_graph

X, _ = make_moons(90, noise=0.08, random_state=0)
MASS = np.random.default_rng(0).uniform(0.5, 2, 90)


def problem_on(kind):
    if kind == "pairs":
        return PairsProblem(X, MASS)
    a, b, length = neighbor_graph(X, 6)
    return GraphProblem(X, MASS, Edges(a, b, gaussian_weights(length, float(np.median(length)), 1.0)))


@pytest.fixture(scope="module", params=["pairs", "graph"])
def followed(request):
    grid = lambda_grid(*problem_on(request.param).lambda_range(), 50)
    return request.param, grid, follow(problem_on(request.param), grid, 1e-5, 5000)


def small_tree():
    """Five points: 0 and 1 fuse at 1, then 2 joins them; 3 and 4 fuse at 2; all at 8."""
    children = np.array([[0, 1], [5, 2], [3, 4], [6, 7]])
    return FusionTree(5, np.array([1.0, 2, 4, 8]), children, np.array([1.0, 1, 2, 8]), np.zeros((4, 1)))


def is_coarser(coarse, fine):
    return all(len(set(coarse[fine == g])) == 1 for g in set(fine))


def test_fusions_are_nested(followed):
    _, grid, tree = followed
    labels = [tree.labels_at(lam) for lam in grid]
    for fine, coarse in pairwise(labels):
        assert is_coarser(coarse, fine)
    assert len({label.max() for label in labels}) > 5


def test_path_is_a_linkage_of_all_points(followed):
    _, grid, tree = followed
    assert tree.is_complete
    size = np.ones(2 * 90 - 1)
    for i, (left, right) in enumerate(tree.children):
        size[90 + i] = size[left] + size[right]
    linkage = np.column_stack([tree.children, tree.merge_lambdas, size[90:]])
    assert is_valid_linkage(linkage, throw=True)
    assert size[-1] == 90
    assert set(tree.merge_lambdas) <= set(grid)
    assert_array_equal(tree.lambdas, grid[: len(tree.lambdas)])
    assert tree.merge_lambdas[-1] == tree.lambdas[-1]
    assert_allclose(tree.centroids[-1], MASS @ X / MASS.sum(), atol=1e-9)


def test_labels_between_two_values_of_the_grid_are_those_of_the_smaller(followed):
    _, grid, tree = followed
    for i in (5, 20, 40):
        assert_array_equal(tree.labels_at(0.5 * (grid[i] + grid[i + 1])), tree.labels_at(grid[i]))
    assert_array_equal(tree.labels_at(0.0), np.arange(90))
    assert not tree.labels_at(np.inf).any()


def test_solution_of_the_contracted_problem_equals_a_direct_solve(followed):
    kind, grid, tree = followed
    for i in (5, 15, 30):
        lam = grid[i]
        coarse, direct, group = problem_on(kind), problem_on(kind), tree.labels_at(lam)
        coarse.contract(group)
        ours, other = coarse.solve(lam, 1e-6, 20_000), direct.solve(lam, 1e-8, 20_000)
        assert_allclose(ours.objective, other.objective, rtol=1e-3)
        assert_allclose(coarse.centroids[group], direct.centroids, atol=0.05)


def test_solutions_of_a_path_on_a_graph_are_proved():
    grid = lambda_grid(*problem_on("graph").lambda_range(), 50)
    tree = follow(problem_on("graph"), grid, 1e-5, 100)
    for lam in tree.lambdas[4::8]:
        coarse, group = problem_on("graph"), tree.labels_at(lam)
        coarse.contract(group)
        objective = coarse.solve(lam, 1e-6, 100).objective if group.any() else coarse.constant
        proof = problem_on("graph").prove(lam, coarse.centroids[group], objective, 1e-4, 20)
        assert proof.gap <= 1e-3


def test_groups_of_the_path_of_all_pairs_are_those_of_the_solution_where_that_is_sure():
    grid = lambda_grid(*problem_on("pairs").lambda_range(), 60)
    tree = follow(problem_on("pairs"), grid, 1e-8, 20_000)
    n_sure = 0
    for lam in tree.lambdas[20::4]:
        answer = solve_pairs(X, MASS, lam, 1e-10, 20_000, 1e-3)
        n_sure += answer.stable
        apart = np.linalg.norm(answer.centroids[:, None] - answer.centroids, axis=2)
        together = tree.labels_at(lam)[:, None] == tree.labels_at(lam)
        assert apart[together].max() < 0.01
    assert n_sure > 0


def test_path_ends_where_it_is_told_to():
    grid = lambda_grid(*problem_on("graph").lambda_range(), 50)
    whole = follow(problem_on("graph"), grid, 1e-5, 100)
    calls = []
    part = follow(problem_on("graph"), grid, 1e-5, 100, lambda: bool(calls.append(0)) or len(calls) == 30)
    assert_array_equal(part.lambdas, grid[:30])
    assert not part.is_complete
    n_fusions = len(part.children)
    assert_array_equal(part.children, whole.children[:n_fusions])
    assert_array_equal(part.merge_lambdas, whole.merge_lambdas[:n_fusions])
    assert whole.n_fusions_at(grid[29]) == n_fusions


def test_path_over_no_lambda_has_no_fusion():
    tree = follow(problem_on("pairs"), np.empty(0), 1e-5, 100)
    assert (tree.n_points, len(tree.lambdas), tree.children.shape, tree.centroids.shape) == (90, 0, (0, 2), (0, 2))
    assert_array_equal(tree.labels_at(1.0), np.arange(90))


def test_points_of_a_group_fuse_from_the_middle_outwards():
    rows = np.array([[10.0], [0.0], [4.0], [5.0], [7.0]])
    tree = follow(PairsProblem(rows, np.ones(5)), np.array([100.0]), 1e-8, 1000)
    assert_array_equal(tree.children, [[3, 2], [5, 4], [6, 0], [7, 1]])


def test_groups_after_some_fusions_have_the_node_that_holds_them():
    tree = small_tree()
    expected = [
        ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        ([0, 0, 1, 2, 3], [5, 2, 3, 4]),
        ([0, 0, 0, 1, 2], [6, 3, 4]),
        ([0, 0, 0, 1, 1], [6, 7]),
        ([0, 0, 0, 0, 0], [8]),
    ]
    for n_fusions, (group, top) in enumerate(expected):
        ours = tree.groups_after(n_fusions)
        assert_array_equal(ours[0], group)
        assert_array_equal(ours[1], top)
    assert [tree.n_fusions_at(lam) for lam in (0.5, 1.0, 1.9, 2.0, 9.0)] == [0, 2, 2, 3, 4]


SIZES = {"n_points": 5, "n_features": 1}


def test_path_is_read_back_from_its_fields():
    tree = small_tree()
    again = FusionTree(**PATH.checked(asdict(tree), SIZES))
    for name, value in asdict(tree).items():
        assert_array_equal(getattr(again, name), value)


NOT_FLOATS, NOT_INTEGERS = "must be an array of float64", "must be an array of int64"
NONSENSE = [
    ("lambdas", [1.0, 2, 4, 8], NOT_FLOATS),
    ("lambdas", np.array([1, 2, 4, 8]), NOT_FLOATS),
    ("lambdas", np.ones((2, 2)), "has shape"),
    ("children", np.ones((4, 2)), NOT_INTEGERS),
    ("children", np.arange(8), "has shape"),
    ("centroids", np.zeros(4), "has shape"),
    ("merge_lambdas", np.array([1.0, 1, 2, np.inf]), "has the entry inf"),
    ("centroids", np.full((4, 1), np.nan), "has the entry nan"),
    ("n_points", 6, "is not 5, the number of points"),
    ("centroids", np.zeros((4, 2)), "has shape"),
    ("centroids", np.zeros((3, 1)), "has shape"),
    ("children", np.array([[0, 1, 2], [5, 2, 3], [3, 4, 1], [6, 7, 1]]), "has shape"),
    ("merge_lambdas", np.array([1.0, 1, 2]), "has shape"),
    ("children", np.array([[0, -1], [5, 2], [3, 4], [6, 7]]), "has the entry -1"),
    ("children", np.array([[0, 5], [1, 2], [3, 4], [6, 7]]), "has a node that does not exist yet"),
    ("children", np.array([[0, 1], [5, 2], [3, 2], [6, 7]]), "has a node that fuses twice"),
    ("merge_lambdas", np.array([1.0, 2, 1, 8]), "is not in order"),
    ("merge_lambdas", np.array([-1.0, 1, 2, 8]), "has the entry -1"),
    ("lambdas", np.array([1.0, 2, 2, 8]), "is not in order"),
]


@pytest.mark.parametrize(("name", "value", "message"), NONSENSE)
def test_path_refuses_nonsense(name, value, message):
    with pytest.raises(ValueError, match=f"field '{name}' {message}"):
        PATH.checked(asdict(small_tree()) | {name: value}, SIZES)


def test_path_refuses_more_fusions_than_points_have():
    record = asdict(small_tree())
    record |= {"children": np.array([[0, 1], [5, 2], [3, 4], [6, 7], [8, 9]]), "centroids": np.zeros((5, 1))}
    record["merge_lambdas"] = np.array([1.0, 1, 2, 8, 8])
    with pytest.raises(ValueError, match="field 'children' has more fusions than the points allow"):
        PATH.checked(record, SIZES)
