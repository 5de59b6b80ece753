import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_allclose, assert_array_equal

from ravine import datasets
from ravine.datasets import (
    make_gaussian_stream,
    make_merging_stream,
    make_overhaul_stream,
    make_rings,
    make_splitting_stream,
    make_two_gaussians,
)

SMALL = {
    make_two_gaussians: {"n_samples": 31},
    make_rings: {"n_samples": 31},
    make_gaussian_stream: {"n_samples": 31, "n_features": 3},
    make_splitting_stream: {"every": 10, "n_classes": 2, "n_classes_final": 4, "n_features": 3},
    make_merging_stream: {"every": 10, "n_classes": 4, "n_classes_final": 2, "n_features": 3},
    make_overhaul_stream: {"n_samples": 31, "every": 10, "n_classes": 2, "n_features": 3},
}
every_generator = pytest.mark.parametrize(
    ("make", "kwargs"), SMALL.items(), ids=lambda value: getattr(value, "__name__", "")
)
changing = pytest.mark.parametrize(
    ("make", "n_gone", "n_born"), [(make_splitting_stream, 1, 2), (make_merging_stream, 2, 1)]
)


def by_stage(y, every=1000):
    return [set(stage) for stage in y.reshape(-1, every)]


@every_generator
def test_rows_are_float64_and_classes_are_integers(make, kwargs):
    X, y = make(**kwargs, random_state=0)
    assert X.ndim == 2
    assert X.dtype == np.float64
    assert y.shape == (len(X),)
    assert y.dtype.kind == "i"
    assert np.isfinite(X).all()


@every_generator
def test_a_seed_decides_the_draw(make, kwargs):
    first, again, other = (make(**kwargs, random_state=seed) for seed in (7, 7, 8))
    assert_array_equal(first[0], again[0])
    assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])


@every_generator
def test_a_random_state_instance_moves_on_and_none_is_accepted(make, kwargs):
    rng = np.random.RandomState(7)
    first, second = make(**kwargs, random_state=rng), make(**kwargs, random_state=rng)
    assert_array_equal(first[0], make(**kwargs, random_state=7)[0])
    assert not np.array_equal(first[0], second[0])
    make(**kwargs, random_state=None)


@every_generator
def test_a_bad_seed_is_refused(make, kwargs):
    with pytest.raises(ValueError, match="random_state"):
        make(**kwargs, random_state="seven")


@pytest.mark.parametrize(
    ("make", "kwargs", "message"),
    [
        (
            make_two_gaussians,
            {"n_samples": 0},
            "'n_samples' parameter of make_two_gaussians must be an int in the range",
        ),
        (make_two_gaussians, {"n_samples": None}, "'n_samples'"),
        (make_two_gaussians, {"variance": -1.0}, "'variance'"),
        (make_two_gaussians, {"separation": np.nan}, "'separation'"),
        (make_rings, {"noise": -0.1}, "'noise'"),
        (make_rings, {"core_std": np.inf}, "'core_std'"),
        (make_rings, {"sizes": "short"}, "'sizes'"),
        (make_rings, {"radii": (2.0, 1.0)}, "the smaller first"),
        (make_rings, {"radii": (0.0, 1.0)}, "two positive radii"),
        (make_rings, {"radii": (1.0, 2.0, 3.0)}, "two positive radii"),
        (make_rings, {"radii": (1.0, np.inf)}, "two positive radii"),
        (make_gaussian_stream, {"n_samples": 2.5}, "'n_samples'"),
        (make_gaussian_stream, {"n_classes": 0}, "'n_classes'"),
        (make_gaussian_stream, {"n_features": 0}, "'n_features'"),
        (make_gaussian_stream, {"n_irrelevant": -1}, "'n_irrelevant'"),
        (make_gaussian_stream, {"irrelevant_scale": -1.0}, "'irrelevant_scale'"),
        (make_splitting_stream, {"every": 0}, "'every'"),
        (make_splitting_stream, {"n_classes": 5, "n_classes_final": 4}, "use make_merging_stream"),
        (make_merging_stream, {"n_classes": 4, "n_classes_final": 5}, "use make_splitting_stream"),
        (make_merging_stream, {"n_classes_final": 0}, "'n_classes_final'"),
        (make_overhaul_stream, {"n_samples": 0}, "'n_samples'"),
    ],
)
def test_bad_parameters_are_named_in_the_error(make, kwargs, message):
    with pytest.raises(ValueError, match=message):
        make(**kwargs)


def test_moons_and_blobs_are_those_of_scikit_learn():
    assert datasets.make_moons is sklearn.datasets.make_moons
    assert datasets.make_blobs is sklearn.datasets.make_blobs


def test_two_gaussians_have_the_stated_moments_and_halves():
    X, y = make_two_gaussians(40_001, variance=0.3, separation=2.0, random_state=0)
    assert_array_equal(np.bincount(y), [20_001, 20_000])
    for c, center in enumerate([[-1.0, 0.0], [1.0, 0.0]]):
        # standard errors: sqrt(0.3 / 20000) = 0.004 of a mean, 0.3 sqrt(2 / 20000) = 0.003 of a variance
        assert_allclose(X[y == c].mean(axis=0), center, atol=0.02)
        assert_allclose(np.cov(X[y == c].T), 0.3 * np.eye(2), atol=0.015)


def test_two_gaussians_are_sqrt_two_apart_unless_told():
    X, y = make_two_gaussians(variance=0, random_state=0)
    assert X.shape == (200, 2)
    assert_allclose(np.linalg.norm(X[y == 0][0] - X[y == 1][0]), np.sqrt(2))


def test_rings_have_rows_in_proportion_to_their_length():
    assert_array_equal(np.bincount(make_rings(70, sizes="length", random_state=0)[1]), [10, 20, 40])
    assert_array_equal(np.bincount(make_rings(72, sizes="length", random_state=0)[1]), [10, 21, 41])


def test_rings_lie_at_their_radii_around_a_gaussian():
    X, y = make_rings(30_002, radii=(3.0, 5.0), noise=0.1, core_std=0.5, random_state=0)
    assert_array_equal(np.bincount(y), [10_001, 10_001, 10_000])
    distance = np.hypot(*X.T)
    # The mean square of a Gaussian's distance is 2 σ²; that of a ring r² + 2 σ².
    assert_allclose(np.mean(distance[y == 0] ** 2), 0.5, rtol=0.05)
    assert_allclose(np.mean(distance[y == 1] ** 2), 9.02, rtol=0.01)
    assert_allclose(np.mean(distance[y == 2] ** 2), 25.02, rtol=0.01)
    # Angles are uniform: a ring's mean has standard error r / sqrt(2 n) = 0.035 at most.
    assert_allclose([X[y == c].mean(axis=0) for c in range(3)], 0, atol=0.18)


def test_default_rings_do_not_touch():
    X, y = make_rings(3000, random_state=0)
    distance = np.hypot(*X.T)
    assert distance[y == 0].max() < distance[y == 1].min()
    assert distance[y == 1].max() < distance[y == 2].min()


def test_stream_has_500_rows_a_class_unless_told():
    X, y = make_gaussian_stream(n_classes=3, n_features=4, random_state=0)
    assert X.shape == (1500, 4)
    assert_array_equal(np.unique(y), [0, 1, 2])


def test_stream_covariances_have_the_trace_and_the_spread_of_the_wishart_rule():
    C, d, n = 3, 50, 30_000
    X, y = make_gaussian_stream(n, n_classes=C, n_features=d, random_state=0)
    for c in range(C):
        covariance = np.cov(X[y == c].T)
        # tr SᵀS is χ² with d² degrees of freedom: relative standard deviation sqrt(2) / d = 0.028, and the sample adds
        # sqrt(4 / (d n_c)) = 0.003.
        assert_allclose(np.trace(covariance), 4 * ((c + 1) / C) ** 2 * d**2, rtol=0.15)
        # E tr (SᵀS)² = 2 d³ + d² against d⁴ for the squared trace: 2 / d, twice what a round Gaussian has.
        assert_allclose(np.sum(covariance**2) / np.trace(covariance) ** 2, 2 / d, rtol=0.1)


def test_stream_means_are_uniform_on_the_stated_cube():
    C, d = 10, 50
    X, y = make_gaussian_stream(20_000, n_classes=C, n_features=d, random_state=0)
    means = np.array([X[y == c].mean(axis=0) for c in range(C)])
    side = C * d**0.25
    # 500 uniform values: standard error side / sqrt(12 * 500) = 0.013 side of the mean, and sqrt(0.8 / 500) = 4% of the
    # variance. Class means from 2000 rows add at most 2 sqrt(d / 2000) = 0.3 to each value.
    assert_allclose(means.mean(), side / 2, atol=0.065 * side)
    assert_allclose(means.var(), side**2 / 12, rtol=0.2)
    assert means.min() > -1.5
    assert means.max() < side + 1.5


def test_stream_shares_differ_by_less_than_a_factor_of_two():
    _, y = make_gaussian_stream(100_000, n_classes=8, n_features=1, random_state=0)
    share = np.bincount(y) / len(y)
    assert share.max() / share.min() < 2.05  # a share of 1/16 has a relative standard error of 1.2%
    assert share.max() / share.min() > 1.1


def test_irrelevant_features_are_noise_and_leave_the_others_alone():
    kwargs = {"n_samples": 20_000, "n_classes": 3, "n_features": 4, "random_state": 0}
    plain, y = make_gaussian_stream(**kwargs)
    X, y_wide = make_gaussian_stream(**kwargs, n_irrelevant=5, irrelevant_scale=20.0)
    assert X.shape == (20_000, 9)
    assert_array_equal(X[:, :4], plain)
    assert_array_equal(y_wide, y)
    for c in range(3):
        noise = X[y == c, 4:] / 20  # some 5000 rows or more a class: standard errors 0.014 and 0.02
        assert_allclose(noise.mean(axis=0), 0, atol=0.07)
        assert_allclose(np.cov(noise.T), np.eye(5), atol=0.1)


def test_splitting_stream_goes_from_20_to_60_classes_in_41_stages():
    X, y = make_splitting_stream(n_features=2, random_state=0)
    assert X.shape == (41_000, 2)
    assert [len(classes) for classes in by_stage(y)] == list(range(20, 61))


def test_merging_stream_goes_from_60_to_20_classes_in_41_stages():
    X, y = make_merging_stream(n_features=2, random_state=0)
    assert X.shape == (41_000, 2)
    assert [len(classes) for classes in by_stage(y)] == list(range(60, 19, -1))


@changing
def test_each_change_replaces_classes_by_new_ones_and_keeps_the_rest(make, n_gone, n_born):
    _, y = make(n_features=2, random_state=0)
    stages = by_stage(y)
    used = set(stages[0])
    for before, after in pairwise(stages):
        assert len(before - after) == n_gone
        assert after - before == {max(used) + 1 + i for i in range(n_born)}
        used |= after


@changing
def test_a_class_keeps_its_distribution_through_the_changes(make, n_gone, n_born):
    counts = {make_splitting_stream: (2, 4), make_merging_stream: (5, 3)}[make]
    X, y = make(every=20_000, n_classes=counts[0], n_classes_final=counts[1], n_features=2, random_state=1)
    stages = by_stage(y, 20_000)
    kept = stages[0] & stages[1]
    assert kept
    for c in kept:
        first, second = (
            rows[classes == c] for rows, classes in zip(np.split(X, 3)[:2], np.split(y, 3)[:2], strict=True)
        )
        error = np.sqrt(first.var(axis=0) / len(first) + second.var(axis=0) / len(second))
        assert (np.abs(first.mean(axis=0) - second.mean(axis=0)) < 5 * error).all()
        assert_allclose(np.cov(first.T), np.cov(second.T), atol=0.1 * np.trace(np.cov(first.T)))


@changing
def test_new_classes_follow_the_static_rule(make, n_gone, n_born):
    # Many changes, few features. For class i of C, E tr Σ = 4 (i/C)² d²; with i uniform on 1…C the mean of (i/C)² is
    # (C + 1)(2 C + 1) / (6 C²), 0.35 at C = 30 and 0.34 at C = 60.
    X, y = make(n_features=10, random_state=0)
    first_new = len(by_stage(y)[0])
    new = [X[y == c] for c in range(first_new, y.max() + 1) if np.sum(y == c) > 30]
    trace = np.array([rows.var(axis=0, ddof=1).sum() for rows in new]) / (4 * 10**2)
    assert len(new) > 20
    # (i/C)² has standard deviation 0.3; that of the mean over the classes is 0.3 / sqrt(len(new)).
    assert_allclose(trace.mean(), 0.35, atol=5 * 0.33 / np.sqrt(len(new)))
    means = np.concatenate([rows.mean(axis=0) for rows in new])
    assert means.max() < 60 * 10**0.25 + 6
    assert means.max() > 30 * 10**0.25
    assert means.min() > -6


def test_no_class_is_a_point():
    X, y = make_splitting_stream(every=30, n_classes=1, n_classes_final=40, n_features=2, random_state=0)
    assert all(X[y == c].std(axis=0).min() > 0 for c in range(y.max() + 1) if np.sum(y == c) > 1)


def test_a_stream_without_changes_has_one_stage():
    for make in (make_splitting_stream, make_merging_stream):
        X, y = make(every=50, n_classes=3, n_classes_final=3, n_features=2, random_state=0)
        assert X.shape == (50, 2)
        assert set(y) == {0, 1, 2}


def test_overhaul_stream_is_one_static_stream_after_another():
    X, y = make_overhaul_stream(1000, every=300, n_classes=4, n_features=3, random_state=0)
    rng = np.random.RandomState(0)
    epochs = [make_gaussian_stream(n, n_classes=4, n_features=3, random_state=rng) for n in (300, 300, 300, 100)]
    assert_array_equal(X, np.concatenate([rows for rows, _ in epochs]))
    assert_array_equal(y, np.concatenate([classes for _, classes in epochs]))


def test_overhaul_stream_has_three_overhauls_unless_told():
    X, y = make_overhaul_stream(n_features=2, random_state=0)
    assert X.shape == (60_000, 2)
    assert by_stage(y, 15_000) == 4 * [set(range(20))]
    center = [X[:15_000][y[:15_000] == 0].mean(axis=0), X[15_000:30_000][y[15_000:30_000] == 0].mean(axis=0)]
    assert np.linalg.norm(center[0] - center[1]) > 1


def test_drawing_holds_few_matrices_besides_the_rows():
    d = 200  # 100 classes are drawn; their roots together would take 32 MB
    tracemalloc.start()
    X, _ = make_splitting_stream(every=100, n_features=d, random_state=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes + 10 * d * d * 8
