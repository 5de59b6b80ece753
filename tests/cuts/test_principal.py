import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from tests import naive

from ravine._matrix import moments_of
from ravine.cuts import _principal
from ravine.cuts._principal import antimode_cut, mean_cut, principal_direction, spread_across


def direction(X, weights=None):
    weights = np.ones(X.shape[0]) if weights is None else weights
    return principal_direction(X, weights, moments_of(X, weights))


@pytest.mark.parametrize(
    "shape",
    [(100, 6), (20, 50), (160, 140), (8000, 140)],
    ids=["scatter matrix", "Gram matrix", "Lanczos", "Lanczos, two blocks of rows"],
)
def test_direction_agrees_with_the_singular_vector(shape, rng):
    X = rng.normal(size=shape) + np.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1]))
    weights = rng.uniform(size=shape[0])
    assert_allclose(direction(X, weights), naive.principal_direction(X, weights), atol=1e-6)


def test_sparse_direction_agrees_with_dense(rng):
    X = rng.normal(1, 2, size=(300, 40)) * (rng.uniform(size=(300, 40)) < 0.1) * np.linspace(1, 3, 40)
    assert_allclose(direction(sparse.csr_array(X)), naive.principal_direction(X, np.ones(300)), atol=1e-5)


def test_direction_ignores_rows_of_weight_zero(rng):
    X = rng.normal(size=(80, 4)) * [4, 3, 2, 1]
    held_out = np.repeat([1.0, 0.0], 40)
    assert_allclose(direction(X, held_out), direction(X[:40].copy()), atol=1e-9)


def test_direction_of_equal_rows_is_none():
    assert direction(np.zeros((5, 3))) is None
    assert direction(sparse.csr_array((5, 3))) is None


def test_direction_of_a_far_small_cloud_is_found(rng):
    X = rng.normal(size=(200, 3)) * [1, 0.1, 0.1] + 1e6
    assert abs(direction(X)[0]) > 0.99


def test_lanczos_reaches_a_direction_with_a_small_gap(rng):
    X = np.linalg.qr(rng.normal(size=(1000, 200)))[0] * np.sqrt(np.linspace(1, 1.3, 200))  # gaps of a thousandth
    found, exact = direction(X), naive.principal_direction(X, np.ones(1000))
    variance = [np.var(X @ v) for v in (found, exact)]
    assert variance[0] == pytest.approx(variance[1], rel=1e-4)


def test_lanczos_is_bounded_in_passes(monkeypatch, rng):
    passes = []
    monkeypatch.setattr(
        _principal, "scatter_times", lambda *args, f=_principal.scatter_times: passes.append(1) or f(*args)
    )
    direction(rng.normal(size=(2000, 700)))
    assert len(passes) <= _principal.LANCZOS_STEPS * _principal.LANCZOS_RESTARTS


@pytest.mark.parametrize("shape", [(60, 2), (200, 5), (30, 90), (50, 300)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
def test_spread_across_is_the_singular_vector_of_the_rows_without_the_normal(shape, kind, rng):
    X = rng.normal(size=shape) + np.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1])) + 3
    normal = naive.principal_direction(X, np.ones(shape[0]))
    found = spread_across(kind(X), normal)
    assert found @ found == pytest.approx(1)
    assert found @ normal == pytest.approx(0, abs=1e-12)
    flat = X - np.outer(X @ normal, normal)
    assert_allclose(found, naive.principal_direction(flat, np.ones(shape[0])), atol=1e-6)


def test_spread_across_a_narrow_band_is_found(rng):
    X = rng.normal(size=(400, 3)) * [1e5, 1, 0.1] + 7
    assert_allclose(spread_across(X, np.array([1.0, 0, 0])), [0, 1, 0], atol=0.05)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("n_columns", [2, 5, 200])
def test_rows_that_vary_along_the_normal_only_have_no_spread_across(kind, n_columns, rng):
    normal = rng.normal(size=n_columns)
    normal /= np.linalg.norm(normal)
    line = np.outer(rng.normal(size=50), normal) + rng.normal(size=n_columns)
    assert spread_across(kind(line), normal) is None
    assert spread_across(kind(np.ones((50, n_columns))), normal) is None
    assert spread_across(kind(line[:1]), normal) is None


def test_one_column_has_nothing_across(rng):
    assert spread_across(rng.normal(size=(20, 1)), np.ones(1)) is None


def test_mean_cut_of_two_points_lies_between_them():
    X = np.array([[0.0, 1.0], [4.0, 1.0]])
    cut = mean_cut(X, np.ones(2), moments_of(X, np.ones(2)))
    assert_allclose(cut.normal, [1, 0])
    assert cut.offset == pytest.approx(2)


def test_antimode_cut_finds_the_valley_and_its_density(rng):
    X = np.concatenate([rng.normal(-4, 1, size=(500, 1)), rng.normal(4, 1, size=(500, 1))])
    X = np.column_stack([X, rng.normal(size=1000)])
    cut = antimode_cut(X, np.ones(1000), moments_of(X, np.ones(1000)), bandwidth=1.06)
    assert abs(cut.offset) < 1
    bandwidth = 1.06 * (X @ cut.normal).std() * 1000**-0.2
    exact = naive.density(X @ cut.normal, np.ones(1000), bandwidth, [cut.offset])[0]
    assert cut.value == pytest.approx(exact, rel=0.02)
    assert cut.relative_depth > 5


def test_one_mode_gives_no_cut():
    X = np.linspace(-1, 1, 99)[:, None] ** 3
    assert antimode_cut(X, np.ones(99), moments_of(X, np.ones(99)), bandwidth=1.06) is None


def test_antimode_that_leaves_too_few_rows_is_passed_over(rng):
    X = np.concatenate([rng.normal(c, 1, size=(n, 1)) for c, n in ((0, 200), (9, 150), (40, 5))])
    moments = moments_of(X, np.ones(355))
    assert antimode_cut(X, np.ones(355), moments, bandwidth=0.5).offset > 12
    assert 2 < antimode_cut(X, np.ones(355), moments, bandwidth=0.5, min_cluster_size=6).offset < 7
    assert antimode_cut(X, np.ones(355), moments, bandwidth=0.5, min_cluster_size=170) is None


def test_widest_of_several_empty_gaps_is_cut():
    X = np.array([0, 1, 2, 50, 51, 52, 200, 201, 202, 230.0])[:, None]
    cut = antimode_cut(X, np.ones(10), moments_of(X, np.ones(10)), bandwidth=0.01)
    assert 52 < cut.offset < 200
