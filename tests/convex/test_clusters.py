import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from ravine._convex import (
    Points,
    ScaledProblem,
    Settings,
    choose,
    choose_on_path,
    find_clusters,
    fusions_of_rows,
    path_to,
)
from ravine._convex._clusters import centers_of, groups_within
from ravine._numbering import from_low_to_high
from ravine.datasets import make_blobs

X, y = make_blobs([20, 30], centers=[[0, 0], [9, 0]], random_state=0)
SETTINGS = Settings("dual", 1e-5, 20_000, 1e-3, False, 0)


@pytest.fixture(scope="module")
def graph():
    problem = ScaledProblem(Points.of(X, np.ones(50)), SETTINGS, 5, 1.0, None)
    return problem, problem.follow(40)


def test_chosen_clusters_are_those_that_stay_the_same(graph):
    problem, path = graph
    rows, mass = problem.points.rows, problem.points.mass
    choice, expected = choose_on_path(path, rows, mass, 5.0, None), choose(path, rows, mass, 5.0, None)
    assert (choice.lam, choice.strength) == (expected.lam, expected.strength)
    assert_array_equal(choice.labels, expected.labels)


@pytest.mark.parametrize(("n_clusters", "n_left"), [(None, 1), (7, 7), (50, 50), (60, 50)])
def test_without_large_clusters_the_groups_of_any_size_are_taken(n_clusters, n_left, graph):
    problem, path = graph
    choice = choose_on_path(path, problem.points.rows, problem.points.mass, 1000.0, n_clusters)
    assert choice.labels.max() + 1 == n_left
    assert choice.strength == 0.0
    assert choice.lam == (path.merge_lambdas[50 - n_left - 1] if n_left < 50 else 0.0)


def test_given_labels_are_the_clusters_from_low_to_high(graph):
    problem, path = graph
    labels = 1 - y[np.unique(problem.points.member, return_index=True)[1]]
    found = find_clusters(problem, 0.3, path, labels)
    assert_array_equal(found.labels, from_low_to_high(labels, problem.points.rows, problem.points.mass))
    assert found.centers.shape == (2, 2)
    assert found.certificate is None


def test_groups_of_equal_centroids_are_the_clusters_of_a_given_lambda(graph):
    problem, _ = graph
    found = find_clusters(problem, 0.3, path_to(problem, 0.3, 40))
    solution = problem.solve(0.3, path_to(problem, 0.3, 40))
    assert_array_equal(found.centroids, solution.centroids)
    assert len(found.centers) == solution.group.max() + 1
    assert_allclose(found.centers[found.labels], found.centroids)


@pytest.mark.parametrize("lam", [0.0, np.inf])
def test_solutions_that_need_no_path_get_none(lam, graph):
    assert path_to(graph[0], lam, 40) is None
    pairs = ScaledProblem(Points.of(X, np.ones(50)), SETTINGS, None, 1.0, None)
    assert path_to(pairs, 0.3, 40) is None


@pytest.mark.parametrize("threshold", [0.1, 1.0, 30.0])
def test_groups_within_a_threshold_have_no_larger_diameter(threshold):
    group = groups_within(X, threshold)
    assert cdist(X, X)[group[:, None] == group].max() <= threshold
    assert_array_equal(groups_within(X[:1], threshold), [0])


def test_center_of_a_cluster_is_that_of_its_heaviest_group():
    centroids = np.array([[0.0], [1.0], [1.0], [5.0]])
    group, labels, mass = np.array([0, 1, 1, 2]), np.array([0, 0, 0, 1]), np.array([1.9, 1.0, 1.0, 7.0])
    assert_array_equal(centers_of(centroids, group, labels, mass), [[1.0], [5.0]])


def test_fusions_of_rows_begin_with_their_copies():
    rows = np.array([[0.0], [0.1], [0.0], [5.0], [9.0]])
    points = Points.of(rows[:4], np.ones(4))
    path = ScaledProblem(points, SETTINGS, None, 1.0, None).follow(20)
    children, lam = fusions_of_rows(path, np.append(points.member, -1))
    assert_array_equal(children[0], [0, 2])
    assert lam[0] == 0 < lam[1]
    assert_array_equal(np.sort(children.ravel()), [0, 1, 2, 3, 5, 6])
