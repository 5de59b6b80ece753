import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive

from ravine._convex._edges import Edges
from ravine._convex._graph import GraphProblem
from ravine._convex._path import follow, lambda_grid
from ravine._convex._solution import solve_graph, solve_pairs, solve_stochastically
from ravine._numbering import renumber

SMALL = 700
"""Most of n d² for the interior-point method; for larger problems the dual bound proves the reference."""


class RandomProblem:
    """One blob or two of rows in the units of the solvers, all pairs with weight 1, and a λ."""

    def __init__(self, trial):
        rng = np.random.default_rng(trial)
        n = int(rng.integers(20, 91))
        d = int(rng.integers(1, 11)) if trial % 3 else max(1, min(10, int(np.sqrt(SMALL / n))))
        X = rng.normal(size=(n, d))
        X[: n // 2 * (trial % 2)] += 8 / np.sqrt(d)
        X -= X.mean(axis=0)
        self.X, self.mass = X / np.sqrt((X**2).sum() / n), np.ones(n)
        self.lam = (0.1, 0.3, 0.6, 0.9, 1.3)[trial % 5] * np.linalg.norm(self.X, axis=1).max() / n
        a, b = np.triu_indices(n, 1)
        self.edges = Edges(a, b, np.ones(len(a)))
        self.is_small = n * d**2 <= SMALL

    def optimum(self):
        if self.is_small:
            return naive.cone_optimum(self.X, *self.edges, self.lam, self.mass)[0]
        return solve_pairs(self.X, self.mass, self.lam, 1e-10, 50_000, 1e-3).solution.objective

    def objective_at(self, U):
        return naive.sum_of_norms(U, self.X, *self.edges, self.lam, self.mass)


def assert_gap_is_proved(solution, optimum):
    assert solution.gap >= 0
    assert solution.gap >= (solution.objective - optimum) / solution.objective - 1e-9


@pytest.mark.parametrize("trial", range(30))
def test_every_solver_reaches_the_optimum_and_proves_its_gap(trial):
    p = RandomProblem(trial)
    optimum = p.optimum()
    dual = solve_pairs(p.X, p.mass, p.lam, 1e-7, 20_000, 1e-3)
    assert_allclose(dual.solution.objective, optimum, rtol=1e-6)
    graph = GraphProblem(p.X, p.mass, p.edges)
    on_graph = graph.solve(p.lam, 1e-7, 100)
    assert_allclose(on_graph.objective, optimum, rtol=1e-6)
    assert_allclose(on_graph.objective, p.objective_at(graph.centroids), rtol=1e-12)
    power = solve_stochastically(p.X, p.mass, None, p.lam, 1e-4, 4096, 1e-3, trial, False)
    adaptive = solve_stochastically(p.X, p.mass, p.edges, p.lam, 1e-4, 4096, 1e-3, trial, True)
    for random in (power, adaptive):
        assert_allclose(random.solution.objective, optimum, rtol=1e-4)
        assert_allclose(random.solution.objective, p.objective_at(random.centroids), rtol=1e-12)
    answers = [dual, power, adaptive]
    for solution in (on_graph, *(answer.solution for answer in answers)):
        assert_gap_is_proved(solution, optimum)
    groups = {tuple(answer.group) for answer in answers if answer.stable}
    assert len(groups) <= 1


def test_small_problems_are_compared_with_the_interior_point_method():
    assert sum(RandomProblem(trial).is_small for trial in range(30)) >= 10


@pytest.mark.parametrize("seed", range(3))
def test_all_solvers_find_clusters_that_are_far_apart_and_the_deterministic_ones_are_sure(seed):
    labels = np.repeat([0, 1, 2], 10)
    X = np.random.default_rng(seed).uniform(-1, 1, (30, 2)) + np.array([[0, 0], [40, 0], [0, 40]])[labels]
    mass, (a, b), lam = np.ones(30), np.triu_indices(30, 1), 0.4
    edges = Edges(a, b, np.ones(len(a)))
    grid = lambda_grid(*GraphProblem(X, mass, edges).lambda_range(), 30)
    tree = follow(GraphProblem(X, mass, edges), np.append(grid[grid < lam], lam), 1e-6, 100)
    dual = solve_pairs(X, mass, lam, 1e-8, 20_000, 1e-3)
    on_graph = solve_graph(X, mass, edges, lam, tree.labels_at(lam), 1e-6, 100, 1e-3)
    random = solve_stochastically(X, mass, None, lam, 1e-5, 20_000, 1e-3, seed, False)
    assert dual.stable
    assert on_graph.stable
    for answer in (dual, on_graph, random):
        assert_array_equal(answer.group, labels)


@pytest.mark.parametrize("shift", [4.0, 8.0, 12.0])
def test_stable_groups_are_those_of_the_optimum(shift):
    n_stable = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 2)) + shift * (np.arange(40)[:, None] % 2)
        X = (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0).sum())
        mass, (a, b) = np.ones(40), np.triu_indices(40, 1)
        edges = Edges(a, b, np.ones(len(a)))
        for share in (0.3, 0.6, 0.9):
            lam = share * np.linalg.norm(X, axis=1).max() / 40
            path = follow(GraphProblem(X, mass, edges), np.geomspace(lam / 1000, lam, 60), 1e-4, 100)
            best = solve_pairs(X, mass, lam, 1e-12, 100_000, 1e-3)
            answers = (
                solve_pairs(X, mass, lam, 1e-4, 5000, 1e-3),
                solve_graph(X, mass, edges, lam, path.labels_at(lam), 1e-4, 100, 1e-3),
                solve_stochastically(X, mass, None, lam, 1e-4, 2048, 1e-3, 0, False),
            )
            for answer in answers:
                if answer.stable:
                    assert_array_equal(renumber(answer.group), best.group)
                    n_stable += 1
    assert n_stable >= 3


def test_points_of_a_group_have_one_centroid(rng):
    X = np.concatenate([rng.normal(size=(15, 2)), rng.normal(size=(15, 2)) + 9])
    answer = solve_pairs(X, np.ones(30), 0.25, 1e-8, 5000, 1e-3)
    assert answer.stable
    assert_array_equal(answer.group, np.repeat([0, 1], 15))
    for g in (0, 1):
        assert (answer.centroids[answer.group == g] == answer.centroids[answer.group == g][0]).all()


def test_groups_at_a_fusion_are_not_stable():
    X = np.array([[-1.0], [1.0]])
    answers = [solve_pairs(X, np.ones(2), lam, 1e-12, 5000, 1e-3) for lam in (0.9, 1.0005, 1.1)]
    assert [answer.stable for answer in answers] == [True, False, True]
    assert [int(answers[i].group.max()) + 1 for i in (0, 2)] == [2, 1]


def test_random_steps_end_at_the_last_sweep_with_a_gap_that_is_proved():
    p = RandomProblem(1)
    answer = solve_stochastically(p.X, p.mass, None, p.lam, 1e-12, 5, 1e-3, 0, False)
    assert answer.solution.n_iter == 5
    assert answer.solution.gap > 1e-12
    assert_gap_is_proved(answer.solution, p.optimum())
