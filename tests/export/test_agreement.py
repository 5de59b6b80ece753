"""Every export of every model with a tree gives the labels of `predict`, but for rows within rounding of a cut."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler
from tests.estimators import TREES, each, fitted
from tests.export.readers import NONE, READERS, by_json, by_onnx, by_python, outputs_of
from tests.export.rows import adversarial

from ravine import MDH, PDDP, IncrementalMDH, NCutH
from ravine.datasets import make_blobs
from ravine.export import to_onnx, within_rounding

DATA = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
SQL = ("sqlite", "duckdb")

pytestmark = pytest.mark.filterwarnings(
    "ignore:held-out rows confirmed no single cut", "ignore:values repeat in columns"
)


@cache
def data(name):
    X = DATA[name]().data[:400]
    return X[:, :24] if name == "digits" else X


def bends(model):
    tree = model[-1].tree_ if hasattr(model, "steps") else model.tree_
    return any(surface is not None for surface in tree.surface)


def check(model, X, readers):
    """The labels of each export equal those of `predict`, or the row is within rounding."""
    expected, is_near = model.predict(X), within_rounding(model, X)
    assert not is_near.all()
    for name in readers:
        is_different = READERS[name](model, X) != expected
        assert not (is_different & ~is_near).any(), name


@each(TREES)
@pytest.mark.parametrize("name", list(DATA))
def test_exports_of_every_estimator_agree_with_predict(model, name, rng):
    X = data(name)
    model = fitted(clone(model), X)
    readers = [reader for reader in READERS if reader not in SQL or not bends(model)]
    rows = adversarial(model.tree_, X, rng, 25)
    check(model, rows, readers)
    assert not within_rounding(model, X).any()
    assert (by_onnx(model, X) == model.predict(X)).all()


@pytest.mark.parametrize("norm", ["l2", "l1", "max", "cosine"])
def test_exports_of_rows_divided_by_their_lengths_agree_with_predict(norm, rng):
    rows = data("wine") - data("wine").mean(axis=0)
    if norm == "cosine":
        model = make_pipeline(StandardScaler(), IncrementalMDH(metric="cosine")).fit(rows)
    else:
        model = make_pipeline(StandardScaler(), Normalizer(norm), NCutH(3)).fit(rows)
    rows = np.vstack([rows, rows * rng.uniform(0.01, 100, size=(len(rows), 1)), np.zeros((1, rows.shape[1]))])
    check(model, rows, [reader for reader in READERS if reader not in SQL])
    assert by_onnx(model, [[np.nan] * rows.shape[1]]) == [NONE]


def test_exports_of_the_cosine_metric_alone_agree_with_predict(rng):
    rows = data("digits")
    model = IncrementalMDH(metric="cosine").fit(rows)
    assert model.n_clusters_ > 1
    check(model, np.vstack([rows, 3 * rows, np.zeros((1, rows.shape[1]))]), ["onnx", "python", "json"])


MIXTURES = {
    "t": NCutH(n_clusters=3, assign_labels="mixture"),
    "t with outliers": NCutH(n_clusters=3, assign_labels="mixture", outliers="label"),
    "t of the cuts": MDH(n_clusters=2, assign_labels="auto", outliers="label"),
    "one cluster": PDDP(n_clusters=1, assign_labels="mixture"),
}


@pytest.mark.parametrize("case", list(MIXTURES))
def test_exports_of_a_mixture_agree_with_predict(case, rng):
    X = data("wine")[:, :6]
    model = clone(MIXTURES[case]).fit(X)
    check(model, np.vstack([X, adversarial(model.tree_, X, rng, 30)]), READERS)


@pytest.mark.parametrize("outliers", ["assign", "label"])
def test_exports_of_components_that_share_a_covariance_agree_with_predict(outliers, rng):
    X, _ = make_blobs(60, n_features=30, centers=3, cluster_std=4.0, random_state=0)
    model = PDDP(n_clusters=3, criterion="mean", assign_labels="mixture", outliers=outliers).fit(X)
    assert np.isinf(model.tree_.mixture.freedom)
    assert (model.predict(10 * X) == -1).any() == (outliers == "label")
    check(model, np.vstack([X, 10 * X, adversarial(model.tree_, X, rng, 30)]), READERS)


PIPELINES = {
    "standard": (StandardScaler(),),
    "robust": (RobustScaler(), MaxAbsScaler()),
    "range": (MinMaxScaler(feature_range=(-1, 3)),),
    "PCA": (StandardScaler(), PCA(3, whiten=True)),
    "SVD": ("passthrough", TruncatedSVD(3, random_state=0)),
    "columns": (
        ColumnTransformer(
            [("a", make_pipeline(StandardScaler(), PCA(2)), [0, 2, 5]), ("b", RobustScaler(), [1, 3])],
            remainder="passthrough",
            transformer_weights={"b": 0.5},
        ),
    ),
}


@pytest.mark.parametrize("assign_labels", ["tree", "mixture"])
@pytest.mark.parametrize("case", list(PIPELINES))
def test_exports_of_a_pipeline_agree_with_predict(case, assign_labels, rng):
    X = data("wine")[:, :7]
    model = make_pipeline(*map(clone_step, PIPELINES[case]), NCutH(n_clusters=3, assign_labels=assign_labels)).fit(X)
    rows = np.vstack([X, rng.choice([-1e150, 0.0, 1.0, 1e150], size=(30, 7)), X.astype(np.float32)])
    check(model, rows, READERS)


def clone_step(step):
    return step if isinstance(step, str) else clone(step)


def test_a_clipped_range_is_exported_but_to_sql(rng):
    X = data("wine")
    model = make_pipeline(MinMaxScaler(clip=True), PDDP(n_clusters=4, criterion="mean")).fit(X)
    rows = np.vstack([X, X * 3, -X])
    check(model, rows, ["onnx", "python", "json"])
    for name in SQL:
        with pytest.raises(ValueError, match="clip=False"):
            READERS[name](model, rows)


def test_gaps_are_filled_as_in_predict():
    X = data("wine")[:, :4].copy()
    X[::7, 0] = X[3::11, 2] = np.nan
    model = make_pipeline(StandardScaler(), SimpleImputer(strategy="median"), NCutH(n_clusters=3)).fit(X)
    expected = model.predict(X)
    for name, reader in READERS.items():
        assert (reader(model, X) == expected).all(), name


def test_rows_that_predict_refuses_get_no_label():
    X = data("iris")
    model = NCutH(n_clusters=3, assign_labels="mixture").fit(X)
    rows = X[:5].copy()
    rows[1, 2], rows[3, 0] = np.nan, np.inf
    for name in ("onnx", *SQL):
        found = READERS[name](model, rows)
        assert (found == NONE).tolist() == [False, True, False, True, False], name
        assert (found[::2] == model.predict(rows[::2])).all()
    with pytest.raises(ValueError, match="lies on no side of a cut"):
        by_python(model, rows)


def test_python_and_json_add_in_the_same_order(rng):
    X = data("breast cancer")
    for model in (MDH(n_clusters=5, assign_labels="tree"), NCutH(n_clusters=4, assign_labels="mixture")):
        model.fit(X)
        rows = adversarial(model.tree_, X, rng)
        assert (by_python(model, rows) == by_json(model, rows)).all()


def test_rows_exactly_on_a_cut_along_a_column_go_right_everywhere():
    X = np.array([[0.0, 3.0], [1.0, 3.0], [8.0, 3.0], [9.0, 3.0]])
    model = PDDP(n_clusters=2, criterion="mean").fit(X)
    assert model.tree_.normal[0].tolist() == [1.0, 0.0]
    offset = model.tree_.offset[0]
    rows = np.array([[offset, 1e150], [np.nextafter(offset, -np.inf), -1e150], [np.nextafter(offset, np.inf), 0.0]])
    assert model.predict(rows).tolist() == [1, 0, 1]
    for name, reader in READERS.items():
        assert reader(model, rows).tolist() == [1, 0, 1], name


@pytest.mark.parametrize("name", list(DATA))
def test_float32_rows_have_the_labels_of_predict(name):
    X = data(name).astype(np.float32)
    model = NCutH(n_clusters=4, assign_labels="mixture").fit(X.astype(np.float64))
    label, _ = outputs_of(to_onnx(model, input_type="float32"), {"X": X})
    assert (label == model.predict(X)).all()
    changed = model.predict(X) != model.predict(data(name))
    assert not (changed & ~within_rounding(model, data(name), dtype="float32")).any()
