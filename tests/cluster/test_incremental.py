import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from ravine import IncrementalMDH, load, save
from ravine._scaling import ScaledRows
from ravine.datasets import make_blobs
from ravine.tree._prune import vote_elbow

ALGORITHMS = [IncrementalMDH(), IncrementalMDH(algorithm="online", max_depth=4), IncrementalMDH(standardize=False)]
each = pytest.mark.parametrize("model", ALGORITHMS, ids=repr)
each_kind = pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "csr"])


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(900, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 5]], random_state=1)


def streamed(model, X, sizes, weights=None):
    model, start, i = clone(model), 0, 0
    while start < X.shape[0]:
        part = slice(start, start + sizes[i % len(sizes)])
        model.partial_fit(X[part], sample_weight=None if weights is None else weights[part])
        start, i = part.stop, i + 1
    return model


@each
@each_kind
def test_stream_is_the_same_in_any_batches_and_on_any_threads(model, kind, blobs, rng):
    X, weights = kind(blobs[0]), rng.integers(0, 3, size=900).astype(float)
    whole = streamed(model.set_params(n_jobs=1), X, [900], weights)
    for sizes, n_jobs in (([1], 1), ([17, 250, 1], 3), ([450], -1)):
        other = streamed(clone(model).set_params(n_jobs=n_jobs), X, sizes, weights)
        assert other.tree_ == whole.tree_


def test_paper_reads_rows_at_hand_as_a_stream(blobs):
    model = IncrementalMDH(algorithm="online", standardize=False, n_passes=1, max_depth=4)
    fitted, read = clone(model).fit(blobs[0]), streamed(model, blobs[0], [50])
    assert_array_equal(fitted.predict(blobs[0]), read.predict(blobs[0]))
    assert_array_equal(fitted.tree_.normal, read.tree_.normal)


@each
@each_kind
def test_stream_finds_the_blobs(model, kind, blobs):
    X, y = blobs
    fitted = streamed(model, kind(X), [100])
    assert adjusted_rand_score(fitted.predict(kind(X)), y) > (0.6 if model.algorithm == "paper" else 0.98)
    assert fitted.tree_.count[0] == pytest.approx(900)
    assert fitted.tree_.n_clusters == fitted.n_clusters_ == len(fitted.p_values_) + 1


def test_fit_does_not_depend_on_the_order_of_the_rows_nor_on_copies_being_together(rng):
    centers = [[0, 0], [9, 0], [0, 9], [9, 9]]
    X = np.concatenate([make_blobs(700, centers=centers, random_state=0)[0]] * 2)
    model = IncrementalMDH(sample_size=500)
    labels = clone(model).fit(X).labels_
    order = rng.permutation(len(X))
    assert_array_equal(clone(model).fit(X[order]).labels_, labels[order])


def test_small_sample_of_many_rows_gives_exact_counts(blobs):
    model = IncrementalMDH(sample_size=300).fit(blobs[0])
    tree = model.tree_
    assert model.n_clusters_ == 3
    assert_array_equal(tree.count[tree.leaves], np.bincount(model.labels_))
    for label, leaf in enumerate(tree.leaves):
        rows = blobs[0][model.labels_ == label]
        assert_allclose(tree.mean[leaf], rows.mean(axis=0))
        assert_allclose(tree.sum_sq[leaf], ((rows - rows.mean(axis=0)) ** 2).sum())


def test_stream_goes_on_after_fit(blobs):
    X, y = blobs
    model = IncrementalMDH().fit(X[y < 2])
    assert model.n_clusters_ == 2
    model.partial_fit(X[y == 2])
    assert_array_equal(model.labels_, model.predict(X[y == 2]))
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(model.predict(X), y) > 0.98


def test_forgetting_follows_a_stream_that_has_changed(rng):
    def rows(centers, n):
        return np.array(centers)[rng.integers(0, 2, n)] + rng.normal(size=(n, 2))

    stream = np.concatenate([rows([[0, 0], [10, 0]], 3000), rows([[0, 0], [0, 10]], 3000)])
    model = streamed(IncrementalMDH(memory_length=500), stream, [500])
    assert model.n_clusters_ == 2
    normal = np.abs(model.tree_.normal[0])
    assert normal[1] > 0.9
    assert model.tree_.count[0] == pytest.approx(500)
    assert streamed(IncrementalMDH(), stream, [500]).n_clusters_ == 3


@each
def test_bad_batch_leaves_the_model_as_it_was(model, blobs):
    X = blobs[0]
    fitted = streamed(model, X[:600], [200])
    before = pickle.dumps(fitted._stream)
    broken = X[600:].copy()
    broken[-1, 0] = np.nan
    for bad, message in (
        (broken, "NaN"),
        (X[:, :2], "2 features"),
        (X * 1e200, "change the unit"),
        (X[:0], "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.partial_fit(bad)
    with pytest.raises(ValueError, match="X is sparse and the rows learned so far are dense"):
        fitted.partial_fit(sparse.csr_array(X))
    assert pickle.dumps(fitted._stream) == before
    assert fitted.partial_fit(X[600:]).tree_ == streamed(model, X, [900]).tree_


@each
def test_offset_of_the_columns_costs_no_digits(model, blobs):
    X = np.round(blobs[0] * 1024) / 1024  # exact also far from the origin
    far = X + 2.0**27
    for fit in (lambda X: clone(model).fit(X), lambda X: streamed(model, X, [100])):
        near_model, far_model = fit(X), fit(far)
        assert adjusted_rand_score(near_model.predict(X), far_model.predict(far)) > (
            0.6 if model.algorithm == "paper" else 0.99
        )
        assert_allclose(far_model.tree_.sum_sq[0], near_model.tree_.sum_sq[0], rtol=1e-5)


def test_standardizing_makes_the_unit_of_a_column_irrelevant(blobs):
    X, unit = blobs[0], np.array([1e-6, 1.0, 1e6])
    for fit in (lambda m, X: m.fit(X), lambda m, X: streamed(m, X, [300])):
        ours, other = fit(IncrementalMDH(), X), fit(IncrementalMDH(), X * unit)
        assert adjusted_rand_score(ours.predict(X), other.predict(X * unit)) > 0.99


def test_rows_without_clusters_are_one_cluster(rng):
    model = IncrementalMDH().fit(rng.normal(size=(300, 3)))
    assert (model.n_clusters_, model.selection_, model.confirmed_) == (1, "evidence", 0)


def test_no_evidence_falls_back_to_the_elbow_of_clustered_rows_and_says_so():
    X = load_wine().data
    with pytest.warns(UserWarning, match="held-out rows confirmed no single cut"):
        model = IncrementalMDH().fit(X)
    assert model.n_clusters_ > 1
    assert (model.selection_, model.confirmed_) == ("elbow", 0)
    assert (model.p_values_ == 1).all()
    assert "held-out rows confirmed no single cut" in str(model)
    alone = IncrementalMDH(selection="evidence").fit(X)
    assert (alone.n_clusters_, alone.selection_) == (1, "evidence")


def test_model_says_what_decided(blobs):
    model = IncrementalMDH()
    assert str(model) == "IncrementalMDH()"
    model.fit(blobs[0])
    assert (model.p_values_ < 0.05).all()
    assert str(model) == "IncrementalMDH()\n3 clusters, held-out rows confirmed each cut or a cut below it"
    assert IncrementalMDH(2).fit(blobs[0]).selection_ == "asked"
    for chosen in (IncrementalMDH(selection="elbow"), IncrementalMDH(algorithm="online")):
        assert chosen.fit(blobs[0]).selection_ == "elbow"
        assert str(chosen).endswith("by the elbow of the sum of squares")
        assert vote_elbow(chosen.elbow_path_) == chosen.n_clusters_ < len(chosen.elbow_path_)
    assert model.elbow_path_ is None


def test_coarser_models_learn_for_themselves(blobs):
    X = blobs[0]
    model = IncrementalMDH().fit(X)
    coarse = model.cut_to(2)
    assert_array_equal(coarse.predict(X), coarse.labels_)
    coarse.partial_fit(X + 40)
    assert coarse.n_clusters_ == 6
    assert model.partial_fit(X[:50]).n_clusters_ == 3


def test_stream_may_begin_with_few_rows(blobs):
    model = IncrementalMDH(n_clusters=3)
    with pytest.raises(NotFittedError):
        model.predict(blobs[0])
    with pytest.raises(AttributeError, match="not fitted yet"):
        model.tree_  # noqa: B018
    model.partial_fit(blobs[0][:1])
    with pytest.warns(ConvergenceWarning, match="found 1 of the 3 requested clusters"):
        assert_array_equal(model.predict(blobs[0][:1]), [0])
    assert model.partial_fit(blobs[0]).n_clusters_ == 3


def test_rows_of_weight_zero_are_not_there(blobs):
    X = blobs[0]
    weights = np.repeat([1.0, 0.0], [600, 300])
    assert streamed(IncrementalMDH(), X, [100], weights).tree_ == streamed(IncrementalMDH(), X[:600], [100]).tree_
    assert IncrementalMDH().partial_fit(X).partial_fit(X[:5], sample_weight=np.r_[1.0, np.zeros(4)]).n_clusters_ == 3


def test_evidence_needs_rows_that_the_paper_does_not_keep(blobs):
    with pytest.raises(ValueError, match="selection='evidence' needs rows for its test"):
        IncrementalMDH(algorithm="online", selection="evidence").fit(blobs[0])


@pytest.mark.parametrize("draw", ["normal", "uniform", "binary"])
def test_structureless_rows_are_one_cluster(draw, rng):
    draws = {
        "normal": lambda: rng.normal(size=(400, 6)),
        "uniform": lambda: rng.uniform(size=(400, 6)),
        "binary": lambda: rng.integers(0, 2, size=(400, 6)).astype(float),
    }
    found = [
        IncrementalMDH(selection="evidence", random_state=seed).fit(draws[draw]()).n_clusters_ for seed in range(10)
    ]
    assert found.count(1) >= 9


def with_far_cells(X, size, rng):
    """Return the table with one cell in 1,000 far outside of its column, and the rows without such a cell."""
    dirty, cells = X.copy(), rng.choice(X.size, max(X.size // 1000, 1), replace=False)
    row, column = np.unravel_index(cells, X.shape)
    dirty[row, column] = size * np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)[column]
    return dirty, np.setdiff1d(np.arange(len(X)), row)


@pytest.mark.parametrize("size", [999.0, -1e6])
@pytest.mark.parametrize(
    ("load", "n_clusters"),
    [(load_iris, None), (load_wine, None), (load_breast_cancer, 2)],
    ids=["iris", "wine", "tumors"],
)
def test_few_far_cells_do_not_change_the_clusters_of_the_other_rows(load, n_clusters, size, rng):
    X = load().data
    dirty, others = with_far_cells(X, size, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the elbow warns
        clean, found = (IncrementalMDH(n_clusters).fit(rows).labels_[others] for rows in (X, dirty))
    assert adjusted_rand_score(clean, found) >= 0.9


@pytest.mark.parametrize("size", [999.0, -1e6])
@pytest.mark.parametrize("n_clusters", [None, 3])
def test_few_far_cells_do_not_hide_the_columns_of_a_stream(n_clusters, size, blobs, rng):
    X, y = blobs
    dirty, others = with_far_cells(X, size, rng)
    of_fit = IncrementalMDH(n_clusters).fit(dirty)
    of_stream = streamed(IncrementalMDH(n_clusters), dirty, [100])
    for found in (of_fit, of_stream):
        assert adjusted_rand_score(y[others], found.predict(dirty[others])) > 0.99
    assert of_stream.tree_ == streamed(IncrementalMDH(n_clusters), dirty, [7, 250]).tree_


def test_far_cells_of_rows_that_are_not_in_the_sample_do_not_change_the_scale(blobs):
    X, y = blobs
    dirty = X.copy()
    dirty[::300, 0] = 1e6
    model = IncrementalMDH(sample_size=200).fit(dirty)
    others = np.arange(len(X)) % 300 > 0
    assert adjusted_rand_score(y[others], model.labels_[others]) > 0.99


@pytest.mark.parametrize("algorithm", ["polished", "online"])
def test_rows_on_a_common_scale_are_not_scaled(algorithm, blobs, tmp_path):
    X = blobs[0] * [1.0, 0.1, 0.01]
    rows = ScaledRows.of(X)
    scaled, plain = (IncrementalMDH(algorithm=algorithm, standardize=to) for to in (True, False))
    assert clone(scaled).fit(rows).tree_ == clone(plain).fit(X).tree_
    assert clone(scaled).fit(rows[::2]).tree_ == clone(plain).fit(X[::2]).tree_
    assert clone(scaled).fit(X).tree_ != clone(plain).fit(X).tree_
    for model, given in ((scaled, rows), (plain, X)):
        model.partial_fit(given[:300])
        save(model, tmp_path / "model.ravine")
        model.__dict__ = load(tmp_path / "model.ravine").partial_fit(given[300:]).__dict__
    assert scaled.tree_ == plain.tree_
