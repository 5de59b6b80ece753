"""SumOfNorms: what a user asks of it, beside the contract that all estimators share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import dendrogram, fcluster, is_valid_linkage
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import KFold
from tests.callbacks import TaskCallback

from ravine import SumOfNorms, plot
from ravine._convex import least_size
from ravine.datasets import make_blobs, make_two_gaussians

UNIFORM = {"weights": "uniform"}


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.06, random_state=3)


@pytest.fixture(scope="module")
def fitted(moons):
    return SumOfNorms().fit(moons[0])


@pytest.fixture(scope="module")
def gaussians():
    return make_two_gaussians(80, variance=0.01, separation=np.sqrt(2), random_state=0)


def same_partition(a, b):
    return adjusted_rand_score(a, b) == 1.0


def test_shapes_are_found_without_a_number(moons, fitted):
    X, y = moons
    assert same_partition(fitted.labels_, y)
    assert fitted.gap_ <= fitted.tol
    assert fitted.partition_stable_
    assert fitted.strength_ > 1
    X, y = make_circles(400, noise=0.04, factor=0.5, random_state=0)
    assert same_partition(SumOfNorms().fit_predict(X), y)


@pytest.mark.parametrize("kind", ["normal", "exponential", "uniform"])
def test_data_without_clusters_are_one_although_the_path_has_groups(rng, kind):
    X = getattr(rng, kind)(size=(150, 2))
    model = SumOfNorms().fit(X)
    assert (model.n_clusters_, model.confirmed_, model.strength_) == (1, False, 0.0)
    assert (model.gap_, model.partition_stable_) == (0.0, True)
    np.testing.assert_allclose(model.centroids_, np.broadcast_to(X.mean(axis=0), X.shape))
    assert_array_equal(model.labels_at(model.lam_), 0)
    assert model.cut_to(2).n_clusters_ == 2


def test_clusters_are_tested_only_if_everything_is_chosen_automatically(moons, fitted, gaussians):
    assert fitted.confirmed_ is True
    for options in ({"n_clusters": 2}, {"lam": fitted.lam_}, {"lam": fitted.lam_, "path": True}, {"threshold": 0.5}):
        assert SumOfNorms(**options).fit(moons[0]).confirmed_ is None
    assert fitted.cut_to(3).confirmed_ is None
    assert SumOfNorms(weights="uniform").fit(gaussians[0]).confirmed_ is True


def test_result_of_the_test_does_not_depend_on_the_order_of_the_rows(rng):
    X = rng.normal(size=(120, 2))
    X[60:, 0] += 4.0
    models = [SumOfNorms().fit(rows) for rows in (X, X[::-1])]
    assert models[0].confirmed_ == models[1].confirmed_
    assert models[0].strength_ == models[1].strength_


def test_sizes_may_differ_widely():
    X, y = make_blobs([600, 60], centers=[[0, 0], [8, 0]], random_state=0)
    assert same_partition(SumOfNorms().fit_predict(X), y)


def test_two_far_outliers_do_not_hide_the_clusters(moons):
    X, y = moons
    labels = SumOfNorms().fit_predict(np.r_[X, [[1e6, 0.0], [0.0, -1e4]]])
    assert same_partition(labels[:-2], y)


def test_new_rows_go_to_the_cluster_around_them(fitted):
    X, y = make_moons(200, noise=0.06, random_state=4)
    assert same_partition(fitted.predict(X), y)


def test_new_rows_are_drawn_to_the_centers_where_all_pairs_are_edges(gaussians):
    model = SumOfNorms(lam=0.008, **UNIFORM).fit(gaussians[0])
    X, y = make_two_gaussians(200, variance=0.01, separation=np.sqrt(2), random_state=1)
    assert model.n_clusters_ == 2
    assert same_partition(model.predict(X), y)


@pytest.mark.parametrize("options", [{}, {"weights": "uniform"}, {"weights": "uniform", "solver": "stochastic"}])
def test_lam_0_leaves_every_row_alone_and_lam_infinity_none(options, gaussians):
    X = gaussians[0]
    alone, all_in_one = (SumOfNorms(lam=lam, **options).fit(X) for lam in (0, np.inf))
    assert alone.n_clusters_ == len(X)
    assert_allclose(alone.centroids_, X)
    assert_array_equal(alone.predict(X), alone.labels_)
    assert all_in_one.n_clusters_ == 1
    assert_allclose(all_in_one.centroids_, np.tile(X.mean(axis=0), (len(X), 1)))
    assert_allclose(all_in_one.objective_, ((X - X.mean(axis=0)) ** 2).sum() / 2)


def objective(X, U, lam):
    a, b = np.triu_indices(len(X), 1)
    return ((X - U) ** 2).sum() / 2 + lam * np.linalg.norm(U[a] - U[b], axis=1).sum()


@pytest.mark.parametrize("solver", ["dual", "stochastic"])
def test_objective_is_that_of_the_paper_in_the_units_of_the_rows(solver, gaussians):
    X = 100 * gaussians[0] + 7
    model = SumOfNorms(lam=0.5, solver=solver, **UNIFORM).fit(X)
    assert_allclose(model.objective_, objective(X, model.centroids_, 0.5), rtol=1e-4)
    nearby = model.centroids_ + np.random.default_rng(0).normal(scale=0.1, size=X.shape)
    assert objective(X, nearby, 0.5) >= model.objective_ * (1 - model.gap_)


def test_solvers_agree_within_their_gaps(gaussians):
    dual, power, adaptive = (
        SumOfNorms(lam=0.006, **UNIFORM, **options).fit(gaussians[0])
        for options in ({}, {"solver": "stochastic"}, {"solver": "stochastic", "step": "adaptive"})
    )
    for stochastic in (power, adaptive):
        assert stochastic.gap_ <= 1e-4
        assert abs(stochastic.objective_ / dual.objective_ - 1) <= stochastic.gap_ + dual.gap_
        assert_allclose(stochastic.centroids_, dual.centroids_, atol=0.05)


def test_stochastic_solver_works_on_a_graph_too(gaussians):
    solvers = ("dual", "stochastic")
    dual, stochastic = (SumOfNorms(lam=0.1, solver=solver, tol=1e-3).fit(gaussians[0]) for solver in solvers)
    assert stochastic.gap_ <= 1e-3
    assert abs(stochastic.objective_ / dual.objective_ - 1) <= stochastic.gap_ + dual.gap_


def test_seed_decides_all_that_is_random(gaussians):
    options = {"solver": "stochastic", "max_iter": 8, "tol": 1e-2, **UNIFORM}
    one, same, other = (SumOfNorms(lam=0.006, random_state=seed, **options).fit(gaussians[0]) for seed in (1, 1, 2))
    assert_array_equal(one.centroids_, same.centroids_)
    assert (one.centroids_ != other.centroids_).any()


def test_a_gap_that_is_not_reached_is_told(gaussians):
    with pytest.warns(ConvergenceWarning, match="duality gap is .*, above tol=0.0001: raise max_iter or tol") as seen:
        model = SumOfNorms(lam=0.01, solver="stochastic", max_iter=1, **UNIFORM).fit(gaussians[0])
    assert model.gap_ > 1e-4
    assert seen[0].filename == __file__


def test_certificate_tells_where_recovery_is_proved(gaussians):
    X, y = make_two_gaussians(40, variance=1e-4, separation=np.sqrt(2), random_state=0)
    lower, upper = SumOfNorms(**UNIFORM).fit(X).certificate_.interval
    for lam in (lower * 1.01, upper * 0.99):
        model = SumOfNorms(lam=lam, **UNIFORM).fit(X)
        assert model.certificate_.holds
        assert same_partition(model.labels_, y)
        assert "proved for" in str(model.certificate_)
    beyond = SumOfNorms(lam=upper * 1.2, **UNIFORM).fit(X).certificate_
    assert not beyond.holds
    assert_allclose(beyond.failing["lam <= upper"], 1.2)
    assert "lam <= upper fails by a factor of 1.2" in str(beyond)
    assert SumOfNorms(lam=1.0).fit(X).certificate_ is None


def test_path_is_a_tree_that_scipy_reads(moons, fitted):
    n_rows = len(moons[0])
    assert fitted.path_.is_complete
    size = np.ones(2 * n_rows - 1)
    for i, (left, right) in enumerate(fitted.children_):
        size[n_rows + i] = size[left] + size[right]
    Z = np.c_[fitted.children_, fitted.merge_lambdas_, size[n_rows:]]
    assert is_valid_linkage(Z)
    assert len(dendrogram(Z, no_plot=True)["leaves"]) == n_rows
    for lam in fitted.path_.lambdas[[5, 60, 120]]:
        assert same_partition(fcluster(Z, lam, "distance"), fitted.labels_at(lam))


def test_labels_along_the_path_only_become_coarser(fitted):
    before = fitted.labels_at(0)
    for lam in fitted.path_.lambdas[::10]:
        labels = fitted.labels_at(lam)
        assert len(np.unique(np.c_[before, labels], axis=0)) == before.max() + 1
        before = labels
    assert fitted.labels_at(np.inf).max() == 0


def test_copies_of_a_row_fuse_at_0():
    X = np.array([[0.0], [1.0], [0.0], [7.0], [1.0], [0.0]])
    model = SumOfNorms(n_clusters=2, min_cluster_size=1).fit(X)
    assert_array_equal(model.merge_lambdas_[:3], 0)
    assert (model.merge_lambdas_[3:] > 0).all()
    assert_array_equal(model.labels_, [0, 0, 0, 1, 0, 0])
    assert_array_equal(model.labels_at(0), [0, 1, 0, 2, 1, 0])
    assert sorted(model.children_.ravel().tolist()) == list(range(10))


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_cut_to_gives_the_model_of_a_fit_with_that_number(k, fitted, moons):
    coarse, asked = fitted.cut_to(k), SumOfNorms(n_clusters=k).fit(moons[0])
    assert coarse.n_clusters_ == k
    assert_array_equal(coarse.labels_, asked.labels_)
    assert_allclose(coarse.cluster_centers_, asked.cluster_centers_)
    assert (coarse.lam_, coarse.gap_) == (asked.lam_, asked.gap_)
    assert_array_equal(coarse.predict(moons[0]), coarse.labels_)
    assert fitted.n_clusters_ == 2


def test_cut_to_refuses_numbers_that_cannot_be(fitted):
    for k in (0, 301):
        with pytest.raises(ValueError, match=f"n_clusters={k} must be between 1 and 300, the number of distinct rows"):
            fitted.cut_to(k)


def test_model_for_one_lam_says_how_to_get_a_path(moons):
    model = SumOfNorms(lam=1.0).fit(moons[0])
    for ask in (lambda: model.labels_at(1.0), lambda: model.cut_to(2), lambda: model.children_):
        with pytest.raises(AttributeError, match="set path=True and fit again"):
            ask()


def test_path_beside_lam_has_the_same_solution(moons):
    alone, with_path = (SumOfNorms(lam=50.0, path=path).fit(moons[0]) for path in (False, True))
    assert_allclose(alone.objective_, with_path.objective_, rtol=2e-4)
    assert with_path.path_.is_complete
    assert np.isnan(alone.strength_)


def test_path_that_a_callback_ends_early_is_not_complete(moons):
    model = SumOfNorms().set_callbacks(TaskCallback("lambda", stop_at=30)).fit(moons[0])
    assert len(model.path_.lambdas) == 30
    assert not model.path_.is_complete
    assert len(model.children_) < len(moons[0]) - 1


def test_small_groups_go_where_they_fuse_later():
    X, y = make_blobs([60, 60], centers=[[0, 0], [9, 0]], random_state=0)
    outliers = [[0.0, 6.0], [9.0, -6.0]]
    model = SumOfNorms().fit(np.r_[X, outliers])
    assert model.n_clusters_ == 2
    assert_array_equal(model.labels_[-2:], [model.labels_[np.flatnonzero(y == k)[0]] for k in (0, 1)])


def test_threshold_cuts_the_centroids_as_the_paper_does(gaussians):
    X, y = gaussians
    model = SumOfNorms(lam=0.006, threshold=0.5, **UNIFORM).fit(X)
    assert same_partition(model.labels_, y)
    for k in range(model.n_clusters_):
        centroids = model.centroids_[model.labels_ == k]
        assert np.linalg.norm(centroids[:, None] - centroids, axis=2).max() <= 0.5
    assert SumOfNorms(lam=0.006, threshold=1e-9, **UNIFORM).fit(X).n_clusters_ > 2


def test_ten_rows_of_many_columns_cost_as_much_as_ten_columns():
    X = np.random.default_rng(0).normal(size=(10, 50_000))
    X[5:] += 5.0
    for options in ({}, UNIFORM):
        model = SumOfNorms(n_clusters=2, min_cluster_size=2, **options).fit(X)
        assert_array_equal(model.labels_, np.repeat([0, 1], 5) ^ model.labels_[0])
        assert_array_equal(model.predict(X), model.labels_)
        assert model.centroids_.shape == X.shape


def test_copies_of_a_column_change_nothing_but_the_unit():
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(size=1500), 8 + rng.normal(size=1500)][:, np.newaxis]
    one, many = SumOfNorms().fit(x), SumOfNorms().fit(np.repeat(x, 100, axis=1))
    assert one.n_clusters_ == 2
    assert_array_equal(one.labels_, many.labels_)
    assert_allclose(many.lam_, 10 * one.lam_, rtol=1e-6)
    assert max(one.gap_, many.gap_) < 1e-7


def test_a_little_noise_in_further_columns_leaves_clusters_along_a_line():
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(size=500), 8 + rng.normal(size=500)]
    X = np.c_[x, 1e-3 * rng.normal(size=(1000, 5))]
    model = SumOfNorms().fit(X)
    assert same_partition(model.labels_, x > 4)
    assert model.path_.is_complete


def test_all_pairs_of_many_rows_are_left_to_the_stochastic_solver(monkeypatch, gaussians):
    monkeypatch.setattr("ravine._convex._solver_choice.DUAL_BYTES", 1000)
    model = SumOfNorms(lam=0.006, **UNIFORM).fit(gaussians[0])
    stochastic = SumOfNorms(lam=0.006, solver="stochastic", **UNIFORM).fit(gaussians[0])
    assert_array_equal(model.centroids_, stochastic.centroids_)
    with pytest.raises(
        ValueError, match=r"a path with all pairs of 80 distinct rows needs .* GB of memory: use weights"
    ):
        SumOfNorms(**UNIFORM).fit(gaussians[0])


@pytest.mark.parametrize("options", [{}, {"lam": 1.0, "path": True}])
def test_stochastic_solver_knows_no_path(options, gaussians):
    with pytest.raises(ValueError, match="solver='stochastic' solves for a single lam: set lam and path=False"):
        SumOfNorms(solver="stochastic", **options).fit(gaussians[0])


def test_more_clusters_than_rows_are_refused(gaussians):
    with pytest.raises(ValueError, match="n_samples=80 is fewer than n_clusters=81"):
        SumOfNorms(n_clusters=81).fit(gaussians[0])


def test_fewer_distinct_rows_than_clusters_are_told():
    with pytest.warns(ConvergenceWarning, match="found 2 of the 3 requested clusters: there are only 2 distinct rows"):
        SumOfNorms(n_clusters=3).fit(np.repeat([[0.0], [1.0]], 5, axis=0))


def test_a_number_that_no_lambda_has_is_told():
    rows, _ = next(KFold(5, shuffle=True, random_state=0).split(load_iris().data))
    with pytest.warns(
        ConvergenceWarning, match="found 5 of the 4 requested clusters: no lambda of the path has this number"
    ):
        assert SumOfNorms(4).fit(load_iris().data[rows]).n_clusters_ == 5


def test_what_needs_a_tree_of_cuts_says_what_draws_the_model(fitted):
    for needs_tree in (plot.tree, plot.elbow):
        with pytest.raises(TypeError, match=r"draws a model with a tree.*plot\.clusterpath or plot\.fusions"):
            needs_tree(fitted)


@pytest.mark.parametrize(
    "options", [{}, {"n_clusters": 3}, UNIFORM, {"lam": 0.1, "solver": "stochastic", **UNIFORM}], ids=str
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_any_size_and_of_many_powers_of_ten_end(options, rng):
    X, _ = make_blobs([20, 20, 20], centers=[[0, 0], [9, 0], [0, 9]], random_state=1)
    for weights in (np.full(60, 1e-100), np.full(60, 1e100), 10.0 ** rng.uniform(-12, 0, 60)):
        model = SumOfNorms(**options).fit(X, sample_weight=weights)
        assert np.isfinite([model.gap_, model.lam_, model.objective_]).all()
        assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_force_that_vanishes_in_large_units_fuses_nothing(rng):
    X = 1e140 * rng.normal(size=(10, 2))
    options = {"solver": "stochastic", **UNIFORM}
    model = SumOfNorms(lam=0.05, **options).fit(X, sample_weight=np.full(10, 1e-100))
    assert model.n_clusters_ == 10


def test_common_factor_of_the_weights_leaves_the_path(moons):
    X, _ = moons
    expected = SumOfNorms().fit(X).path_
    for factor in (2.0**-300, 2.0**300):
        path = SumOfNorms().fit(X, sample_weight=np.full(len(X), factor)).path_
        assert_array_equal(path.children, expected.children)
        assert_allclose(path.merge_lambdas, expected.merge_lambdas, rtol=1e-9)


def test_points_are_the_distinct_rows_in_the_order_of_the_path(rng):
    X = np.repeat(rng.normal(size=(12, 2)), [1, 2] * 6, axis=0)
    weights = np.r_[0.0, np.ones(len(X) - 1)]
    model = SumOfNorms().fit(X, sample_weight=weights)
    assert len(model.points_) == model.path_.n_points == 11
    has_weight = weights > 0
    assert_array_equal(model.points_[model.point_indices_[has_weight]], X[has_weight])
    assert model.point_indices_[0] == -1
    assert_array_equal(model.point_weights_, np.bincount(model.point_indices_[has_weight]))
    lam = float(np.median(model.path_.merge_lambdas))
    of_points = model.path_.labels_at(lam)[model.point_indices_[has_weight]]
    assert same_partition(of_points, model.labels_at(lam)[has_weight])


def test_chosen_size_of_a_cluster_is_readable(moons):
    X, _ = moons
    assert SumOfNorms(n_lambdas=20, min_cluster_size=7).fit(X).min_cluster_size_ == 7.0
    assert SumOfNorms(n_lambdas=20).fit(X).min_cluster_size_ == least_size(len(X))


@pytest.mark.parametrize("name", ["points_", "point_weights_", "point_indices_", "min_cluster_size_"])
def test_attributes_before_fit_are_not_there(name):
    with pytest.raises(NotFittedError):
        getattr(SumOfNorms(), name)
