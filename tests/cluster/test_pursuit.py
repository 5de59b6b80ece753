"""What MDH and NCutH promise beyond the common contract."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from ravine import MDH, PDDP, IncrementalMDH, NCutH
from ravine.datasets import make_blobs

METHODS = [NCutH, MDH]
each = pytest.mark.parametrize("method", METHODS)


def hidden_clusters(rng, n=600):
    """Two clusters along a direction of little variance: the first principal components do not show them."""
    X = rng.normal(size=(n, 5)) * [6, 5, 1, 1, 1]
    y = np.repeat([0, 1], n // 2)
    X[:, 3] += 9 * y
    return X, y


def test_a_direction_is_found_that_the_principal_component_hides(rng):
    X, y = hidden_clusters(rng)
    assert adjusted_rand_score(y, MDH(2, init=3).fit(X).labels_) > 0.98
    assert adjusted_rand_score(y, NCutH(2, init=3).fit(X).labels_) > 0.98
    assert adjusted_rand_score(y, PDDP(2, criterion="mean").fit(X).labels_) < 0.1


@each
def test_number_of_clusters_comes_by_itself(method, rng):
    centers = rng.uniform(-40, 40, size=(7, 6))
    X, y = make_blobs(1000, centers=centers, random_state=0)
    model = method().fit(X)
    assert model.n_clusters_ == 7
    assert adjusted_rand_score(y, model.labels_) > 0.99


@each
def test_structureless_rows_are_one_cluster(method, rng):
    alarms = sum(method().fit(rng.normal(size=(150, 5))).n_clusters_ > 1 for _ in range(8))
    assert alarms <= 1


@pytest.mark.parametrize(
    ("model", "least"), [(NCutH(10), 0.5), (MDH(10), 0.45), (NCutH(10, margin=True), 0.5)], ids=repr
)
def test_digits_told_k(model, least):
    digits = load_digits()
    assert adjusted_rand_score(digits.target, model.fit(digits.data).labels_) > least


@each
def test_editing_gives_fitted_models_and_leaves_the_old_one(method):
    X = load_iris().data
    model = method(4).fit(X)
    before = model.labels_.copy()
    coarse = model.cut_to(2)
    assert coarse.n_clusters_ == 2
    assert_array_equal(coarse.predict(X), coarse.labels_)
    pruned = model.prune(0)
    assert_array_equal(pruned.labels_, np.zeros(150))
    leaf = int(model.tree_.leaves[0])
    finer = coarse.split(int(coarse.tree_.leaves[1]), X)
    assert finer.n_clusters_ == 3
    assert_array_equal(finer.predict(X), finer.labels_)
    assert_array_equal(model.labels_, before)
    with pytest.raises(ValueError, match=f"no cut was found for node {leaf}, which 0 rows"):
        model.split(leaf, np.full((5, 4), X[model.labels_ == 3].mean(axis=0)))


def test_splitting_again_gives_back_the_tree_told_k():
    X = load_wine().data
    model = NCutH(3).fit(X)
    coarse = model.cut_to(2)
    cut = model.tree_.cuts[model.tree_.rank[model.tree_.cuts] == 2][0]
    assert_array_equal(coarse.split(int(cut), X).labels_, model.labels_)


@each
def test_directions_are_orthonormal_and_start_with_the_first_cut(method):
    X = load_iris().data
    directions = method().directions(X, 3)
    assert_allclose(directions @ directions.T, np.eye(3), atol=1e-9)
    first = method(2).fit(X).tree_.normal[0]
    assert abs(directions[0] @ first) == pytest.approx(1)
    assert len(method().directions(np.c_[X[:, 0], np.zeros(150)], 2)) == 1


def test_several_starts_never_give_a_larger_ncut(rng):
    X = rng.normal(size=(300, 4)) * [3, 2, 2, 1]
    X[:150, 1] += 5
    one, three = (NCutH(2, init=init).fit(X).tree_.value[0] for init in ("pca", 3))
    assert three <= one + 1e-12


def test_scale_and_bandwidth_may_be_callables(rng):
    X = load_iris().data
    by_number, by_callable = (
        NCutH(3, bandwidth_factor=50.0),
        NCutH(3, bandwidth_factor=lambda deviation, n: 50 * deviation * n**-0.2),
    )
    assert_array_equal(by_number.fit(X).labels_, by_callable.fit(X).labels_)
    by_number, by_callable = (
        MDH(3, bandwidth_factor=0.8),
        MDH(3, bandwidth_factor=lambda deviation, n: 0.8 * deviation * n**-0.2),
    )
    assert adjusted_rand_score(by_number.fit(X).labels_, by_callable.fit(X).labels_) > 0.99


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MDH(2, alphas=()), "alphas=.* one or more non-negative numbers"),
        (MDH(2, alphas=(-1.0,)), "alphas=.* non-negative"),
        (MDH(2, bandwidth_factor=0), "The 'bandwidth_factor' parameter of MDH must be"),
        (NCutH(2, bandwidth_factor=-1), "The 'bandwidth_factor' parameter of NCutH must be"),
        (NCutH(2, init=0), "The 'init' parameter of NCutH must be"),
        (NCutH(2, init=[[1.0, 2.0]]), "init gives directions of shape"),
        (NCutH(2, split_order="none"), "The 'split_order' parameter of NCutH must be"),
    ],
)
def test_bad_parameters_are_named(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(load_iris().data)


@each
def test_margin_keeps_a_fifth_on_either_side_or_a_valley(method):
    X = load_iris().data
    model = method(2, margin=True).fit(X)
    assert np.bincount(model.labels_).min() >= 30


@each
def test_equal_rows_cannot_be_cut(method):
    with pytest.warns(ConvergenceWarning, match="found 1 of the 2 requested clusters"):
        method(2).fit(np.ones((20, 3)))


@each
def test_unit_of_the_data_does_not_matter(method):
    X = load_wine().data
    labels = method(6).fit(X).labels_
    for factor in (2.0**20, 2.0**-20, 2.0**200):
        assert_array_equal(method(6).fit(factor * X).labels_, labels)


def test_a_bound_beyond_all_rows_keeps_the_cut_of_the_bound_before(rng):
    X = np.vstack([rng.normal(0, 2, (970, 2)), rng.normal([8, 0], 0.4, (30, 2))])
    far = MDH(2, alphas=(0, 0.9, 5)).fit(X)
    assert_array_equal(np.sort(np.bincount(far.labels_)), np.sort(np.bincount(MDH(2).fit(X).labels_)))


@pytest.mark.parametrize("model", [NCutH(3), MDH(3), IncrementalMDH(3)], ids=repr)
def test_membership_is_largest_for_the_label_and_density_smallest_far_away(model):
    X = load_iris().data
    model = clone(model).fit(X)
    probability = model.predict_proba(X)
    assert_allclose(probability.sum(axis=1), 1)
    assert_array_equal(probability.argmax(axis=1), model.labels_)
    assert model.score_samples(X + 100).max() < model.score_samples(X).min()
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())
    assert (model.cluster_centers_.shape, model.covariances_.shape) == ((3, 4), (3, 4, 4))


def test_labels_of_the_tree_are_one_parameter_away():
    X = load_iris().data
    soft, hard = NCutH(3).fit(X), NCutH(3, assign_labels="tree").fit(X)
    assert_array_equal(hard.labels_, hard.tree_.label[hard.tree_.apply(X)])
    assert_array_equal(hard.tree_.normal, soft.tree_.normal)
    assert (soft.labels_ != hard.labels_).any()
    for method in ("predict_proba", "score_samples", "score"):
        assert hasattr(soft, method)
        assert not hasattr(hard, method)
        assert not hasattr(NCutH(3).fit(sparse.csr_array(X)), method)
        assert hasattr(NCutH(3), method) == (method == "score")  # a search asks for it before a fit
        assert not hasattr(NCutH(3, assign_labels="tree"), method)
    with pytest.raises(AttributeError, match="no covariances"):
        _ = hard.covariances_


def test_a_split_model_has_a_mixture_of_all_its_clusters():
    X = load_iris().data
    model = NCutH(2).fit(X)
    finer = model.split(2, X)
    assert finer.predict_proba(X).shape == (150, 3)
    assert_array_equal(finer.predict(X), finer.labels_)


def test_clustered_rows_without_a_confirmed_cut_use_the_elbow():
    wine = load_wine().data / load_wine().data.std(axis=0)
    with pytest.warns(UserWarning, match="confirmed no single cut"):
        model = NCutH().fit(wine)
    assert (model.selection_, model.confirmed_) == ("elbow", 0)
    assert model.n_clusters_ > 1
    assert clone(model).set_params(selection="evidence").fit(wine).n_clusters_ == 1
