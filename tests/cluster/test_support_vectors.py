"""SupportVectorClustering: what a user asks of it, beside the contract that all estimators share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.callback import ProgressBar
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from ravine import SupportVectorClustering, load, save
from ravine.cluster import _support_stream, _support_vectors
from ravine.datasets import make_blobs, make_moons, make_rings


@pytest.fixture(scope="module")
def moons():
    return make_moons(400, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def fitted(moons):
    return SupportVectorClustering().fit(moons[0])


@pytest.fixture
def small_sample(monkeypatch):
    for module in (_support_stream, _support_vectors):
        monkeypatch.setattr(module, "SAMPLE", 200)


def same_partition(a, b):
    return adjusted_rand_score(a, b) == 1.0


@pytest.mark.parametrize("options", [{"budget": 100}, {"solver": "exact"}, {"budget": None}])
def test_shapes_are_found_without_a_number(options, moons):
    model = SupportVectorClustering(**options)
    assert same_partition(model.fit_predict(moons[0]), moons[1])
    X, y = make_circles(500, noise=0.05, factor=0.5, random_state=0)
    assert same_partition(model.fit_predict(X), y)
    X, y = make_blobs(300, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], random_state=2)
    assert adjusted_rand_score(model.fit_predict(X), y) > 0.98


@pytest.mark.parametrize("options", [{"budget": 200}, {"solver": "exact"}])
def test_rings_around_a_blob_are_found(options):
    X, y = make_rings(1000, noise=0.1, sizes="length", random_state=1)
    assert same_partition(SupportVectorClustering(**options).fit_predict(X), y)


@pytest.mark.parametrize(("maintenance", "budget"), [("nearest", 60), ("random", 150)])
def test_a_budget_smaller_than_the_sample_is_kept(maintenance, budget, moons):
    model = SupportVectorClustering(budget=budget, maintenance=maintenance).fit(moons[0])
    assert len(model.support_vectors_) == len(model.dual_coef_) == budget
    assert (model.dual_coef_ >= 0).all()
    assert same_partition(model.labels_, moons[1])


def test_clusters_may_be_asked_for_by_number(moons):
    X, y = make_blobs(400, centers=[[0, 0], [5, 0], [30, 0], [35, 0]], random_state=0)
    assert same_partition(SupportVectorClustering(n_clusters=2).fit_predict(X), y // 2)
    four = SupportVectorClustering(n_clusters=4).fit(X)
    assert adjusted_rand_score(four.labels_, y) > 0.97
    with pytest.warns(ConvergenceWarning, match="of the 50 requested clusters"):
        assert SupportVectorClustering(n_clusters=50).fit(moons[0]).n_clusters_ < 50


def test_other_numbers_come_from_the_same_surface(fitted, moons):
    one = fitted.cut_to(1)
    assert_array_equal(one.labels_, 0)
    assert fitted.n_clusters_ == 2
    two = one.cut_to(2)
    assert_array_equal(two.labels_, fitted.labels_)
    assert_array_equal(two.predict(moons[0]), fitted.labels_)
    for n_clusters in (0, 40):
        with pytest.raises(ValueError, match="no level of this surface has more than"):
            fitted.cut_to(n_clusters)


def test_fewer_clusters_are_joined_over_the_highest_valley():
    X, y = make_blobs(400, centers=[[0, 0], [6, 0], [30, 0], [45, 0]], random_state=0)
    model = SupportVectorClustering(n_clusters=4).fit(X)
    assert same_partition(model.cut_to(3).labels_, np.maximum(y - 1, 0))
    assert same_partition(model.cut_to(2).labels_, y // 2)


def test_data_without_clusters_are_one(rng):
    model = SupportVectorClustering().fit(rng.normal(size=(500, 8)))
    assert model.n_clusters_ == 1
    assert model.strength_ == 0.0
    assert model.confirmed_ is False


@pytest.mark.parametrize("kind", ["exponential", "lognormal", "standard_cauchy"])
def test_skewed_and_heavy_tails_are_one_cluster_although_narrow_kernels_have_modes(rng, kind):
    X = getattr(rng, kind)(size=(150, 2))
    model = SupportVectorClustering().fit(X)
    assert (model.n_clusters_, model.confirmed_) == (1, False)
    assert SupportVectorClustering(n_clusters=2).fit(X).n_clusters_ == 2


def test_clusters_are_tested_only_if_everything_is_chosen_automatically(fitted, moons):
    X, _ = moons
    assert fitted.confirmed_ is True
    for options in ({"n_clusters": 2}, {"gamma": fitted.gamma_}, {"assignment": "segments"}):
        assert SupportVectorClustering(**options).fit(X).confirmed_ is None
    assert fitted.cut_to(2).confirmed_ is None
    assert SupportVectorClustering().partial_fit(X).confirmed_ is True
    long = np.concatenate([X] * (2000 // len(X) + 1))
    assert SupportVectorClustering().partial_fit(long).confirmed_ is None


def test_new_rows_go_to_the_cluster_around_them(fitted):
    X, y = make_moons(300, noise=0.05, random_state=9)
    assert adjusted_rand_score(fitted.predict(X), y) > 0.97


def test_the_function_is_that_of_its_vectors(fitted, moons):
    distance = np.linalg.norm(moons[0][:, None] - fitted.support_vectors_, axis=2)
    w = np.exp(-fitted.gamma_ * distance**2) @ fitted.dual_coef_
    assert_allclose(fitted.decision_function(moons[0]) + fitted.offset_, w, rtol=1e-9)
    assert fitted.level_ >= fitted.offset_


def test_exact_solution_is_no_worse_than_steps(moons):
    exact = SupportVectorClustering(solver="exact", tol=1e-6).fit(moons[0])
    assert exact.gap_ <= 1e-6
    steps = SupportVectorClustering(gamma=exact.gamma_, C=exact.C_, budget=None, max_iter=20, tol=0.0).fit(moons[0])
    assert np.isnan(steps.gap_)
    assert exact.objective_ <= steps.objective_ * (1 + 1e-6)
    assert steps.objective_ <= exact.objective_ * 1.01


def test_equilibria_are_summits(fitted):
    top, gamma = fitted.equilibria_, fitted.gamma_
    step = 1e-4 / np.sqrt(gamma)
    here = fitted.decision_function(top)
    assert (np.diff(here) <= 1e-12).all()
    for direction in np.eye(2):
        ahead, behind = (fitted.decision_function(top + sign * step * direction) for sign in (1, -1))
        assert (np.abs(ahead - behind) < 1e-3 * (here + fitted.offset_) * step * np.sqrt(gamma)).all()


def test_outliers_are_few_and_lie_outside(moons):
    far = np.array([[4.0, 4.0], [-4.0, 0.0], [0.0, -3.0]])
    X = np.r_[moons[0], far]
    model = SupportVectorClustering().fit(X)
    assert model.outlier_[-3:].all()
    assert_array_equal(model.outlier_, model.decision_function(X) < 0)
    assert model.outlier_.mean() <= model.contamination
    assert (model.labels_ >= 0).all()
    labeled = SupportVectorClustering(outliers="label").fit(X)
    assert_array_equal(labeled.labels_, np.where(model.outlier_, -1, model.labels_))
    assert_array_equal(labeled.predict(X), labeled.labels_)
    assert_array_equal(labeled.cut_to(1).labels_, np.where(model.outlier_, -1, 0))


def test_contamination_bounds_the_share_of_outliers(moons):
    shares = [SupportVectorClustering(contamination=c).fit(moons[0]).outlier_.mean() for c in (0.0, 0.1, 0.3)]
    assert shares[0] == 0.0
    assert_allclose(shares[1:], [0.1, 0.3], atol=0.01)


def test_a_hard_margin_leaves_no_row_outside(moons):
    model = SupportVectorClustering(gamma=10.0, C=1e4, solver="exact", tol=1e-8, max_iter=20_000).fit(moons[0])
    assert model.decision_function(moons[0]).min() + model.offset_ >= 1 - 1e-6
    assert model.offset_ == pytest.approx(1.0)


def test_a_weight_of_rows_too_small_is_told(moons):
    with pytest.warns(ConvergenceWarning, match="with C=0.01 no row is inside") as warned:
        model = SupportVectorClustering(C=0.01).fit(moons[0])
    assert warned[0].filename == __file__
    assert same_partition(model.labels_, moons[1])


def test_a_budget_too_small_is_told(moons):
    with pytest.warns(ConvergenceWarning, match="raise budget=3 or lower tol"):
        SupportVectorClustering(budget=3).fit(moons[0])


def test_a_gap_too_large_is_told(moons):
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        SupportVectorClustering(solver="exact", C=100.0, max_iter=1, tol=1e-9).fit(moons[0])


@pytest.mark.parametrize(("gamma", "n_clusters"), [(1e-9, 1), (1e12, 1)])
def test_widths_without_modes_have_one_cluster(gamma, n_clusters, moons):
    model = SupportVectorClustering(gamma=gamma).fit(moons[0])
    assert model.n_clusters_ == n_clusters
    assert model.strength_ == 0.0


def test_rows_may_all_be_alone(moons):
    model = SupportVectorClustering(gamma=1e12, min_cluster_size=1).fit(moons[0])
    assert model.n_clusters_ >= 0.9 * len(moons[0])


def test_equal_rows_and_one_row_are_one_cluster():
    for X in (np.ones((100_000, 2)), [[3.0, 4.0]]):
        for options in ({}, {"solver": "exact"}, {"assignment": "segments"}, {"gamma": 0.5, "C": 2.0}):
            model = SupportVectorClustering(**options).fit(X)
            assert_array_equal(model.labels_, 0)
            assert_array_equal(model.support_vectors_, np.array(X)[:1])
            assert_array_equal(model.equilibria_, np.array(X)[:1])


def test_copies_and_a_constant_column_change_nothing():
    X = make_blobs(200, centers=[[0, 0], [7, 0], [0, 7]], random_state=0)[0]
    labels = SupportVectorClustering().fit(X).labels_
    wider = SupportVectorClustering().fit(np.c_[X, np.full(200, 7.0)])
    assert adjusted_rand_score(wider.labels_, labels) > 0.95
    twice = SupportVectorClustering(min_cluster_size=10).fit(np.r_[X, X])
    assert_array_equal(twice.labels_[:200], twice.labels_[200:])
    once = SupportVectorClustering(min_cluster_size=5).fit(X)
    assert_array_equal(twice.labels_[:200], once.labels_)
    assert_allclose(twice.decision_function(X), once.decision_function(X), rtol=1e-9)


def test_two_far_rows_do_not_hide_the_clusters(moons):
    labels = SupportVectorClustering().fit_predict(np.r_[moons[0], [[1e6, 0.0], [0.0, -1e9]]])
    assert same_partition(labels[:-2], moons[1])


def test_clusters_of_many_rows_are_those_of_a_sample(small_sample):
    X, y = make_blobs(3000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    model = SupportVectorClustering().fit(X)
    assert same_partition(model.labels_, y)
    assert_array_equal(model.predict(X), model.labels_)
    assert model.outlier_.mean() == pytest.approx(model.contamination, abs=0.02)


def test_the_smallest_cluster_can_be_set():
    X, y = make_blobs([300, 300, 60], centers=[[0, 0], [12, 0], [0, 12]], random_state=0)
    assert same_partition(SupportVectorClustering(min_cluster_size=8).fit_predict(X), y)
    assert np.bincount(SupportVectorClustering(min_cluster_size=100).fit_predict(X)).tolist() == [360, 300]


def test_assignment_of_the_paper(moons):
    X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    model = SupportVectorClustering(assignment="segments", gamma=0.5, C=32.0).fit(X)
    assert same_partition(model.labels_, y)
    assert_array_equal(model.predict(X), model.labels_)
    assert model.level_ == 1.0
    with pytest.raises(ValueError, match="assignment='segments' gives one fixed result"):
        model.cut_to(2)


def test_the_result_does_not_depend_on_the_batches(small_sample):
    X, y = make_moons(1000, noise=0.05, random_state=1)
    streams = []
    for size in (1000, 130, 7):
        model = SupportVectorClustering(budget=100)
        for start in range(0, 1000, size):
            model.partial_fit(X[start : start + size])
        streams.append(model)
    whole = streams[0]
    assert same_partition(whole.predict(X), y)
    assert_array_equal(whole.labels_, whole.predict(X))
    for model in streams[1:]:
        assert_array_equal(model.support_vectors_, whole.support_vectors_)
        assert_array_equal(model.dual_coef_, whole.dual_coef_)
        assert_array_equal(model.predict(X), whole.predict(X))


def test_few_rows_of_a_stream_are_learned_as_by_fit(small_sample, moons):
    X = moons[0][:150]
    stream = SupportVectorClustering().partial_fit(X[:100]).partial_fit(X[100:])
    assert same_partition(stream.predict(X), SupportVectorClustering().fit(X).labels_)


def test_learning_goes_on_after_fit(small_sample):
    X, y = make_blobs(900, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    model = SupportVectorClustering(budget=100).fit(X[y < 2])
    assert model.n_clusters_ == 2
    gamma = model.gamma_
    model.partial_fit(X[y == 2]).partial_fit(X)
    assert model.gamma_ == gamma
    assert adjusted_rand_score(model.predict(X), y) > 0.99


def test_stream_goes_on_after_saving(small_sample, tmp_path):
    X, _ = make_moons(700, noise=0.05, random_state=1)
    whole = SupportVectorClustering(budget=150).partial_fit(X)
    for n_first in (90, 400):  # before and after the stream has begun
        save(SupportVectorClustering(budget=150).partial_fit(X[:n_first]), tmp_path / "model")
        model = load(tmp_path / "model").partial_fit(X[n_first:])
        assert_array_equal(model.dual_coef_, whole.dual_coef_)
        assert_array_equal(model.predict(X), whole.predict(X))
    save(whole, tmp_path / "model", resume=False)
    model = load(tmp_path / "model")
    assert_array_equal(model.predict(X), whole.predict(X))
    with pytest.raises(ValueError, match="cannot learn further"):
        model.partial_fit(X)
    with pytest.raises(ValueError, match="saved without its sample"):
        model.cut_to(1)


def test_exact_solver_does_not_learn_online(moons):
    with pytest.raises(AttributeError, match="partial_fit"):
        SupportVectorClustering(solver="exact").partial_fit(moons[0])


def test_exact_solver_refuses_more_rows_than_it_can_hold(monkeypatch, moons):
    from ravine._svc import _learn

    monkeypatch.setattr(_learn, "MAX_BYTES", 8 * 300**2)
    with pytest.raises(ValueError, match="all of 400 distinct rows"):
        SupportVectorClustering(solver="exact").fit(moons[0])


def test_a_callback_can_stop_the_epochs(moons):
    class Stop(ProgressBar):
        def on_fit_task_end(self, *args, **kwargs):
            return True

    model = SupportVectorClustering(tol=0.0, max_iter=50).set_callbacks(Stop()).fit(moons[0])
    assert model.n_iter_ == 3  # it is asked after 1,000 steps


def test_attributes_before_fit_say_what_to_do():
    with pytest.raises(AttributeError, match="is not fitted yet: call fit or partial_fit"):
        SupportVectorClustering().gamma_  # noqa: B018


@pytest.mark.parametrize("assignment", ["modes", "segments"])
def test_cluster_of_a_row_is_that_of_the_nearest_row_of_the_sample(assignment, moons):
    X, _ = moons
    model = SupportVectorClustering(gamma=8.0, C=20.0, assignment=assignment).fit(X)
    rows = X + 0.01
    nearest = np.linalg.norm(rows[:, None] - model.sample_, axis=2).argmin(axis=1)
    assert_array_equal(model.predict(rows), model.sample_labels_[nearest])
    assert_array_equal(np.unique(model.sample_labels_), np.arange(model.n_clusters_))
