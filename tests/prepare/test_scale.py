import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from ravine._scaling import Scaling
from ravine.prepare._scale import _normal_groups, gap_codes, measured


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("draw", "transform"),
    [
        (lambda r: r.lognormal(5, 1, 2000), "log"),
        (lambda r: r.lognormal(5, 1, 2000) * (r.random(2000) > 0.2), "log"),
        (lambda r: r.exponential(1, 2000), "log"),
        (lambda r: r.lognormal(5, 0.4, 2000), "log"),
        (lambda r: r.lognormal(5, 0.05, 2000), "none"),
        (lambda r: np.exp(np.concatenate([r.normal(4, 0.4, 1500), r.normal(6, 0.4, 500)])), "log"),
        (lambda r: r.normal(50, 10, 2000), "none"),
        (lambda r: r.uniform(0, 1, 2000), "none"),
        (lambda r: -r.lognormal(5, 1, 2000), "none"),
        (lambda r: r.poisson(1.5, 2000).astype(float), "none"),
        (lambda r: np.floor(r.exponential(2, 2000)), "none"),
        (lambda r: np.floor(r.exponential(20, 2000)), "log"),
        (lambda r: np.concatenate([r.normal(10, 2, 1700), r.normal(100, 5, 300)]), "none"),
    ],
)
def test_logarithm_is_used_for_long_tails_only(draw, transform, random):
    assert measured(draw(random))[0].transform == transform


def test_transform_does_not_depend_on_the_unit(random):
    cells = random.lognormal(0, 1, 1000) * (random.random(1000) > 0.1)
    in_euros, in_cents = measured(cells)[0], measured(100 * cells)[0]
    assert_allclose(in_euros.encode(cells), in_cents.encode(100 * cells), atol=1e-9)


@pytest.mark.parametrize("draw", [lambda r: r.lognormal(5, 1, 500), lambda r: r.normal(5, 1, 500)])
def test_decode_is_the_inverse_of_encode(draw, random):
    cells = draw(random)
    scale, _ = measured(cells)
    below = np.append(cells.min() - 0.01 * cells.std(), 0.5 * cells.min())
    for some in (cells, below):
        assert not scale.is_far(some).any()
        assert_allclose(scale.decode(scale.encode(some)), some, rtol=1e-9, atol=1e-9)


def test_encoding_is_increasing_and_finite(random):
    cells = random.lognormal(5, 1, 500)
    scale, _ = measured(cells)
    ordered = np.linspace(-50, 1e5, 5000)
    is_far = scale.is_far(ordered)
    assert is_far[[0, -1]].all()
    assert (np.diff(scale.encode(ordered[~is_far])) > 0).all()
    assert_allclose(scale.decode(scale.encode(ordered[[0, -1]])), np.exp([scale.low, scale.high]))
    assert np.isfinite(scale.encode(np.array([1e308, -1e308, np.nan, 5e-324]))).all()


def test_far_cells_are_moved_in_as_in_the_clusterer(random):
    cells = random.normal(50, 5, 500)
    cells[3], cells[4] = 5e5, -5e5
    scale, n_far = measured(cells)
    assert n_far == 2
    twin = Scaling.of(cells[:, np.newaxis], np.ones(500))
    assert_allclose(scale.encode(cells), twin.rows(cells[:, np.newaxis])[:, 0])


def test_constant_numbers_become_zeros():
    scale, _ = measured(np.full(20, 7.0))
    assert scale.encode(np.array([7.0, np.nan])).tolist() == [0, 0]


@pytest.mark.parametrize(("code", "spread"), [(-999.0, 5.0), (9999.0, 50.0), (999.0, 10.0), (-99.0, 8.0)])
def test_codes_far_outside_are_gaps(code, spread, random):
    cells = random.normal(20, spread, 1000)
    cells[:20] = code
    assert gap_codes(cells) == (code,)


def test_two_codes_are_found():
    cells = np.concatenate([np.linspace(0, 10, 500), np.full(9, -999.0), np.full(5, 99999.0)])
    assert gap_codes(cells) == (-999.0, 99999.0)


def test_cells_that_are_no_codes_are_kept(random):
    ages = random.integers(18, 100, 1000).astype(float)
    assert 99.0 in ages
    assert gap_codes(ages) == ()
    once = np.append(random.normal(20, 5, 1000), 9999.0)
    assert gap_codes(once) == ()
    amounts = np.append(random.lognormal(6, 1, 1000), np.full(5, 999.0))
    assert gap_codes(amounts) == ()
    other = np.append(random.normal(20, 5, 1000), np.full(20, 1234.0))
    assert gap_codes(other) == ()


def test_an_error_by_a_factor_of_a_thousand_is_far_outside_of_a_logarithm(random):
    cells = random.lognormal(5, 0.8, 2000)
    cells[:3] = 999 * np.median(cells), 1e6, -999
    scale, n_far = measured(cells)
    assert scale.transform == "log"
    assert n_far == 3
    assert scale.is_far(cells).tolist() == [True] * 3 + [False] * 1997
    assert not scale.is_far(np.array([np.nan]))[0]


def test_likelihood_of_groups_is_that_of_a_mixture(random):
    cells = np.sort(np.concatenate([random.normal(0, 1, 300), random.normal(9, 2, 200)]))
    fitted = GaussianMixture(2, random_state=0).fit(cells[:, np.newaxis])
    assert_allclose(_normal_groups(cells, 2), 500 * fitted.score(cells[:, np.newaxis]), rtol=1e-3)
    assert_allclose(_normal_groups(cells, 1), norm(cells.mean(), cells.std()).logpdf(cells).sum())
