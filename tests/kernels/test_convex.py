import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests import naive
from tests.strategies import seeds

from ravine import _kernels


class RandomGraph:
    """A problem on a graph whose multipliers are inside the ball on some edges and outside on others."""

    def __init__(self, n, d, seed):
        rng = np.random.default_rng(seed)
        self.a, self.b = (ends[: 3 * n] for ends in np.triu_indices(n, 1))
        self.w, self.m = rng.uniform(0.2, 2, len(self.a)), rng.uniform(0.5, 3, n)
        self.X, self.U = rng.normal(size=(2, n, d))
        self.z = np.array([naive.in_unit_ball(v) for v in rng.normal(size=(len(self.a), d))])
        self.lam, self.ell = 0.3, 1.7
        self.S, self.c, self.g = np.empty_like(self.z), np.empty(len(self.w)), np.empty_like(self.X)

    def evaluate(self, U):
        edges = self.a, self.b, self.w
        return _kernels.convex.evaluate(*edges, self.lam, self.ell, self.m, self.X, U, self.z, self.S, self.c, self.g)

    def gradient(self, U):
        self.evaluate(U)
        return self.g.ravel().copy()

    def projected(self, U):
        return np.array([naive.in_unit_ball(s) for s in self.z + (U[self.a] - U[self.b]) / self.ell])


graphs = st.builds(RandomGraph, st.integers(2, 8), st.integers(1, 4), seeds)


@given(graphs)
def test_value_is_the_augmented_lagrangian_and_the_objective_that_of_the_problem(p):
    value, _, _, objective = p.evaluate(p.U)
    assert_allclose(value, naive.augmented_lagrangian(p.U, p.X, p.a, p.b, p.w, p.lam, p.ell, p.z, p.m), rtol=1e-12)
    assert_allclose(objective, naive.sum_of_norms(p.U, p.X, p.a, p.b, p.w, p.lam, p.m), rtol=1e-12)


@given(graphs)
def test_gradient_is_the_slope_of_the_value(p):
    expected = naive.slopes(lambda U: p.evaluate(U)[0], p.U, 1e-5)
    assert_allclose(p.gradient(p.U), expected, rtol=1e-6, atol=1e-6)


@given(graphs)
def test_gap_is_the_objective_less_the_dual_of_the_projected_multipliers(p):
    _, slack, residual, objective = p.evaluate(p.U)
    dual = naive.sum_of_norms_dual(p.projected(p.U), p.X, p.a, p.b, p.w, p.lam, p.m)
    assert_allclose(slack + residual, objective - dual, rtol=1e-9, atol=1e-12)
    assert slack >= -1e-12


@given(graphs)
def test_curvature_is_the_slope_of_the_gradient(p):
    expected = naive.slopes(p.gradient, p.U, 1e-6)
    p.evaluate(p.U)
    assert_allclose(naive.edge_hessian(p.a, p.b, p.S, p.c, p.m), expected, rtol=1e-5, atol=1e-5)


@given(graphs)
def test_newton_step_solves_the_linear_system(p):
    p.evaluate(p.U)
    step = np.full_like(p.U, np.nan)
    slope, n_steps = _kernels.convex.newton_step(p.a, p.b, p.S, p.c, p.m, p.g, 1e-12, 1000, step)
    expected = -np.linalg.solve(naive.edge_hessian(p.a, p.b, p.S, p.c, p.m), p.g.ravel())
    assert_allclose(step.ravel(), expected, rtol=1e-8, atol=1e-9)
    assert_allclose(slope, p.g.ravel() @ expected, rtol=1e-8)
    assert slope < 0 < n_steps


def test_newton_step_ends_after_the_steps_that_it_may_take_and_goes_down():
    p = RandomGraph(8, 3, 0)
    p.evaluate(p.U)
    step = np.empty_like(p.U)
    for most in range(1, 4):
        slope, n_steps = _kernels.convex.newton_step(p.a, p.b, p.S, p.c, p.m, p.g, 1e-12, most, step)
        assert n_steps == most
        assert slope < 0


def test_newton_step_without_a_gradient_is_nought():
    p = RandomGraph(5, 2, 0)
    p.evaluate(p.U)
    step = np.ones_like(p.U)
    assert _kernels.convex.newton_step(p.a, p.b, p.S, p.c, p.m, np.zeros_like(p.g), 0.1, 10, step) == (0.0, 0)
    assert not step.any()


@given(graphs)
def test_renewed_multipliers_are_projected_on_the_ball(p):
    expected = p.projected(p.U)
    _kernels.convex.renew_multipliers(p.a, p.b, p.ell, p.U, p.z)
    assert_allclose(p.z, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("d", [1, 3])
def test_two_points_at_the_same_place_have_a_finite_gradient(d):
    p = RandomGraph(2, d, 0)
    p.U[1] = p.U[0]
    p.z[:] = 0.0
    _, slack, residual, objective = p.evaluate(p.U)
    assert np.isfinite([slack, residual, objective]).all()
    assert slack == 0
    assert_allclose(p.g, p.m[:, None] * (p.U - p.X))
