from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import chi2
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from tests import naive

from ravine import PDDP, IncrementalMDH, NCutH
from ravine._scaling import ScaledRows
from ravine.datasets import make_blobs
from ravine.tree import HyperplaneTree
from ravine.tree import _mixture as module
from ravine.tree._mixture import (
    MIXTURE,
    Mixture,
    differing_columns,
    fit_mixture,
    packed,
    unpacked,
    with_limit,
)


def wide_beside_narrow(rng, n=2000):
    """Rows of a narrow and a wide group, and the labels of a cut midway between their means."""
    X = np.concatenate([rng.normal(0, 1, (n, 2)), rng.normal([6, 0], [3, 3], (n, 2))])
    return X, np.repeat([0, 1], n), (X[:, 0] > 3).astype(np.int64)


def fitted(X, label, **options):
    return fit_mixture(X, np.ones(len(X)), label, int(label.max()) + 1, **options)


def test_boundary_between_a_wide_and_a_narrow_group_moves_to_the_narrow_one(rng):
    X, y, label = wide_beside_narrow(rng)
    mixture = fitted(X, label)
    found = mixture.predict(X, label)
    assert mixture.decides
    assert np.mean(found == y) > np.mean(label == y) + 0.02
    assert_allclose(mixture.mean, [[0, 0], [6, 0]], atol=0.6)
    assert_allclose(mixture.covariance, [np.eye(2), 9 * np.eye(2)], atol=2.0)


def test_one_far_cell_does_not_hide_its_column(rng):
    X, _, label = wide_beside_narrow(rng, 500)
    dirty = X.copy()
    dirty[0] = [1e6, 0.0]
    for n_columns in (2, 120):  # with a covariance for each component, and with one for all
        noise = rng.normal(size=(1000, n_columns - 2))
        clean, found = (fitted(np.hstack([rows, noise]), label) for rows in (X, dirty))
        rows = np.hstack([X, noise])
        assert adjusted_rand_score(clean.predict(rows, label), found.predict(rows, label)) > 0.95


def test_a_few_rows_far_out_do_not_widen_a_component(rng):
    X, _, label = wide_beside_narrow(rng, 500)
    far = np.concatenate([X, rng.normal(0, 200, (10, 2))])
    of_far = np.concatenate([label, (far[1000:, 0] > 3).astype(np.int64)])
    with_them = fitted(far, of_far).predict(X, label)
    assert adjusted_rand_score(fitted(X, label).predict(X, label), with_them) > 0.8


def test_one_step_agrees_with_naive(rng, monkeypatch):
    monkeypatch.setattr(module, "N_STEPS", 1)
    X, _, label = wide_beside_narrow(rng, 60)
    weights = rng.uniform(0.5, 2, len(X))
    mixture = fit_mixture(X, weights, label, 2, always_decides=True)
    share = weights / weights.sum()
    center = share @ X
    scale = np.sqrt(share @ (X - center) ** 2)
    Z, part = (X - center) / scale, np.column_stack([share * (label == k) for k in range(2)])
    mean = np.array([np.average(Z, axis=0, weights=p) for p in part.T])
    n_rows = 1 / (share @ share)
    covariance = naive.own_covariances(Z, part, mean, n_rows, module.PRIOR_ROWS, module.RIDGE)
    assert_allclose(mixture.weight, part.sum(axis=0))
    assert_allclose(mixture.mean, mean * scale + center)
    shape = covariance * np.outer(scale, scale)
    assert_allclose(mixture.covariance, module.FREEDOM / (module.FREEDOM - 2) * shape, rtol=1e-9)


@pytest.mark.parametrize("own", [True, False])
def test_memberships_and_density_agree_with_naive(rng, own, monkeypatch):
    monkeypatch.setattr(module, "MOST_OWN", 100 if own else 0)
    X, _, label = wide_beside_narrow(rng, 100)
    mixture = fitted(X, label)
    assert len(mixture.factor) == (2 if own else 1)
    shape = mixture.covariance * (1 - 2 / mixture.freedom)
    joint = naive.log_joint(X, mixture.weight, mixture.mean, shape, mixture.freedom)
    density = np.exp(joint)
    assert_allclose(mixture.memberships(X, label), density / density.sum(axis=1, keepdims=True), rtol=1e-6)
    assert_allclose(mixture.log_density(X), np.log(density.sum(axis=1)), rtol=1e-9)
    assert_array_equal(mixture.predict(X, label), joint.argmax(axis=1))


def test_shared_covariance_is_that_within_the_clusters(rng, monkeypatch):
    monkeypatch.setattr(module, "MOST_OWN", 0)
    noise = rng.normal(size=(3000, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 2]])
    label = rng.integers(0, 3, 3000)
    mixture = fitted(noise + 20 * np.eye(3)[label], label)
    assert_allclose(mixture.covariance[0], np.cov(noise.T), atol=0.15)


def test_result_does_not_depend_on_blocks_of_rows(rng):
    X, _, label = wide_beside_narrow(rng, 300)
    mixture = fitted(X, label)
    whole = mixture.memberships(X, label)
    parts = [mixture.memberships(X[i : i + 7], label[i : i + 7]) for i in range(0, len(X), 7)]
    assert_array_equal(whole, np.concatenate(parts))


def test_units_of_the_columns_do_not_matter(rng):
    X, _, label = wide_beside_narrow(rng, 300)
    unit, shift = np.array([1e6, 1e-3]), np.array([1e3, 5.0])
    ours, other = fitted(X, label), fitted(X * unit + shift, label)
    assert_array_equal(ours.predict(X, label), other.predict(X * unit + shift, label))
    assert_allclose(ours.unscaled(shift, unit).factor, other.factor, rtol=1e-6)


def test_weight_of_two_counts_as_two_rows(rng):
    X, _, label = wide_beside_narrow(rng, 100)
    heavy = np.repeat(2.0, len(X))
    ours, other = fitted(X, label), fit_mixture(X, heavy, label, 2)
    assert_allclose(ours.factor, other.factor)


def test_well_separated_groups_are_left_to_the_cuts(rng):
    label = np.repeat([0, 1], 200)
    mixture = fitted(rng.normal(size=(400, 2)) + 50 * label[:, np.newaxis], label)
    assert not mixture.decides
    assert fitted(rng.normal(size=(400, 2)) + 50 * label[:, np.newaxis], label, always_decides=True).decides


def test_few_rows_are_left_to_the_cuts(rng):
    X, _, label = wide_beside_narrow(rng, 9)
    assert not fitted(X, label).decides


def test_there_is_no_mixture_if_a_cluster_has_no_row(rng):
    assert fit_mixture(rng.normal(size=(50, 2)), np.ones(50), np.zeros(50, dtype=np.int64), 2) is None


def test_there_is_no_mixture_with_too_many_columns(rng, monkeypatch):
    monkeypatch.setattr(module, "MOST_COLUMNS", 1)
    assert fitted(rng.normal(size=(50, 2)), np.repeat([0, 1], 25)) is None


def test_constant_columns_change_nothing(rng):
    X, _, label = wide_beside_narrow(rng, 200)
    wide = np.c_[X, np.full(len(X), 7.0)]
    assert adjusted_rand_score(fitted(X, label).predict(X, label), fitted(wide, label).predict(wide, label)) > 0.95


@pytest.mark.parametrize("value", [1e149, -1e149])
def test_rows_without_a_density_keep_their_label(rng, value):
    X, _, label = wide_beside_narrow(rng, 100)
    mixture = fitted(X * 1e-20, label)
    far, of_far = np.full((2, 2), value), np.array([1, 0])
    assert_array_equal(mixture.predict(far, of_far), of_far)
    assert_array_equal(mixture.memberships(far, of_far), np.eye(2)[of_far])


@pytest.mark.parametrize("own", [True, False])
def test_limits_and_outliers_agree_with_naive(rng, own, monkeypatch):
    monkeypatch.setattr(module, "MOST_OWN", 100 if own else 0)
    X, _, label = wide_beside_narrow(rng, 60)
    X[:2] += 50
    weights = rng.uniform(0.5, 2, len(X))
    mixture = with_limit(fit_mixture(X, weights, label, 2, always_decides=True), X, weights, label)
    shape = mixture.covariance * (1 - 2 / mixture.freedom)
    component = naive.log_joint(X, mixture.weight, mixture.mean, shape, mixture.freedom).argmax(axis=1)
    least = np.sqrt(chi2.isf(module.LEAST_BEYOND, 2))
    limit = naive.distance_limits(X, weights, component, mixture.mean, shape, least)
    assert_allclose(mixture.limit, limit, rtol=2e-6)
    is_outlier = naive.outliers(X, component, mixture.mean, shape, limit)
    assert_array_equal(mixture.labels(X, label), np.where(is_outlier, -1, component))
    assert_array_equal(np.flatnonzero(is_outlier), [0, 1])


@pytest.mark.parametrize("decides", [True, False])
def test_outliers_do_not_change_the_labels_of_other_rows(rng, decides):
    X, _, label = wide_beside_narrow(rng, 300)
    X[:3] += 500
    mixture = replace(fitted(X, label), decides=decides)
    limited = with_limit(mixture, X, np.ones(len(X)), label)
    found = limited.labels(X, label)
    assert_array_equal(found[:3], -1)
    assert_array_equal(found[found >= 0], mixture.labels(X, label)[found >= 0])
    assert_array_equal(limited.memberships(X, label), mixture.memberships(X, label))
    assert_array_equal(limited.merged(np.array([0, 0])).labels(X, 0 * label) < 0, found < 0)


CLEAN = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    "t": lambda rng, shape: rng.standard_t(5, size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
}


@pytest.mark.parametrize("n_columns", [1, 2, 10, 120])
@pytest.mark.parametrize("kind", CLEAN)
def test_clean_clusters_have_hardly_any_outliers_and_far_rows_are_outliers(rng, kind, n_columns):
    label = rng.integers(0, 2, 1000)
    X = CLEAN[kind](rng, (1000, n_columns)) + 30 * label[:, np.newaxis]
    mixture = with_limit(fitted(X, label), X, np.ones(1000), label)
    assert np.mean(mixture.labels(X, label) < 0) <= 0.012
    far = 300 * rng.choice([-1, 1], (20, n_columns))
    assert_array_equal(mixture.labels(far, np.zeros(20, dtype=np.int64)), -1)


def test_limit_of_a_weight_is_that_of_copies(rng):
    X, _, label = wide_beside_narrow(rng, 100)
    weights = rng.integers(1, 4, len(X)).astype(np.float64)
    mixture, copies = fitted(X, label), np.repeat(np.arange(len(X)), weights.astype(np.int64))
    ours = with_limit(mixture, X, weights, label)
    assert_allclose(ours.limit, with_limit(mixture, X[copies], np.ones(len(copies)), label[copies]).limit)


def test_limits_do_not_depend_on_the_units_or_on_the_unit_of_the_weights(rng):
    X, _, label = wide_beside_narrow(rng, 100)
    unit, shift = np.array([1e6, 1e-3]), np.array([1e3, 5.0])
    ones = np.ones(len(X))
    limits = [
        with_limit(fit_mixture(rows, weights, label, 2), rows, weights, label).limit
        for rows, weights in ((X, ones), (X * unit + shift, ones), (X, 3 * ones))
    ]
    assert_allclose(limits[1], limits[0], rtol=1e-6)
    assert_allclose(limits[2], limits[0], rtol=1e-6)


def test_rows_at_equal_distances_are_no_outliers_in_any_units(rng, monkeypatch):
    monkeypatch.setattr(module, "MOST_OWN", 0)
    label = np.repeat([0, 1], [400, 8])
    pair = 15 + 9.0 * np.array([[-1, 1, 1], [1, -1, -1]])  # far from their mean by the shared covariance
    X = np.concatenate([rng.normal(size=(400, 3)), np.repeat(pair, 4, axis=0)])
    mixture = with_limit(fitted(X, label), X, np.ones(408), label)
    assert mixture.limit[1] < 1.00001 * mixture.distance(X[-8:], np.ones(8, dtype=np.int64)).min()
    for scale in rng.uniform(0.1, 10, (20, 3)):
        assert (mixture.unscaled(X[0], scale).labels(X * scale + X[0], label) >= 0).all()


def test_component_of_one_row_keeps_it_and_takes_rows_near_it(rng):
    X = np.concatenate([rng.normal(size=(200, 2)), [[60.0, 60.0]]])
    label = np.repeat([0, 1], [200, 1])
    mixture = with_limit(fitted(X, label), X, np.ones(201), label)
    near, far = [[60.1, 59.9]], [[200.0, -50.0]]
    assert_array_equal(mixture.labels(np.concatenate([X[-1:], near, far]), np.array([1, 1, 1])), [1, 1, -1])


def test_there_is_no_limit_if_a_cluster_would_lose_all_its_rows(rng):
    label = np.repeat([0, 1], [200, 5])
    X = rng.normal(size=(205, 2)) + 1000.0 * label[:, np.newaxis]
    mixture = fitted(X, label)
    near = replace(mixture, mean=np.repeat(mixture.mean[:1], 2, axis=0), decides=False)
    assert near.limit is with_limit(near, X, np.ones(205), label).limit is None


@pytest.mark.parametrize("value", [1e149, -1e149])
def test_rows_without_a_density_are_outliers(rng, value):
    X, _, label = wide_beside_narrow(rng, 100)
    mixture = with_limit(fitted(X * 1e-20, label), X * 1e-20, np.ones(len(X)), label)
    assert_array_equal(mixture.labels(np.full((2, 2), value), np.array([1, 0])), -1)


@pytest.fixture(scope="module")
def iris_tree():
    return NCutH(3).fit(load_iris().data).tree_


def test_tree_predicts_by_its_mixture(iris_tree):
    X = load_iris().data
    assert iris_tree.has_soft_labels
    assert_array_equal(iris_tree.predict(X), iris_tree.membership(X).argmax(axis=1))
    assert (iris_tree.predict(X) != iris_tree.label[iris_tree.apply(X)]).any()
    assert_array_equal(iris_tree.predict(sparse.csr_array(X)), iris_tree.predict(X))


def test_memberships_far_away_add_up_to_one(rng):
    X, _ = make_blobs(60, n_features=30, centers=3, cluster_std=4.0, random_state=0)
    model = PDDP(n_clusters=3, criterion="mean", assign_labels="mixture").fit(X)
    assert np.isinf(model.tree_.mixture.freedom)
    rows = rng.choice([-1e150, 1e150], size=(20, 30))
    share = model.predict_proba(rows)
    assert_allclose(share.sum(axis=1), 1.0)
    assert (share.argmax(axis=1) == model.predict(rows)).all()


def test_coarser_tree_adds_memberships(iris_tree):
    X = load_iris().data
    coarser = iris_tree.cut_to(2)
    fine = iris_tree.membership(X)
    assert_allclose(coarser.membership(X), np.c_[fine[:, 0], fine[:, 1] + fine[:, 2]])
    assert_array_equal(coarser.predict(X), np.minimum(iris_tree.predict(X), 1))
    assert_array_equal(iris_tree.cut_to(1).predict(X), np.zeros(150))
    assert_allclose(coarser.mixture.cluster_moments()[0].sum(), 1)


def test_moments_of_a_merged_cluster_are_those_of_its_rows(rng):
    label = rng.integers(0, 3, 6000)
    X = rng.normal(size=(6000, 2)) + 30.0 * label[:, np.newaxis]
    merged = fitted(X, label).merged(np.array([0, 1, 1]))
    weight, mean, covariance = merged.cluster_moments()
    right = X[label > 0]
    assert_allclose(weight, [np.mean(label == 0), np.mean(label > 0)])
    assert_allclose(mean[1], right.mean(axis=0), rtol=1e-3)
    assert_allclose(covariance[1], np.cov(right.T), rtol=0.02)


def test_dictionary_keeps_the_mixture(iris_tree):
    back = HyperplaneTree.from_dict(iris_tree.to_dict())
    assert back == iris_tree
    assert back.mixture == iris_tree.mixture
    assert iris_tree != NCutH(3, assign_labels="tree").fit(load_iris().data).tree_


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("weight", lambda a: -a, "weight"),
        ("factor", lambda a: a.transpose(0, 2, 1).copy(), "above its diagonal"),
        ("factor", lambda a: -a, "diagonal"),
        ("factor", lambda a: a[:2], "2 matrices for 3 components"),
        ("cluster", lambda a: np.array([0, 0, 1]), "each of the 3 clusters"),
    ],
)
def test_bad_fields_are_named(iris_tree, name, change, message):
    record = iris_tree.to_dict()
    record["mixture"] = {**record["mixture"], name: change(record["mixture"][name])}
    with pytest.raises(ValueError, match=message):
        HyperplaneTree.from_dict(record)


def test_limits_are_checked_and_may_be_missing(iris_tree):
    record = iris_tree.to_dict()
    limit = np.array([3.0, 4, 5])
    limited = HyperplaneTree.from_dict({**record, "mixture": {**record["mixture"], "limit": limit}})
    assert_array_equal(limited.mixture.limit, limit)
    assert limited != iris_tree
    assert HyperplaneTree.from_dict(limited.to_dict()) == limited
    assert "limit" not in record["mixture"]  # files of trees without outliers are as they were before
    for bad in (-limit, limit[:2], limit * np.nan):
        with pytest.raises(ValueError, match="limit"):
            HyperplaneTree.from_dict({**record, "mixture": {**record["mixture"], "limit": bad}})


def test_mixture_of_another_number_of_clusters_is_refused(iris_tree):
    from ravine.tree._derived import with_mixture

    with pytest.raises(ValueError, match="the mixture has 3 clusters, but the tree has 2"):
        with_mixture(iris_tree.cut_to(2), iris_tree.mixture)


def test_tree_without_a_mixture_says_what_to_do():
    tree = NCutH(3, assign_labels="tree").fit(load_wine().data).tree_
    for method in (tree.membership, tree.log_density):
        with pytest.raises(ValueError, match="assign_labels='mixture'"):
            method(load_wine().data)


def test_arrays_are_read_only(iris_tree):
    assert isinstance(iris_tree.mixture, Mixture)
    with pytest.raises(ValueError, match="read-only"):
        iris_tree.mixture.mean[0] = 1.0


def with_flags(rng, X, n_flags=3):
    return np.column_stack([X, 0.3 * (rng.random((len(X), n_flags)) < 0.3)])


def test_columns_of_two_values_that_no_cut_uses_have_no_part_in_the_mixture(rng):
    X, label = make_blobs(600, centers=[[0, 0], [5, 0]], random_state=0)
    both = with_flags(rng, X)
    used = np.array([0.7, 0.3, 0.0, 0.0, 0.0])
    plain = fit_mixture(X, np.ones(600), label, 2, always_decides=True)
    mixture = fit_mixture(both, np.ones(600), label, 2, always_decides=True, used=used)
    assert_array_equal(mixture.described, [0, 1])
    assert_array_equal(mixture.predict(both, label), plain.predict(X, label))
    assert_allclose(mixture.memberships(both, label), plain.memberships(X, label))
    assert_allclose(mixture.log_density(both), plain.log_density(X))
    assert_allclose(mixture.covariance[:, :2, :2], plain.covariance)
    assert_allclose(mixture.covariance[0, 2:, 2:], np.diag(both[:, 2:].var(axis=0)))
    assert_allclose(mixture.mean[:, 2:], [both[label == k, 2:].mean(axis=0) for k in range(2)])
    scaled = mixture.unscaled(np.arange(5.0), np.full(5, 2.0))
    assert_allclose(scaled.covariance, 4 * mixture.covariance)


def test_columns_of_two_values_that_the_cuts_use_are_described(rng):
    X, label = make_blobs(600, centers=[[0, 0], [5, 0]], random_state=0)
    both = with_flags(rng, X)
    for used in (None, np.full(5, 0.2), np.zeros(5)):
        assert fit_mixture(both, np.ones(600), label, 2, used=used).beside is None


def test_a_yes_or_no_column_does_not_move_the_labels(rng):
    X, _ = make_blobs(900, centers=[[0, 0, 0], [6, 0, 0], [0, 6, 3]], random_state=0)
    both = ScaledRows.of(with_flags(rng, X, 30))
    alone, beside = (IncrementalMDH(3).fit(ScaledRows.of(rows)) for rows in (X, both))
    assert adjusted_rand_score(alone.labels_, beside.labels_) > 0.98
    assert_array_equal(beside.predict(both), beside.labels_)
    assert beside.cluster_centers_.shape == (3, 33)


def test_columns_in_which_the_clusters_do_not_differ_have_one_distribution(rng):
    label = np.repeat([0, 1, 2], 400)
    X = np.column_stack([6.0 * label + rng.normal(size=1200), rng.normal(size=(1200, 30)), rng.exponential(size=1200)])
    X[:, 5] *= np.where(label == 1, 3.0, 1.0)  # the same mean and another variance
    differs = differing_columns(X, np.ones(1200), label, 3)
    assert np.flatnonzero(differs).tolist() == [0, 5]
    mixture = fit_mixture(X, np.ones(1200), label, 3)
    common = np.flatnonzero(~differs)
    assert (mixture.mean[:, common] == mixture.mean[0, common]).all()
    assert (mixture.factor[:, common] == mixture.factor[0, common]).all()
    assert not mixture.factor[:, :, common][:, [0, 5]].any()
    assert_allclose(mixture.mean[0, common], X[:, common].mean(axis=0), rtol=1e-9)
    covariance = np.cov(X[:, common].T, bias=True)
    assert_allclose(np.diag(mixture.covariance[0])[common], np.diag(covariance), rtol=0.01)


def test_noise_columns_hardly_move_the_labels(rng):
    label = np.repeat([0, 1], 500)
    X = np.column_stack([4.0 * label + rng.normal(size=1000), rng.normal(size=(1000, 60))])
    by_cut = (X[:, 0] > 2).astype(np.int64)
    mixture = fit_mixture(X, np.ones(1000), by_cut, 2, always_decides=True)
    assert (mixture.predict(X, by_cut) != by_cut).mean() < 0.005


def test_far_rows_are_outliers_in_columns_in_which_the_clusters_do_not_differ(rng):
    label = np.repeat([0, 1], 500)
    X = np.column_stack([8.0 * label + rng.normal(size=1000), rng.normal(size=1000)])
    X[3, 1] = 60.0
    mixture = with_limit(fit_mixture(X, np.ones(1000), label, 2), X, np.ones(1000), label)
    assert np.flatnonzero(mixture.labels(X, label) == -1).tolist() == [3]


def test_a_file_whose_factor_describes_a_column_beside_is_refused(rng):
    X, label = make_blobs(600, centers=[[0, 0], [5, 0]], random_state=0)
    used = np.array([0.7, 0.3, 0.0, 0.0, 0.0])
    record = packed(fit_mixture(with_flags(rng, X), np.ones(600), label, 2, used=used))
    assert unpacked(MIXTURE.checked(record, {"n_nodes": 3, "n_features": 5})).beside is not None
    factor = record["factor"].copy()
    factor[0, 3, 0] = 1.0
    with pytest.raises(ValueError, match="no component describes"):
        MIXTURE.checked({**record, "factor": factor}, {"n_nodes": 3, "n_features": 5})
