import numpy as np
import pytest
from numpy.testing import assert_allclose

from ravine.tree import _mixture
from ravine.tree._ellipses import LEVEL, PlaneEllipses, outlines
from ravine.tree._mixture import Mixture, fit_mixture


@pytest.fixture(params=["own", "shared"])
def mixture(request, rng, monkeypatch):
    """A mixture of three components in four columns, whose covariances are their own or shared."""
    if request.param == "shared":
        monkeypatch.setattr(_mixture, "MOST_OWN", 0)
    label = np.repeat([0, 1, 2], 200)
    X = rng.normal(size=(600, 4)) @ rng.normal(size=(4, 4)) + 9 * rng.normal(size=(3, 4))[label]
    found = fit_mixture(X, np.ones(600), label, 3)
    assert len(found.factor) == {"own": 3, "shared": 1}[request.param]
    return found


def plane_of(rng):
    return np.linalg.qr(rng.normal(size=(4, 2)))[0].T, rng.normal(size=2)


def assert_is_ellipse_of(ellipse, mean, covariance):
    """Every point of the outline has the distance from the mean within which a Gaussian has `LEVEL` of its rows."""
    apart = outlines(ellipse[np.newaxis])[0] - mean
    squares = np.einsum("ij,jk,ik->i", apart, np.linalg.inv(covariance), apart)
    assert_allclose(squares, -2 * np.log(1 - LEVEL))
    assert_allclose(ellipse[:2], mean)


def test_ellipses_have_the_moments_of_the_clusters_in_the_plane(mixture, rng):
    plane, origin = plane_of(rng)
    found = PlaneEllipses(mixture).of(np.eye(3, dtype=bool), plane, origin)
    for ellipse, mean, covariance in zip(found, *mixture.cluster_moments()[1:], strict=True):
        assert_is_ellipse_of(ellipse, plane @ mean - origin, plane @ covariance @ plane.T)


def test_ellipse_of_several_components_is_that_of_the_merged_cluster(mixture, rng):
    plane, origin = plane_of(rng)
    members = np.array([[True, True, False], [False, False, True]])
    found = PlaneEllipses(mixture).of(members, plane, origin)
    _, mean, covariance = mixture.merged(np.array([0, 0, 1])).cluster_moments()
    for k in range(2):
        assert_is_ellipse_of(found[k], plane @ mean[k] - origin, plane @ covariance[k] @ plane.T)
    assert_allclose(PlaneEllipses(mixture).of(members[1:], plane, origin), found[1:])


def test_ellipse_holds_its_share_of_gaussian_rows(rng):
    factor = np.array([[2.0, 0.0], [1.0, 0.5]])
    X = rng.normal(size=(20_000, 2)) @ np.linalg.inv(factor).T
    mixture = Mixture(np.ones(1), np.zeros((1, 2)), factor[np.newaxis], np.zeros(1, dtype=np.int64))
    x, y, width, height, correlation = PlaneEllipses(mixture).of(np.array([[True]]), np.eye(2), np.zeros(2))[0]
    u, v = (X[:, 0] - x) / width, (X[:, 1] - y) / height
    is_inside = u**2 + v**2 - 2 * correlation * u * v <= 1 - correlation**2
    assert is_inside.mean() == pytest.approx(LEVEL, abs=0.01)
