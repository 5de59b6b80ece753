import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from ravine import PDDP, MDHClassifier
from ravine.export import to_json, to_onnx, to_python, to_sql
from ravine.export._pipeline import steps_of
from ravine.export._recipe import applied, bounded

X = load_wine().data[:, :6].copy()
GAPS = X.copy()
GAPS[::5, 1] = GAPS[1::7, 4] = np.nan
WRITERS = {"onnx": to_onnx, "python": to_python, "json": to_json, "sql": lambda model: to_sql(model, "rows")}

ELEMENTWISE = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    RobustScaler(),
    RobustScaler(with_centering=False, with_scaling=False),
    MinMaxScaler((-2, 5)),
    MinMaxScaler(clip=True),
    MaxAbsScaler(),
    SimpleImputer(),
    SimpleImputer(strategy="constant", fill_value=-1.0),
    FunctionTransformer(),
]


@pytest.mark.parametrize("step", ELEMENTWISE, ids=repr)
def test_steps_give_the_numbers_of_a_transformer_to_the_last_bit(step):
    step.fit(GAPS[:100])
    assert_array_equal(applied(steps_of(step, "it"), GAPS), step.transform(GAPS))


@pytest.mark.parametrize("norm", ["l2", "l1", "max"])
def test_steps_of_a_normalizer_give_its_numbers(norm):
    rows = np.vstack([X - X.mean(axis=0), np.zeros((1, X.shape[1]))])
    step = Normalizer(norm).fit(rows)
    assert_allclose(applied(steps_of(step, "it"), rows), step.transform(rows), rtol=1e-14)


@pytest.mark.parametrize("step", [PCA(3), PCA(2, whiten=True), TruncatedSVD(2, random_state=0)], ids=repr)
def test_steps_of_a_projection_give_its_numbers(step):
    step.fit(X)
    assert_allclose(applied(steps_of(step, "it"), X), step.transform(X), rtol=1e-9, atol=1e-9)


def test_parts_of_columns_are_put_side_by_side():
    parts = [
        ("a", make_pipeline(SimpleImputer(), StandardScaler()), [4, 1]),
        ("c", "drop", [0]),
        ("b", "passthrough", [2]),
    ]
    step = ColumnTransformer(parts, remainder=RobustScaler(), transformer_weights={"a": 3.0}).fit(GAPS)
    assert_array_equal(applied(steps_of(step, "it"), GAPS), step.transform(GAPS))


def test_a_column_without_any_value_is_dropped_as_by_the_imputer():
    rows = np.column_stack([X, np.full(len(X), np.nan)])
    step = SimpleImputer().fit(rows)
    found = applied(steps_of(step, "it"), rows)
    with pytest.warns(UserWarning, match="Skipping features"):
        expected = step.transform(rows)
    assert_array_equal(found, expected)


def test_sizes_are_at_least_the_numbers():
    step = make_pipeline(StandardScaler(), Normalizer(), PCA(3, whiten=True)).fit(X)
    steps = steps_of(step, "it")
    assert (bounded(steps, np.abs(X), X) >= np.abs(applied(steps, X))).all()


@pytest.mark.parametrize("writer", list(WRITERS))
def test_step_that_cannot_be_exported_is_named(writer):
    model = make_pipeline(StandardScaler(), PowerTransformer(), PDDP(n_clusters=2)).fit(X)
    with pytest.raises(ValueError, match=r"step 'powertransformer' is a PowerTransformer, which cannot be exported"):
        WRITERS[writer](model)


def test_part_that_cannot_be_exported_is_named():
    step = ColumnTransformer([("numbers", StandardScaler(), [0]), ("words", OneHotEncoder(), [1])])
    rows = np.column_stack([X[:, 0], np.arange(len(X)) % 3])
    model = make_pipeline(step, PDDP(n_clusters=2, criterion="mean")).fit(rows)
    with pytest.raises(ValueError, match=r"step 'columntransformer', part 'words' is a OneHotEncoder"):
        to_json(model)


def test_functions_are_named():
    model = make_pipeline(FunctionTransformer(np.log1p), PDDP(n_clusters=2)).fit(X)
    with pytest.raises(ValueError, match="step 'functiontransformer' is a FunctionTransformer"):
        to_onnx(model)


@pytest.fixture(scope="module")
def models_without_a_tree():
    return MDHClassifier().fit(X[::10], np.arange(len(X[::10])) % 2), KMeans(2, n_init=1).fit(X)


@pytest.mark.parametrize("writer", list(WRITERS))
def test_models_without_a_tree_are_refused(writer, models_without_a_tree):
    for model in models_without_a_tree:
        with pytest.raises(ValueError, match="has no tree of cuts"):
            WRITERS[writer](model)
    with pytest.raises(NotFittedError):
        WRITERS[writer](PDDP())
    with pytest.raises(TypeError, match="pass a fitted model or its tree"):
        WRITERS[writer]("model")
