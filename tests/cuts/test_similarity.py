import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests import naive

from ravine.cuts._similarity import contraction_at, drawn_in, log_similarity, scratch_for_pairs, weigh


@given(st.floats(0, 3), st.sampled_from([1e-3, 0.01, 0.1, 0.3]), st.lists(st.floats(-10, 10), min_size=2, max_size=9))
def test_drawn_in_agrees_with_naive_and_never_expands_a_distance(bound, contraction, values):
    values = np.sort(values)
    drawn, slope = drawn_in(values, bound, contraction)
    assert_allclose(drawn, [naive.drawn_in(v, bound, contraction) for v in values], atol=1e-12)
    assert (np.diff(drawn) >= 0).all()
    assert (np.diff(drawn) <= np.diff(values) + 1e-12).all()
    assert ((slope > 0) & (slope <= 1)).all()


@pytest.mark.parametrize("contraction", [0.01, 0.1, 0.3])
def test_drawn_in_is_smooth_at_the_bound(contraction):
    least = (contraction * (1 - contraction)) ** (1 / contraction)
    drawn, slope = drawn_in(np.array([-1e-3, 0.0, 1e-3]) * least, 0.0, contraction)
    assert_allclose(slope, 1, atol=1e-3)
    assert_allclose(drawn, np.array([-1e-3, 0.0, 1e-3]) * least, rtol=1e-3)
    inside, outside = drawn_in(np.array([1.0, 1.0 + 1e-12]), 1.0, contraction)[0]
    assert abs(outside - inside) <= 1.001e-12
    x = np.array([1.5, -3.0])
    moved = drawn_in(x + 1e-6, 1.0, contraction)[0] - drawn_in(x - 1e-6, 1.0, contraction)[0]
    assert_allclose(drawn_in(x, 1.0, contraction)[1], moved / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("contraction", [1e-3, 1e-6, 1e-12, 1e-100, 1e-300])
def test_tiny_contractions_do_not_underflow(contraction):
    drawn, slope = drawn_in(np.array([-5.0, -1.0, 0.5, 1.0, 1.0 + 1e-15, 1e100]), 1.0, contraction)
    assert np.isfinite(drawn).all()
    assert np.isfinite(slope).all()
    assert (np.diff(drawn) >= 0).all()
    assert_allclose(drawn[:3], [-1.0, -1.0, 0.5], atol=0.01)


def test_contraction_is_small_and_falls_with_the_scale():
    assert contraction_at(1.0) == 0.01
    assert contraction_at(1e-3) == 1e-6
    assert contraction_at(0.1) == pytest.approx(0.01)


def test_logarithm_of_the_similarity_is_that_of_the_kernel(rng):
    points, graph, degrees = rng.normal(size=(9, 2)), np.empty((9, 9)), np.empty(9)
    weigh(points, np.ones(9), 0.7, scratch_for_pairs(9), graph, degrees)
    apart = np.linalg.norm(points[:, None] - points, axis=2) / 0.7
    off = ~np.eye(9, dtype=bool)
    assert_allclose(np.log(graph[off]), log_similarity(apart)[off], atol=1e-9)
