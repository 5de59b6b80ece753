"""What SpectralPursuit promises beyond the common contract."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, load_wine, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from ravine import NCutH, SpectralPursuit, _blocks
from ravine.cuts import _spectral
from ravine.datasets import make_blobs
from ravine.tree import _tree

KINDS = [
    {},
    {"laplacian": "standard"},
    {"projection": "correlated"},
    {"margin": True},
    {"margin": True, "projection": "correlated", "laplacian": "standard"},
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


def forms(X):
    return {"float32": X.astype(np.float32), "fortran": np.asfortranarray(X), "csr": sparse.csr_array(X)}


@each_kind
@pytest.mark.parametrize("n_microclusters", [40, 200], ids=["microclusters", "exact"])
def test_predict_of_training_rows_equals_labels_in_every_form(kind, n_microclusters):
    X = load_iris().data
    for form in (X, *forms(X).values()):
        model = SpectralPursuit(4, n_microclusters=n_microclusters, **kind).fit(form)
        assert model.n_clusters_ == 4
        assert_array_equal(model.predict(form), model.labels_)
        for one in (0, 77):
            assert model.predict(form[[one]])[0] == model.labels_[one]


@pytest.mark.parametrize("cells", [1, 16, 700])
def test_size_of_the_blocks_does_not_matter_to_prediction(cells, monkeypatch):
    X = load_wine().data
    model = SpectralPursuit(4).fit(X)
    before = model.labels_
    monkeypatch.setattr(_blocks, "BLOCK_CELLS", cells)
    monkeypatch.setattr(_tree, "BLOCK_CELLS", cells)
    assert_array_equal(model.predict(X), before)
    for form in forms(X).values():
        assert np.mean(model.predict(form) == before) > 0.99


@each_kind
def test_threads_do_not_matter(kind):
    X = load_wine().data
    one, two = (SpectralPursuit(5, n_jobs=n_jobs, n_microclusters=60, **kind).fit(X) for n_jobs in (1, 2))
    assert one.tree_ == two.tree_
    assert one.approximation_bound_ == two.approximation_bound_


@pytest.mark.parametrize("make", [make_circles, make_moons])
@pytest.mark.parametrize("laplacian", ["normalized", "standard"])
def test_clusters_that_no_line_parts_are_found_on_a_plane(make, laplacian, rng):
    shape = {"factor": 0.3, "noise": 0.04} if make is make_circles else {"noise": 0.05}
    X, y = make(400, random_state=0, **shape)
    X = np.c_[0.1 * rng.normal(size=(400, 3)), X]
    model = SpectralPursuit(2, bandwidth_factor=0.2, laplacian=laplacian).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.98
    assert adjusted_rand_score(y, NCutH(2, assign_labels="tree").fit(X).labels_) < 0.5
    again, truth = make(100, random_state=1, **shape)
    again = np.c_[0.1 * rng.normal(size=(100, 3)), again]
    assert adjusted_rand_score(truth, model.predict(again)) > 0.95


def test_transform_is_negative_on_the_left():
    X = load_iris().data
    model = SpectralPursuit(4).fit(X)
    path = model.tree_.decision_path(X).toarray().astype(bool)
    heights = model.transform(X)
    for column, node in enumerate(model.tree_.cuts):
        assert model.tree_.surface[node] is not None
        here = path[:, node]
        assert_array_equal(heights[here, column] < 0, path[here, model.tree_.left[node]])
        assert (heights[~here, column] == 0).all()


def test_correlated_directions_become_a_hyperplane():
    model = SpectralPursuit(3, projection="correlated").fit(load_iris().data)
    assert all(surface is None for surface in model.tree_.surface)
    assert "surfaces" not in model.tree_.to_dict()


def test_number_of_directions_may_be_chosen():
    X = load_iris().data
    for n_components, expected in ((2, 2), (3, 3), (9, 4)):
        surface = SpectralPursuit(2, n_components=n_components).fit(X).tree_.surface[0]
        assert len(surface.directions) == expected
        cosines = surface.directions @ surface.directions.T
        assert_allclose(cosines, np.eye(expected), atol=0.5)  # kept apart, not at right angles
    assert SpectralPursuit(2, n_components=1).fit(X).tree_.surface[0] is None


@each_kind
def test_bound_is_zero_where_each_row_is_a_microcluster_and_finite_elsewhere(kind):
    X = load_iris().data
    exact, approximate = (SpectralPursuit(3, n_microclusters=m, **kind).fit(X) for m in (150, 30))
    assert exact.approximation_bound_ == 0
    assert 0 < approximate.approximation_bound_ < np.inf
    fewer = SpectralPursuit(3, n_microclusters=120, **kind).fit(X)
    assert fewer.approximation_bound_ < approximate.approximation_bound_


def test_bound_is_the_largest_of_all_searches(monkeypatch):
    bounds = []
    measure = _spectral.approximation_bound

    def watched(*found):
        bounds.append(measure(*found))
        return bounds[-1]

    monkeypatch.setattr(_spectral, "approximation_bound", watched)
    model = SpectralPursuit(4, n_microclusters=30).fit(load_iris().data)
    assert len(set(bounds)) > 1
    assert model.approximation_bound_ == max(bounds)


def test_more_microclusters_than_rows_change_nothing():
    X = load_iris().data
    assert SpectralPursuit(3, n_microclusters=150).fit(X).tree_ == SpectralPursuit(3, n_microclusters=9999).fit(X).tree_


@pytest.mark.parametrize("projection", ["orthogonal", "correlated"])
def test_number_of_clusters_comes_by_itself(projection):
    X, y = make_blobs(300, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 5]], random_state=0)
    model = SpectralPursuit(projection=projection).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.99
    assert all(surface is None for surface in model.tree_.surface)


def test_structureless_rows_are_one_cluster(rng):
    assert sum(SpectralPursuit().fit(rng.normal(size=(120, 4))).n_clusters_ > 1 for _ in range(4)) <= 1


def test_more_clusters_than_rows_are_refused():
    with pytest.raises(ValueError, match="n_samples=3 is fewer than n_clusters=4"):
        SpectralPursuit(4).fit([[1.0], [2.0], [4.0]])


def test_constant_columns_change_nothing():
    X = load_iris().data
    wide = np.c_[np.ones(150), X, np.full((150, 2), -3.0)]
    assert_array_equal(SpectralPursuit(3).fit(wide).labels_, SpectralPursuit(3).fit(X).labels_)


@each_kind
def test_one_row_is_one_cluster_and_equal_rows_are_too(kind):
    assert_array_equal(SpectralPursuit(1, **kind).fit([[1.0, 2.0]]).labels_, [0])
    assert_array_equal(SpectralPursuit(**kind).fit([[1.0, 2.0]]).labels_, [0])
    equal = np.full((10_000, 3), 0.1)
    with pytest.warns(ConvergenceWarning, match="found 1 of the 2 requested clusters"):
        model = SpectralPursuit(2, **kind).fit(equal)
    assert not model.labels_.any()
    assert model.approximation_bound_ == 0
    assert SpectralPursuit(**kind).fit(equal).n_clusters_ == 1


@pytest.mark.parametrize("projection", ["orthogonal", "correlated"])
def test_rows_that_all_differ_can_all_be_told_apart(projection, rng):
    assert_array_equal(SpectralPursuit(2, projection=projection).fit([[0.0], [3.0]]).labels_, [0, 1])
    assert SpectralPursuit(12, projection=projection).fit(rng.normal(size=(12, 2))).n_clusters_ == 12


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("projection", ["orthogonal", "correlated"])
@pytest.mark.parametrize("n", [1, 20])
def test_rows_on_a_line_are_chunked_where_the_line_is_broken(projection, n):
    along = np.concatenate([np.arange(n), 100 + np.arange(n)])
    model = SpectralPursuit(2, projection=projection).fit(np.c_[along, np.ones(2 * n)])
    assert_array_equal(model.labels_, np.repeat([0, 1], n))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_few_rows_differ_from_ten_thousand_equal_ones():
    X = np.concatenate([np.ones((10_000, 2)), [[1.0, 2.0], [5.0, 2.0]]])
    assert SpectralPursuit(2).fit(X).n_clusters_ == 2


@pytest.mark.parametrize("projection", ["orthogonal", "correlated"])
def test_many_more_columns_than_rows(projection, rng):
    X = rng.normal(size=(60, 1500)) * 0.3
    X[:30, :40] += 2
    model = SpectralPursuit(2, projection=projection).fit(X)
    assert adjusted_rand_score(np.arange(60) < 30, model.labels_) == 1
    assert_array_equal(model.predict(X), model.labels_)
    csr = sparse.csr_array(np.where((rng.random((60, 1500)) < 0.1) | (X > 1), X, 0.0))
    sparsely = SpectralPursuit(2, projection=projection).fit(csr)
    assert adjusted_rand_score(np.arange(60) < 30, sparsely.labels_) == 1
    assert_array_equal(sparsely.predict(csr), sparsely.labels_)


@each_kind
def test_unit_and_place_of_the_data_do_not_matter(kind):
    X = load_wine().data
    labels = SpectralPursuit(4, n_microclusters=60, **kind).fit(X).labels_
    for moved in (2.0**20 * X, 2.0**-20 * X, 2.0**200 * X):
        assert_array_equal(SpectralPursuit(4, n_microclusters=60, **kind).fit(moved).labels_, labels)


def test_weights_stand_for_repeated_rows(rng):
    X = load_iris().data[::2]
    repeats = rng.integers(1, 4, size=len(X))
    weighted = SpectralPursuit(3).fit(X, sample_weight=repeats)
    repeated = SpectralPursuit(3).fit(np.repeat(X, repeats, axis=0))
    assert_array_equal(repeated.predict(X), weighted.labels_)
    assert_allclose(repeated.tree_.count, weighted.tree_.count)


def test_large_margin_does_not_shrink_the_gap(rng):
    X = rng.uniform(-1, 1, size=(300, 3))
    X[:, 0] = np.repeat([-1.0, 1.0], 150) * (0.4 + rng.uniform(size=300))
    X[:, 1] += np.repeat([-0.5, 0.5], 150)
    gaps = []
    for margin in (False, True):
        tree = SpectralPursuit(2, projection="correlated", margin=margin).fit(X).tree_
        gaps.append(np.abs(X @ tree.normal[0] - tree.offset[0]).min())
    assert gaps[1] > 1.2 * gaps[0]


def test_editing_gives_fitted_models_and_leaves_the_old_one():
    X = load_iris().data
    model = SpectralPursuit(4).fit(X)
    before = model.labels_.copy()
    coarse = model.cut_to(2)
    assert_array_equal(coarse.predict(X), coarse.labels_)
    last = int(np.flatnonzero(model.tree_.rank == 3)[0])
    finer = model.prune(last).split(last, X)
    assert finer.n_clusters_ == 4
    assert_array_equal(finer.predict(X), finer.labels_)
    assert_array_equal(finer.labels_, before)
    assert finer.approximation_bound_ == model.approximation_bound_
    assert_array_equal(model.labels_, before)


def test_start_may_be_given_and_decides_where_the_search_begins(rng):
    X = rng.normal(size=(100, 4)) * [5, 4, 1, 1]
    X[:50, 2] += 6
    hidden = SpectralPursuit(2, init=np.eye(4)[2:], bandwidth_factor=0.5).fit(X)
    assert adjusted_rand_score(np.arange(100) < 50, hidden.labels_) > 0.95
    called = SpectralPursuit(2, init=lambda rows: np.eye(4)[2:], bandwidth_factor=0.5).fit(X)
    assert_array_equal(called.labels_, hidden.labels_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"laplacian": "random"}, "The 'laplacian' parameter of SpectralPursuit must be"),
        ({"projection": "oblique"}, "The 'projection' parameter of SpectralPursuit must be"),
        ({"n_components": 0}, "The 'n_components' parameter of SpectralPursuit must be"),
        ({"bandwidth_factor": 0.0}, "The 'bandwidth_factor' parameter of SpectralPursuit must be"),
        ({"n_microclusters": 1}, "The 'n_microclusters' parameter of SpectralPursuit must be"),
        ({"init": 3}, "The 'init' parameter of SpectralPursuit must be"),
        ({"init": [[1.0, 2.0]]}, "init gives directions of shape"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        SpectralPursuit(2, **parameters).fit(load_iris().data)


entries = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3), st.sampled_from([1e-9, 1e9]))
matrices = st.tuples(st.integers(2, 14), st.integers(1, 4)).flatmap(
    lambda shape: arrays(float, shape, elements=entries)
)


@pytest.mark.filterwarnings("ignore:.* nearly all of the spread of the data")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=100)
@given(matrices, st.sampled_from(KINDS), st.sampled_from([3, 200]), st.integers(2, 4), st.booleans())
def test_any_small_matrix_gives_finite_attributes(X, kind, n_microclusters, n_clusters, as_csr):
    rows = sparse.csr_array(X) if as_csr else X
    model = SpectralPursuit(min(n_clusters, len(X)), n_microclusters=n_microclusters, **kind).fit(rows)
    assert_array_equal(model.predict(rows), model.labels_)
    assert_array_equal(np.unique(model.labels_), np.arange(model.n_clusters_))
    assert np.isfinite(model.transform(rows)).all()
    assert 0 <= model.approximation_bound_ < np.inf
    record = model.tree_.to_dict()
    for array in [*record.pop("surfaces", {}).values(), *record.values()]:
        assert np.isfinite(array).all()


@pytest.mark.parametrize("laplacian", ["normalized", "standard"])
@pytest.mark.parametrize("margin", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_any_size_and_of_many_powers_of_ten_end(laplacian, margin, rng):
    X = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)
    X[::2] = X[1::2] * (1 + 1e-12)
    for weights in (np.full(60, 1e-100), np.full(60, 1e12), np.full(60, 1e100), 10.0 ** rng.uniform(-12, 12, 60)):
        model = SpectralPursuit(3, laplacian=laplacian, margin=margin, n_jobs=1).fit(X, sample_weight=weights)
        assert np.isfinite(model.tree_.value[model.tree_.cuts]).all()
        assert_array_equal(model.predict(X), model.labels_)
