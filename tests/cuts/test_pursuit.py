"""Objectives against their naive twins and finite differences, and the search itself."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from tests import naive

from ravine._matrix import moments_of, weighted_sum
from ravine.cuts import _mdh, _pursuit
from ravine.cuts._mdh import NO_LABELS, Labels, PenalizedDensity, labeled_density_cut, minimum_density_cut
from ravine.cuts._ncut import NormalizedCut, ncut_cut
from ravine.cuts._pursuit import make_starts, pursue, search


def some_labels(scale):
    """Labels of six of the rows of `cloud`, one of them on the wrong side."""
    pulls = np.array([0.3, -0.2, 0.1, -0.3, 0.2, 0.4])
    return Labels(np.array([1, 5, 44, 50, 61, 70]), pulls, 0.2 * scale, 6.0)


OBJECTIVES = {
    "ncut": lambda exact, scale: NormalizedCut(scale, 0.01, exact_rows=exact),
    "density, bound 0": lambda exact, scale: PenalizedDensity(scale, 0.0, 1e-9, exact_rows=exact),
    "density, bound 0.5": lambda exact, scale: PenalizedDensity(scale, 0.5, 1e-9, exact_rows=exact),
    "density with labels": lambda exact, scale: PenalizedDensity(
        scale, 0.5, 1e-9, exact_rows=exact, labels=some_labels(scale)
    ),
}
UNLABELLED = {name: make for name, make in OBJECTIVES.items() if "labels" not in name}
each_unlabeled = pytest.mark.parametrize("make", UNLABELLED.values(), ids=UNLABELLED)
each_objective = pytest.mark.parametrize("make", OBJECTIVES.values(), ids=OBJECTIVES)


def cloud(rng, n=80, d=4):
    X = rng.normal(size=(n, d))
    X[: n // 2, 0] += 3
    weights = rng.integers(1, 4, size=n).astype(float)
    return X, weights, moments_of(X, weights)


@each_objective
@pytest.mark.parametrize("exact", [10**6, 0], ids=["exact", "binned"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 20.0])
def test_gradient_agrees_with_finite_differences(make, exact, scale, rng):
    X, weights, moments = cloud(rng)
    objective = make(exact, scale)

    def value(v):
        unit = v / np.linalg.norm(v)
        return objective((X - moments.mean) @ unit, weights)[0]

    for _ in range(5):
        v = rng.normal(size=4)
        unit = v / np.linalg.norm(v)
        c = objective((X - moments.mean) @ unit, weights)[2]()
        by_direction = weighted_sum(X, c) - c.sum() * moments.mean
        gradient = (by_direction - (by_direction @ unit) * unit) / np.linalg.norm(v)
        differences = [(value(v + 1e-7 * e) - value(v - 1e-7 * e)) / 2e-7 for e in np.eye(4)]
        rounding = 1e-15 / 1e-7  # of the value, over the step
        assert_allclose(gradient, differences, atol=1e-6 * max(np.abs(differences).max(), 1e-2) + rounding)


@pytest.mark.parametrize("scale", [0.01, 0.5, 30.0])
def test_ncut_of_rows_agrees_with_naive(scale, rng):
    values, weights = rng.normal(size=40), rng.integers(1, 3, size=40).astype(float)
    assert NormalizedCut(scale, 0.01)(values, weights)[0] == pytest.approx(naive.best_ncut(values, weights, scale))


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_penalized_density_agrees_with_naive(alpha, rng):
    values, weights = rng.normal(size=60), rng.integers(1, 3, size=60).astype(float)
    values -= np.average(values, weights=weights)
    ours, position, _ = PenalizedDensity(0.3, alpha, 1e-9)(values, weights)
    assert ours == pytest.approx(naive.least_penalized_density(values, weights, 0.3, alpha), rel=1e-3)
    assert abs(position) <= alpha * np.sqrt(np.average(values**2, weights=weights)) + 0.1 * 0.3


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("strength", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("exact", [10**6, 0], ids=["exact", "binned"])
def test_labeled_density_agrees_with_naive_and_stays_within_the_bound(alpha, strength, exact, rng):
    values, weights = rng.normal(size=60), rng.integers(1, 3, size=60).astype(float)
    values -= np.average(values, weights=weights)
    labels = Labels(np.arange(5), strength * np.array([1.0, -1.0, 0.5, -0.7, 2.0]), 0.3, np.abs(values).max())
    objective = PenalizedDensity(0.3, alpha, 1e-9, labels=labels, exact_rows=exact)
    ours, position, _ = objective(values, weights)
    steepness, bound = objective._settings(60)[2], alpha * np.sqrt(np.average(values**2, weights=weights))
    slow = naive.labeled_density(values, weights, 0.3, bound, steepness, values[:5], labels.pulls, 0.3)
    assert ours == pytest.approx(slow, rel=2e-3 if exact else 0.03)
    assert abs(position) <= bound + 0.1 * 0.3


@each_objective
def test_binned_value_is_near_the_exact_one(make, rng):
    values = np.concatenate([rng.normal(size=800), rng.normal(5, 1, size=700)])
    values -= values.mean()
    exact, binned = (make(rows, 0.4)(values, np.ones(1500)) for rows in (10**6, 0))
    assert binned[0] == pytest.approx(exact[0], rel=0.03)
    assert np.mean((values < exact[1]) != (values < binned[1])) <= 0.001


@each_unlabeled
def test_integer_weights_equal_repeated_rows(make, rng):
    values, repeats = rng.normal(size=50), rng.integers(1, 4, size=50)
    values -= np.average(values, weights=repeats)
    often = np.repeat(values, repeats)
    once, repeated = make(10**6, 0.7)(values, repeats.astype(float)), make(10**6, 0.7)(often, np.ones(len(often)))
    assert once[0] == pytest.approx(repeated[0], rel=1e-9)
    assert once[1] == pytest.approx(repeated[1], abs=1e-6)


@dataclass
class Quadratic:
    """Σ wᵢ (tᵢ - targetᵢ)², least where the direction is the one that made the target."""

    target: np.ndarray
    tolerance: float = 1e-14

    def __call__(self, values, weights):
        gap = values - self.target
        return float(weights @ gap**2), 0.0, lambda: 2 * weights * gap


def test_search_finds_the_minimum_of_a_smooth_function(rng):
    X = rng.normal(size=(200, 6))
    X -= X.mean(axis=0)
    best = rng.normal(size=6)
    best /= np.linalg.norm(best)
    found = search(X, np.ones(200), np.zeros(6), Quadratic(X @ best), np.eye(6)[0])
    assert_allclose(found.direction, best, atol=1e-5)


@each_objective
@pytest.mark.parametrize("as_csr", [False, True])
def test_end_of_a_search_is_no_worse_than_its_neighbors(make, as_csr, rng):
    objective = make(10**6, 2.0)
    X, weights, moments = cloud(rng, n=300)
    found = search(sparse.csr_array(X) if as_csr else X, weights, moments.mean, objective, np.eye(4)[0])
    for _ in range(50):
        v = found.direction + 0.05 * rng.normal(size=4)
        v /= np.linalg.norm(v)
        assert objective((X - moments.mean) @ v, weights)[0] >= found.value - 1e-4


@pytest.mark.parametrize("alpha", [0.0, 0.9])
@pytest.mark.parametrize("n", [80, 500])
@pytest.mark.parametrize("labels", [NO_LABELS, some_labels(1.5)], ids=["no labels", "labels"])
def test_compiled_search_agrees_with_the_general_one(alpha, n, labels, rng):
    X, weights, moments = cloud(rng, n=n)
    objective = PenalizedDensity(
        1.5, alpha, 1e-7, unit=1.5, labels=labels
    )  # smooth: rounding must not decide between two valleys
    for start in np.eye(4):
        compiled = objective.search(X, weights, moments.mean, start)
        general = search(X, weights, moments.mean, objective, start)
        assert_allclose(compiled.direction, general.direction, atol=1e-5)
        assert compiled.value == pytest.approx(general.value, rel=1e-6)
        assert compiled.position == pytest.approx(general.position, abs=1e-5)


def test_large_nodes_end_at_a_stationary_point_of_all_rows(rng, monkeypatch):
    monkeypatch.setattr(_pursuit, "COARSE_ABOVE", 1000)
    monkeypatch.setattr(_pursuit, "COARSE_ROWS", 300)
    X, _, _ = cloud(rng, n=4000)
    moments = moments_of(X, np.ones(4000))
    objective = NormalizedCut(5.0, 0.01)
    found = pursue(X, np.ones(4000), moments.mean, objective, np.eye(4)[0])
    c = objective((X - moments.mean) @ found.direction, np.ones(4000))[2]()
    by_direction = weighted_sum(X, c) - c.sum() * moments.mean
    gradient = by_direction - (by_direction @ found.direction) * found.direction
    assert np.linalg.norm(gradient) < 2e-3
    alone = search(X, np.ones(4000), moments.mean, objective, np.eye(4)[0])
    assert abs(found.direction @ alone.direction) > 0.999


@pytest.mark.parametrize("init", ["pca", 1, 2])
def test_starts_are_principal_components(init, rng):
    X = rng.normal(size=(100, 3)) * [3, 2, 1]
    moments = moments_of(X, np.ones(100))
    starts = make_starts(init)(X, np.ones(100), moments)
    assert starts.shape == (1 if init == "pca" else init, 3)
    assert_allclose(starts[0], naive.principal_direction(X, np.ones(100)), atol=1e-9)


def test_starts_may_be_given_or_made(rng):
    X = rng.normal(size=(10, 3))
    moments = moments_of(X, np.ones(10))
    for init in ([[0, 3, 0]], lambda rows: np.array([0.0, 3, 0])):
        assert_allclose(make_starts(init)(X, np.ones(10), moments), [[0, 1, 0]])
    for bad in ([[0, 0, 0]], [[1, 2]], [[np.nan, 1, 1]]):
        with pytest.raises(ValueError, match=r"init gives directions of shape .* 3 finite numbers"):
            make_starts(bad)(X, np.ones(10), moments)


def separable(rng, gap=2.0):
    """Two clouds apart along a slanted direction, much noise along the others."""
    X = rng.normal(size=(120, 3)) * [0.3, 2, 2]
    X[60:, 0] += gap
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return X @ rotation


def test_cuts_separate_what_is_separable(rng):
    X = separable(rng, gap=4.0)
    moments = moments_of(X, np.ones(120))
    starts = make_starts(3)
    for cut in (
        ncut_cut(X, np.ones(120), moments, starts=starts, scale=100.0),
        ncut_cut(X, np.ones(120), moments, starts=starts, scale=100.0, margin=True),
        minimum_density_cut(X, np.ones(120), moments, starts=starts, bandwidth=0.9, alphas=(0.0, 0.9)),
        minimum_density_cut(X, np.ones(120), moments, starts=starts, bandwidth=0.9, alphas=(0.0, 0.9), margin=True),
    ):
        side = cut.goes_left(X)
        assert side[:60].all() != side[60:].all()
        assert side[:60].sum() in (0, 60)
        assert cut.relative_depth > 0.5


def test_shrinking_scale_widens_the_margin(rng):
    X = separable(rng, gap=4.0)
    moments = moments_of(X, np.ones(120))

    def margin(cut):
        return np.abs(X @ cut.normal - cut.offset).min()

    options = {"starts": make_starts(3), "scale": 100.0}
    plain = ncut_cut(X, np.ones(120), moments, **options)
    wide = ncut_cut(X, np.ones(120), moments, margin=True, **options)
    assert margin(wide) > margin(plain)
    options = {"starts": make_starts(3), "bandwidth": 0.9, "alphas": (0.0, 0.9)}
    plain = minimum_density_cut(X, np.ones(120), moments, **options)
    wide = minimum_density_cut(X, np.ones(120), moments, margin=True, **options)
    assert margin(wide) > 0.98 * margin(plain)


def labeled_cut(X, sides, weights=None, **options):
    weights = np.ones(len(X)) if weights is None else weights
    settings = {"bandwidth": 0.9, "alphas": (0.0, 0.9), "gammas": (10.0, 100.0), "margin": 1.0, **options}
    return labeled_density_cut(X, weights, moments_of(X, weights), sides, starts=make_starts(2), **settings)


def test_labels_choose_between_two_valleys(rng):
    X = rng.normal(size=(400, 2)) * 0.5
    X[:200, 0] += 4
    X[::2, 1] += 3.5
    for column, normal in ((0, [1, 0]), (1, [0, 1])):
        order = np.argsort(X[:, column])
        sides = np.zeros(400, dtype=np.int64)
        sides[order[:3]], sides[order[-3:]] = -1, 1
        cut = labeled_cut(X, sides)
        assert cut.normal @ normal > 0.95
        assert_allclose(np.mean(cut.goes_left(X)), 0.5, atol=0.01)


def test_exchanged_sides_turn_the_cut(rng):
    X = separable(rng, gap=4.0)
    sides = np.zeros(120, dtype=np.int64)
    sides[[0, 1, 2]], sides[[70, 80]] = -1, 1
    cut, turned = labeled_cut(X, sides), labeled_cut(X, -sides)
    assert_allclose(turned.normal, -cut.normal, atol=1e-6)
    assert turned.offset == pytest.approx(-cut.offset, abs=1e-6)
    assert (cut.goes_left(X) == (np.arange(120) < 60)).all()


def test_many_rows_are_searched_on_a_sample_that_keeps_the_labels(rng, monkeypatch):
    X = rng.normal(size=(3000, 3)) * [1, 2, 2]
    X[1500:, 0] += 6
    sides = np.zeros(3000, dtype=np.int64)
    sides[[3, 7]], sides[[2000, 2500]] = -1, 1
    whole = labeled_cut(X, sides)
    monkeypatch.setattr(_mdh, "COARSE_ABOVE", 1000)
    monkeypatch.setattr(_pursuit, "COARSE_ROWS", 300)
    monkeypatch.setattr(_mdh, "COARSE_ROWS", 300)
    coarse = labeled_cut(X, sides)
    assert coarse.normal @ whole.normal > 0.99
    sides[:1500], sides[1500:] = -1, 1
    assert labeled_cut(X, sides).normal @ whole.normal > 0.99


def test_derivatives_of_another_length_than_the_rows_are_refused(rng):
    class Short:
        tolerance = 1e-6

        def __call__(self, values, weights):
            return 1.0, 0.0, lambda: np.zeros(len(values) - 1)

    X, weights = rng.normal(size=(20, 3)), np.ones(20)
    with pytest.raises(ValueError, match=r"derivatives of shape \(19,\) for 20 rows"):
        search(X, weights, X.mean(axis=0), Short(), np.eye(3)[0])
