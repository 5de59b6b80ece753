"""IncrementalMDH(metric="cosine"): rows are divided by their lengths, in every method, in files and in exports."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler, normalize
from tests.commands import ravine_in_this_process as run

from ravine import IncrementalMDH, load, report, save
from ravine._outofcore import LocalChunks
from ravine.explain import explain_row, tree_sql
from ravine.export import to_sql
from ravine.report._groups import Groups
from ravine.tree import tree_of


def directions(n_rows=1500, n_columns=12, n_clusters=3, seed=0, dtype=np.float64):
    """Rows around a few directions, of lengths from 0.01 to 100, and their clusters."""
    rng = np.random.default_rng(seed)
    centers = np.linalg.qr(np.random.default_rng(9).normal(size=(n_columns, n_clusters)))[0].T
    y = rng.integers(0, n_clusters, n_rows)
    rows = centers[y] + 0.12 * rng.normal(size=(n_rows, n_columns))
    return (rows * 10 ** rng.uniform(-2, 2, size=(n_rows, 1))).astype(dtype), y


X, y = directions()
COSINE = IncrementalMDH(metric="cosine").fit(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_predict_of_training_rows_equals_labels(dtype):
    rows = X.astype(dtype)
    model = IncrementalMDH(metric="cosine").fit(rows)
    assert_array_equal(model.predict(rows), model.labels_)
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_lengths_hide_the_clusters_from_the_euclidean_metric():
    assert adjusted_rand_score(y, IncrementalMDH(3, standardize=False).fit(X).labels_) < 0.7


def test_it_is_the_model_of_normalized_rows_without_scaling():
    model = IncrementalMDH(standardize=False).fit(normalize(X))
    assert_array_equal(model.labels_, COSINE.labels_)
    assert_allclose(model.tree_.normal, COSINE.tree_.normal, atol=1e-9)


def test_standardize_has_no_effect():
    model = IncrementalMDH(metric="cosine", standardize=False).fit(X)
    assert_array_equal(model.tree_.normal, COSINE.tree_.normal)


def test_a_positive_factor_of_each_row_changes_nothing(rng):
    power_of_two = 2.0 ** rng.integers(-40, 40, size=(len(X), 1))
    model = IncrementalMDH(metric="cosine").fit(X * power_of_two)
    assert_array_equal(model.tree_.normal, COSINE.tree_.normal)
    assert_array_equal(model.labels_, COSINE.labels_)
    any_factor = rng.uniform(1e-3, 1e3, size=(len(X), 1))
    assert_array_equal(COSINE.predict(X * any_factor), COSINE.labels_)
    assert_allclose(COSINE.transform(X * any_factor), COSINE.transform(X), atol=1e-12)
    assert_allclose(COSINE.predict_proba(X * any_factor), COSINE.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("factor", [1e-140, 1e140])
def test_very_short_and_very_long_rows_have_directions(factor):
    assert_array_equal(COSINE.predict(X * factor), COSINE.labels_)


def test_all_methods_agree_with_those_of_normalized_rows():
    plain = COSINE._of_unit_rows()
    unit = normalize(X)
    assert_array_equal(COSINE.predict(X), plain.predict(unit))
    for method in ("transform", "predict_proba", "score_samples"):
        assert_allclose(getattr(COSINE, method)(X), getattr(plain, method)(unit), atol=1e-6)


def test_partial_fit_does_not_depend_on_the_batches():
    whole, parts = IncrementalMDH(metric="cosine").partial_fit(X), IncrementalMDH(metric="cosine")
    for start in range(0, len(X), 400):
        parts.partial_fit(X[start : start + 400])
    assert_array_equal(whole.tree_.normal, parts.tree_.normal)
    assert_array_equal(whole.predict(X), parts.predict(X))
    assert_array_equal(parts.labels_, parts.predict(X[1200:]))
    assert adjusted_rand_score(y, parts.predict(X)) > 0.95


def test_rows_of_the_user_are_unchanged():
    for rows in (X.copy(), X.astype(np.float32), X.astype(np.float16), sparse.csr_matrix(X)):
        before = rows.copy()
        IncrementalMDH(metric="cosine").fit(rows).predict(rows)
        assert (before != rows).sum() == 0


def test_a_row_of_zeros_remains_and_gets_a_cluster():
    rows = np.vstack([X, np.zeros((3, X.shape[1]))])
    model = IncrementalMDH(metric="cosine").fit(rows)
    assert_array_equal(model.predict(rows), model.labels_)
    assert_allclose(model.transform(rows[-1:])[0, 0], -model.tree_.offset[0])
    assert IncrementalMDH(metric="cosine").fit(np.zeros((20, 3))).n_clusters_ == 1


def test_sparse_rows_agree_with_dense_ones():
    rows, truth = directions(n_columns=30)
    rows[np.abs(rows) < 0.1 * np.abs(rows).max(axis=1, keepdims=True)] = 0
    found = [IncrementalMDH(3, metric="cosine", assign_labels="tree").fit(m) for m in (rows, sparse.csr_matrix(rows))]
    assert_array_equal(found[1].predict(sparse.csr_array(rows)), found[1].labels_)
    assert_array_equal(found[1].predict(rows), found[1].labels_)
    for model in found:
        assert adjusted_rand_score(truth, model.labels_) > 0.9


@pytest.mark.parametrize("resume", [True, False])
def test_a_loaded_model_predicts_the_same(tmp_path, resume):
    save(COSINE, tmp_path / "model.ravine", resume=resume)
    same = load(tmp_path / "model.ravine")
    assert same.metric == "cosine"
    assert_array_equal(same.predict(X), COSINE.labels_)


def test_a_loaded_model_continues_as_the_original(tmp_path):
    model = IncrementalMDH(metric="cosine").partial_fit(X[:700])
    save(model, tmp_path / "model.ravine")
    same = load(tmp_path / "model.ravine").partial_fit(X[700:])
    assert_array_equal(same.predict(X), model.partial_fit(X[700:]).predict(X))


def test_a_metric_that_was_changed_after_the_fit_is_not_used_and_not_saved(tmp_path):
    model = IncrementalMDH(metric="cosine").fit(X)
    labels = model.labels_
    model.set_params(metric="euclidean")
    assert_array_equal(model.predict(X), labels)
    with pytest.raises(ValueError, match="metric was changed after the fit"):
        save(model, tmp_path / "model.ravine")


def test_chunks_give_the_same_clusters():
    def read():
        for start in range(0, len(X), 250):
            yield X[start : start + 250], None

    chunks = LocalChunks(read, X.shape[1])
    model = IncrementalMDH(metric="cosine").fit(chunks)
    assert_array_equal(model.predict(X), COSINE.labels_)
    small = IncrementalMDH(metric="cosine", sample_size=1000).fit(chunks)
    assert adjusted_rand_score(y, small.predict(X)) > 0.95
    assert_allclose(np.linalg.norm(small._stream.sample()[0], axis=1), 1)
    learned = IncrementalMDH(metric="cosine").partial_fit(chunks)
    assert_array_equal(learned.predict(chunks), learned.predict(X))


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_dask_collections_give_the_same_clusters(kind):
    pytest.importorskip("dask")
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd

    def rows_of(rows):
        names = [f"x{j}" for j in range(rows.shape[1])]
        return (
            da.from_array(rows, (300, 5)) if kind == "array" else dd.from_pandas(pd.DataFrame(rows, columns=names), 4)
        )

    for rows in (X, X.astype(np.float16)):
        here = IncrementalMDH(metric="cosine", sample_size=1000).fit(rows_of(rows))
        assert_array_equal(np.asarray(here.labels_.compute()), here.predict(rows_of(rows)).compute())
        assert adjusted_rand_score(y, here.labels_.compute()) > 0.95


def test_cut_to_and_copies_keep_the_metric():
    coarser = COSINE.cut_to(2)
    assert_array_equal(coarser.predict(X), coarser.labels_)
    assert adjusted_rand_score(coarser.labels_, COSINE.labels_) > 0.3


def test_the_tree_is_refused_in_the_columns_of_x():
    for ask in (tree_of, tree_sql_of, lambda model: explain_row(model, X[0])):
        with pytest.raises(ValueError, match="metric='cosine' divides rows by their lengths"):
            ask(COSINE)
    pipe = make_pipeline(StandardScaler(), IncrementalMDH(metric="cosine")).fit(X)
    with pytest.raises(ValueError, match="metric='cosine'"):
        tree_of(pipe)
    with pytest.raises(ValueError, match="row divided by its length is not linear"):
        to_sql(COSINE, "rows")


def tree_sql_of(model):
    return tree_sql(model, "rows")


@pytest.mark.parametrize("scaled", [False, True])
def test_a_report_shows_rows_of_length_1_and_the_labels_of_predict(scaled):
    model = make_pipeline(StandardScaler(), IncrementalMDH(metric="cosine")).fit(X) if scaled else COSINE
    groups = Groups.of(model)
    rows, number = groups.read(X)
    assert_array_equal(number, model.predict(X))
    assert_array_equal(groups.tree.predict(rows), number)
    assert "divides rows by their lengths" in report.html(model, X).replace("&#39;", "'")


def test_commands_read_a_saved_model(tmp_path, capsys):
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    save(IncrementalMDH(metric="cosine").fit(frame), tmp_path / "model.ravine")
    model, rows = str(tmp_path / "model.ravine"), str(tmp_path / "rows.csv")
    assert run("predict", model, rows, "--out", str(tmp_path / "labels.csv")) == 0
    assert_array_equal(pd.read_csv(tmp_path / "labels.csv")["cluster"], COSINE.labels_)
    assert run("inspect", model) == run("report", model, rows, "--out", str(tmp_path / "report.html")) == 0
    assert run("cut", model, "--clusters", "2", "--out", str(tmp_path / "cut.ravine")) == 0
    assert_array_equal(load(tmp_path / "cut.ravine").predict(frame), COSINE.cut_to(2).labels_)
    assert run("predict", model, rows, "--clusters", "2", "--out", str(tmp_path / "two.csv")) == 0
    assert_array_equal(pd.read_csv(tmp_path / "two.csv")["cluster"], COSINE.cut_to(2).labels_)


def test_a_plot_is_refused():
    pytest.importorskip("matplotlib")
    from ravine import plot

    with pytest.raises(ValueError, match="metric='cosine'"):
        plot.tree(COSINE)
    assert plot.tree(COSINE.tree_) is not None


def test_normalizer_in_a_pipeline_is_the_same_for_methods_that_lack_the_metric(tmp_path):
    pipe = make_pipeline(Normalizer(), IncrementalMDH(standardize=False)).fit(X)
    assert_array_equal(pipe.predict(X), COSINE.labels_)
    save(pipe, tmp_path / "pipe.ravine")
    assert_array_equal(load(tmp_path / "pipe.ravine").predict(X), COSINE.labels_)
