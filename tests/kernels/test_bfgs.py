"""The descent, driven here by plain functions; `tests/cuts` has the searches that drive it with objectives of rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive

from ravine import _kernels


def test_product_agrees_with_the_inverse_hessian_as_a_matrix(rng):
    root = rng.normal(size=(5, 5))
    hessian = root @ root.T + np.eye(5)
    steps = rng.normal(size=(4, 5))
    changes, g = steps @ hessian, rng.normal(size=5)
    for n in range(5):
        vectors = _kernels.bfgs.begin(g, 0.0).vectors
        vectors[_kernels.bfgs.GRADIENT] = g
        vectors[_kernels.bfgs.STEPS :][:4], vectors[_kernels.bfgs.CHANGES :][:4] = steps, changes
        _kernels.bfgs.multiply_by_inverse_hessian(vectors, n)
        ours = vectors[_kernels.bfgs.DOWNHILL]
        assert_allclose(ours, naive.bfgs_inverse_hessian(steps[:n], changes[:n]) @ g, rtol=1e-9)


def run(value, gradient, start, tolerance=1e-12):
    """Return all points that a descent evaluates, those that it accepts, and its last answer."""
    bfgs = _kernels.bfgs
    descent, answer, tried, accepted = bfgs.begin(start, tolerance), bfgs.ASK_VALUE, [], []
    while answer == bfgs.ASK_VALUE:
        tried.append(descent.trial.copy())
        answer = bfgs.take_value(descent, float(value(tried[-1])))
        if answer in (bfgs.ASK_GRADIENT, bfgs.ENDS_AT_TRIAL):
            accepted.append(tried[-1])
        if answer == bfgs.ASK_GRADIENT:
            answer = bfgs.take_gradient(descent, gradient(tried[-1]))
    assert_array_equal(descent.point, accepted[-1])
    return tried, accepted, answer


def quadratic(rng, n):
    """A convex quadratic function, its gradient and its minimum."""
    root, center = rng.normal(size=(n, n)), rng.normal(size=n)
    hessian = root @ root.T / n + np.eye(n)
    return lambda x: 0.5 * (x - center) @ hessian @ (x - center), lambda x: hessian @ (x - center), center


def rosenbrock(x):
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def rosenbrock_gradient(x):
    bend = 200 * (x[1:] - x[:-1] ** 2)
    g = np.zeros(len(x))
    g[1:] += bend
    g[:-1] -= 2 * x[:-1] * bend + 2 * (1 - x[:-1])
    return g


@pytest.mark.parametrize("n", [1, 4, 40])
def test_minimum_of_a_quadratic_is_reached(n, rng):
    value, gradient, center = quadratic(rng, n)
    _, accepted, answer = run(value, gradient, 5 * rng.normal(size=n))
    assert_allclose(accepted[-1], center, atol=1e-5)
    assert answer in (_kernels.bfgs.ENDS_AT_TRIAL, _kernels.bfgs.ENDS_AT_POINT)


def test_every_step_in_a_curved_valley_goes_down():
    _, accepted, _ = run(rosenbrock, rosenbrock_gradient, np.array([-1.2, 1.0]))
    values = [rosenbrock(point) for point in accepted]
    assert len(values) > 20
    assert (np.diff(values) < 0).all()
    assert_allclose(accepted[-1], 1, atol=1e-4)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-8])
@pytest.mark.parametrize("n", [1, 3, 60])
def test_every_evaluated_point_is_that_of_naive(n, tolerance, rng):
    start = rng.normal(size=n)
    functions = [quadratic(rng, n)[:2]] + [(rosenbrock, rosenbrock_gradient)] * (n == 3)
    for value, gradient in functions:
        tried, accepted, _ = run(value, gradient, start, tolerance)
        slow_tried, slow_accepted = naive.descend(value, gradient, start, tolerance)
        assert len(tried) == len(slow_tried)
        assert_allclose(tried, slow_tried, rtol=1e-5, atol=1e-7)
        assert_allclose(accepted, slow_accepted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_other_digits_of_gradients_and_starts_change_no_bit_of_a_descent(seed):
    rng = np.random.default_rng(seed)
    value, gradient, _ = quadratic(rng, 8)

    def bent(x):
        return value(x) + np.cos(9 * x).sum()

    def bent_gradient(x):
        return gradient(x) - 9 * np.sin(9 * x)

    def noisy(numbers):
        return numbers * (1 + 1e-14 * rng.normal(size=np.shape(numbers)))

    start = rng.normal(size=8)
    tried, _, _ = run(bent, bent_gradient, start, 1e-5)
    others, _, _ = run(lambda x: noisy(bent(x)), lambda x: noisy(bent_gradient(x)), noisy(start), 1e-5)
    assert len(tried) > 10
    assert_array_equal(others, tried)


def test_more_steps_than_are_stored_agree_with_naive(rng):
    value, gradient, _ = quadratic(rng, 60)
    start = 5 * rng.normal(size=60)
    tried, _, _ = run(lambda x: value(x) + 0.1 * (x**4).sum(), lambda x: gradient(x) + 0.4 * x**3, start, 1e-10)
    slow, _ = naive.descend(lambda x: value(x) + 0.1 * (x**4).sum(), lambda x: gradient(x) + 0.4 * x**3, start, 1e-10)
    assert len(tried) > _kernels.bfgs.MEMORY + 2
    assert len(tried) == len(slow)
    assert_allclose(tried, slow, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_start_without_a_finite_value_is_the_end(bad):
    tried, accepted, answer = run(lambda x: bad, lambda x: pytest.fail("no gradient is needed"), np.ones(3))
    assert len(tried) == len(accepted) == 1
    assert answer == _kernels.bfgs.ENDS_AT_TRIAL


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_step_to_where_the_value_is_not_finite_is_shortened(bad):
    tried, accepted, _ = run(lambda x: x[0] - np.log(x[0]) if x[0] > 0 else bad, lambda x: 1 - 1 / x, np.array([9.0]))
    assert min(point[0] for point in accepted) > 0
    tried, accepted, _ = run(
        lambda x: 8 * x[0] - np.log(x[0]) if x[0] > 0 else bad, lambda x: 8 - 1 / x, np.array([2.0])
    )
    assert min(point[0] for point in tried) < 0 < min(point[0] for point in accepted)
    assert accepted[-1] == pytest.approx(1 / 8, abs=1e-5)


def after_one_step(change):
    """A descent that has accepted its start and one step, and how the gradient changed with that step."""
    bfgs = _kernels.bfgs
    descent, g = bfgs.begin(np.zeros(2), 1e-9), np.array([1.0, 2.0])
    assert bfgs.take_value(descent, 3.0) == bfgs.ASK_GRADIENT
    assert bfgs.take_gradient(descent, g) == bfgs.ASK_VALUE
    assert_array_equal(descent.trial, -g)
    assert bfgs.take_value(descent, 1.0) == bfgs.ASK_GRADIENT
    assert bfgs.take_gradient(descent, g + change) == bfgs.ASK_VALUE
    return descent, g + change


def test_search_restarts_with_steepest_descent_after_misleading_curvature():
    bfgs = _kernels.bfgs
    descent, g = after_one_step(np.array([-0.75, -0.5]))
    point = descent.point.copy()
    assert np.abs(descent.trial - (point - g)).max() > 0.1  # the direction uses the curvature
    answers = [bfgs.take_value(descent, np.inf) for _ in range(bfgs.MAX_SHRINKS)]
    assert answers == [bfgs.ASK_VALUE] * bfgs.MAX_SHRINKS
    assert_allclose(descent.trial, point - g)
    for k in range(1, bfgs.MAX_SHRINKS):
        assert bfgs.take_value(descent, np.inf) == bfgs.ASK_VALUE
        assert_allclose(descent.trial, point - bfgs.SHRINK**k * g, rtol=1e-8)
    assert bfgs.take_value(descent, np.inf) == bfgs.ENDS_AT_POINT
    assert_array_equal(descent.point, point)


def test_step_that_contradicts_the_change_of_the_gradient_is_not_used():
    descent, g = after_one_step(np.array([0.75, 0.5]))
    assert_allclose(descent.trial, descent.point - g)


@pytest.mark.parametrize("g", [[0.0, 0.0], [np.nan, 1.0]])
def test_descent_ends_where_no_direction_goes_down(g):
    tried, _, answer = run(lambda x: 1.0, lambda x: np.array(g), np.ones(2))
    assert len(tried) == 1
    assert answer == _kernels.bfgs.ENDS_AT_POINT


def test_descent_ends_after_two_small_decreases_in_a_row_and_needs_no_gradient_there():
    bfgs = _kernels.bfgs
    descent, _ = after_one_step(np.array([-0.9, -0.5]))
    told = [1.0 - 1e-10, 0.5, 0.5 - 1e-10, 0.5 - 2e-10]
    for value in told[:-1]:
        descent.numbers[bfgs.SLOPE] = -1e-12  # so that every decrease is sufficient
        assert bfgs.take_value(descent, value) == bfgs.ASK_GRADIENT
        assert bfgs.take_gradient(descent, np.array([0.1, 0.2])) == bfgs.ASK_VALUE
    descent.numbers[bfgs.SLOPE] = -1e-12
    assert bfgs.take_value(descent, told[-1]) == bfgs.ENDS_AT_TRIAL
    assert_array_equal(descent.point, descent.trial)


def test_descent_without_a_minimum_ends_after_the_maximum_number_of_searches():
    tried, accepted, answer = run(lambda x: float(x[0]), lambda x: np.ones(1), np.zeros(1))
    assert len(tried) == len(accepted) == _kernels.bfgs.MAX_ITERATIONS + 1
    assert answer == _kernels.bfgs.ENDS_AT_POINT


def test_start_is_left_unchanged(rng):
    value, gradient, _ = quadratic(rng, 3)
    start = rng.normal(size=3)
    before = start.copy()
    run(value, gradient, start)
    assert_array_equal(start, before)


def test_curvature_of_a_similar_function_shortens_a_descent():
    bfgs, scales = _kernels.bfgs, np.array([1.0, 30.0, 0.1])

    def descend(before):
        descent, answer, n_values = bfgs.begin(np.array([2.0, 1.0, -1.0]), 1e-9, before), bfgs.ASK_VALUE, 0
        while answer == bfgs.ASK_VALUE:
            n_values += 1
            answer = bfgs.take_value(descent, float(scales @ descent.trial**2))
            if answer == bfgs.ASK_GRADIENT:
                answer = bfgs.take_gradient(descent, 2 * scales * descent.trial)
        assert_allclose(descent.point, 0, atol=1e-3)
        return descent, n_values

    descent, n_values = descend(None)
    assert descend(descent)[1] < n_values / 2
