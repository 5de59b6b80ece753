"""Pipelines are saved, loaded and equal to the last bit, or refused in words; changed files are refused or predict."""

import contextlib
import json
import re
import zipfile
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from benchmarks.mutations import HEADER, MUTATIONS, attempt, bound, packed, unpacked
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted, validate_data
from tests.estimators import ALL, each, fitted

from ravine import PDDP, IncrementalMDH, NCutH, SumOfNorms, load, save
from ravine._schema import Array, Group
from ravine.datasets import make_blobs
from ravine.persist import read
from ravine.persist._parts import PREPARATIONS
from ravine.persist._transformers import KINDS, difference

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

METHODS = ("predict", "predict_proba", "score_samples", "transform", "decision_function")
MODEL = PDDP(n_clusters=3, criterion="mean")


def table(n=90):
    """Numbers in three units, words, gaps and a few integers."""
    X = make_blobs(n, centers=[[0, 0, 0], [9, 0, 1], [0, 9, 2]], random_state=1)[0]
    frame = pd.DataFrame((X - X.min() + 1) * [1, 1000, 0.01], columns=["width", "größe", "c"])
    frame["word"] = np.where(frame["width"] > 9, "big", "small")
    frame["gap"] = frame["c"].where(np.arange(n) % 7 > 0)
    frame["whole"] = np.arange(n) % 4
    return frame


TABLE = table()
NUMBERS = TABLE[["width", "größe", "c"]]
GAPS = TABLE[["width", "gap"]]
WORDS = TABLE[["word", "whole"]]
SOME_WORDS = WORDS.assign(word=WORDS["word"].where(TABLE.index % 5 > 0))


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def bits(rows):
    array = dense(rows)
    return array.dtype, array.shape, array.tobytes() if array.dtype != object else array.tolist()


def saved_and_loaded(pipe, path, **options):
    save(pipe, path, **options)
    return load(path)


def assert_equal_pipelines(loaded, pipe, X):
    check_is_fitted(loaded)
    assert type(loaded) is Pipeline
    assert [name for name, _ in loaded.steps] == [name for name, _ in pipe.steps]
    for name in METHODS:
        assert hasattr(loaded, name) == hasattr(pipe, name)
        if hasattr(pipe, name):
            assert bits(getattr(loaded, name)(X)) == bits(getattr(pipe, name)(X))
    assert bits(loaded[:-1].transform(X)) == bits(pipe[:-1].transform(X))


# Every estimator and every transformer


SCALERS = [StandardScaler(), RobustScaler(), MinMaxScaler(), MaxAbsScaler()]


def named(value):
    """A short name of a value, the same in every process."""
    return re.sub(r"( at 0x|\bMT19937\))[^)>]*", "", repr(value))[:60].replace("\n", " ")


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
@each(ALL)
def test_every_estimator_is_saved_with_every_scaler(model, scaler, tmp_path):
    pipe = (
        fitted(make_pipeline(clone(scaler), clone(model)), NUMBERS)
        if not is_classifier(model)
        else make_pipeline(clone(scaler), clone(model)).fit(NUMBERS, np.arange(len(NUMBERS)) % 2)
    )
    loaded = saved_and_loaded(pipe, tmp_path / "pipe")
    assert_equal_pipelines(loaded, pipe, NUMBERS)
    assert_equal_pipelines(loaded, pipe, pl.from_pandas(NUMBERS))
    assert_array_equal(loaded.feature_names_in_, pipe.feature_names_in_)
    assert loaded.n_features_in_ == 3


STEPS = [
    (StandardScaler(with_mean=False), NUMBERS),
    (StandardScaler(with_std=False), NUMBERS),
    (StandardScaler(with_mean=False, with_std=False), NUMBERS),
    (StandardScaler(), sparse.csr_array(NUMBERS.to_numpy() * (NUMBERS.to_numpy() > 9))),
    (RobustScaler(with_centering=False, quantile_range=(10.0, 90.0), unit_variance=True), NUMBERS),
    (RobustScaler(with_scaling=False), NUMBERS),
    (MinMaxScaler((-1, 3), clip=True), NUMBERS),
    (MaxAbsScaler(clip=True), NUMBERS),
    (Normalizer("l1"), NUMBERS),
    (PowerTransformer(), NUMBERS),
    (PowerTransformer("box-cox", standardize=False), NUMBERS),
    (PCA(2), NUMBERS),
    (PCA(np.int64(2), whiten=True), NUMBERS),
    (PCA(0.9, svd_solver="full"), NUMBERS),
    (PCA("mle"), NUMBERS),
    (PCA(2, svd_solver="randomized", random_state=np.random.RandomState(3)), NUMBERS),
    (TruncatedSVD(2, random_state=0), NUMBERS),
    (TruncatedSVD(1, algorithm="arpack", random_state=0), NUMBERS),
    (SimpleImputer(), GAPS),
    (SimpleImputer(strategy="median", add_indicator=True), GAPS),
    (SimpleImputer(strategy="most_frequent", keep_empty_features=True), GAPS.assign(empty=np.nan)),
    (SimpleImputer(strategy="mean"), GAPS.assign(empty=np.nan)),
    (SimpleImputer(strategy="constant", fill_value=-1.5), GAPS),
    (SimpleImputer(missing_values=0, strategy="mean"), WORDS[["whole"]].assign(more=1.5)),
    (FunctionTransformer(), NUMBERS),
    (FunctionTransformer(np.log1p, np.expm1, validate=True, feature_names_out="one-to-one"), NUMBERS),
    (FunctionTransformer(np.clip, kw_args={"a_min": 2, "a_max": None}), NUMBERS),
    (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), SOME_WORDS),
    (OneHotEncoder(), WORDS),
    (OneHotEncoder(drop="first", sparse_output=False, dtype=np.float32), WORDS),
    (OneHotEncoder(drop="if_binary", min_frequency=30), WORDS),
    (OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist"), WORDS),
    (OneHotEncoder(categories=[["small", "big"], [0, 1, 2, 3]], handle_unknown="ignore"), WORDS),
    (OneHotEncoder(), WORDS.astype(str).to_numpy().astype("U40")),
    (OneHotEncoder(), SOME_WORDS.assign(some=TABLE["gap"].round())),
    (OrdinalEncoder(), WORDS),
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
     SOME_WORDS),
    (make_pipeline(StandardScaler(), make_pipeline(PCA(2))), NUMBERS),
    ("passthrough", NUMBERS),
]  # fmt: skip


@pytest.mark.parametrize(("step", "X"), STEPS, ids=named)
def test_every_transformer_is_saved(step, X, tmp_path):
    path = tmp_path / "pipe"
    for rows in (X, X.to_numpy()) if isinstance(X, pd.DataFrame) and len(set(X.dtypes)) == 1 else (X,):
        pipe = make_pipeline(clone(step) if not isinstance(step, str) else step, clone(MODEL))
        if isinstance(step, StandardScaler) and sparse.issparse(rows):
            pipe[0].with_mean = False
        pipe.fit(rows)
        loaded = saved_and_loaded(pipe, path)
        assert_equal_pipelines(loaded, pipe, rows)
        assert difference(loaded[0], pipe[0]) is None
        first = path.read_bytes()
        save(loaded, path)
        assert path.read_bytes() == first


def test_every_declared_transformer_is_tested():
    steps = [step for step, _ in STEPS] + SCALERS
    assert {type(step).__name__ for step in steps} >= set(KINDS)


def test_new_words_are_encoded_as_before(tmp_path):
    pipe = make_pipeline(OneHotEncoder(handle_unknown="ignore"), clone(MODEL)).fit(WORDS)
    new = pd.DataFrame({"word": ["huge", "big"], "whole": [9, 1]})
    assert_equal_pipelines(saved_and_loaded(pipe, tmp_path / "pipe"), pipe, new)
    strict = make_pipeline(OneHotEncoder(), clone(MODEL)).fit(WORDS)
    with pytest.raises(ValueError, match="unknown categories"):
        saved_and_loaded(strict, tmp_path / "pipe").predict(new)


def test_single_precision_stays_single(tmp_path):
    X = NUMBERS.to_numpy(np.float32)
    pipe = make_pipeline(StandardScaler(), PCA(2), clone(MODEL)).fit(X)
    loaded = saved_and_loaded(pipe, tmp_path / "pipe")
    assert loaded[:-1].transform(X).dtype == np.float32
    assert_equal_pipelines(loaded, pipe, X)


def test_the_order_of_a_projection_in_memory_is_kept(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 40))
    for order in "CF":
        pipe = make_pipeline(PCA(17), clone(MODEL)).fit(X)
        pipe[0].components_ = np.asarray(pipe[0].components_, order=order)
        loaded = saved_and_loaded(pipe, tmp_path / "pipe")
        assert loaded[0].components_.flags[f"{order}_CONTIGUOUS"]
        assert_equal_pipelines(loaded, pipe, X)


# Column transformers


COLUMNS = [
    {"columns": ["größe", "width"]},
    {"columns": [1, 0]},
    {"columns": [-5, 0]},
    {"columns": np.array([0, 2])},
    {"columns": slice(0, 2)},
    {"columns": slice("width", "c")},
    {"columns": [True, False, True, False, False, False]},
    {"columns": make_column_selector(pattern="width|c")},
    {"columns": pd.Index(["c"])},
    {"columns": ["c"], "remainder": "passthrough"},
    {"columns": ["c"], "remainder": MinMaxScaler()},
    {"columns": ["width"], "sparse_threshold": 1.0},
    {"columns": ["width"], "transformer_weights": {"numbers": 2.5, "words": 1}},
    {"columns": ["width"], "verbose_feature_names_out": "{feature_name}@{transformer_name}"},
]


@pytest.mark.parametrize("options", COLUMNS, ids=named)
def test_column_transformers_are_saved(options, tmp_path):
    frame = TABLE.drop(columns="gap") if "remainder" in options else TABLE
    columns = options["columns"]
    parts = [
        ("numbers", StandardScaler(), columns),
        ("words", OneHotEncoder(), ["word"]),
        ("none", "passthrough", []),
        ("nothing", StandardScaler(), []),
        ("same", "passthrough", ["c"]),
        ("left", "drop", ["whole"]),
    ]
    split = ColumnTransformer(parts, **{name: value for name, value in options.items() if name != "columns"})
    pipe = make_pipeline(split, clone(MODEL)).fit(frame)
    loaded = saved_and_loaded(pipe, tmp_path / "pipe")
    for rows in (frame, pl.from_pandas(frame), frame[frame.columns[::-1]]):
        assert_equal_pipelines(loaded, pipe, rows)
    assert list(loaded[0].get_feature_names_out()) == list(pipe[0].get_feature_names_out())
    assert loaded[0].output_indices_ == pipe[0].output_indices_
    again = clone(loaded).fit(frame)
    assert_array_equal(again.predict(frame), pipe.predict(frame))
    first = (tmp_path / "pipe").read_bytes()
    save(loaded, tmp_path / "pipe")
    assert (tmp_path / "pipe").read_bytes() == first


def test_nested_compositions_are_saved(tmp_path):
    inner = ColumnTransformer([("a", StandardScaler(), [0])], remainder="passthrough")
    numbers = make_pipeline(SimpleImputer(add_indicator=True), inner, PCA(2))
    pipe = make_pipeline(
        ColumnTransformer([("numbers", numbers, ["gap", "c"]), ("words", OneHotEncoder(), ["word"])]), clone(MODEL)
    ).fit(TABLE)
    assert_equal_pipelines(saved_and_loaded(pipe, tmp_path / "pipe"), pipe, TABLE)


def test_a_table_of_200_columns_is_saved(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 200)), columns=[f"c{j}" for j in range(200)])
    X["w"] = np.arange(50) % 3
    split = ColumnTransformer([("n", StandardScaler(), list(X)[:200]), ("w", OneHotEncoder(), ["w"])])
    pipe = make_pipeline(split, clone(MODEL)).fit(X)
    assert_equal_pipelines(saved_and_loaded(pipe, tmp_path / "pipe"), pipe, X)


# What goes with a pipeline


def test_notes_and_resume_are_those_of_a_single_model(tmp_path):
    pipe = make_pipeline(StandardScaler(), clone(MODEL)).fit(NUMBERS)
    save(pipe, tmp_path / "pipe", resume=False, notes={"unit": "m"})
    saved = read(tmp_path / "pipe")
    assert saved.notes == {"unit": "m"}
    assert not hasattr(saved.model[-1], "labels_")
    assert_array_equal(saved.model.predict(NUMBERS), pipe[-1].labels_)
    with pytest.raises(ValueError, match="SumOfNorms needs its rows to predict"):
        save(make_pipeline(StandardScaler(), SumOfNorms(n_lambdas=5)).fit(NUMBERS), tmp_path / "pipe", resume=False)


def test_a_stream_in_a_pipeline_goes_on_learning(tmp_path):
    pipe = make_pipeline(StandardScaler(), IncrementalMDH(max_depth=2)).fit(NUMBERS)
    loaded = saved_and_loaded(pipe, tmp_path / "pipe")
    more = pipe[:-1].transform(NUMBERS)
    assert loaded[-1].partial_fit(more).tree_ == pipe[-1].partial_fit(more).tree_


def test_frames_between_steps_are_kept(tmp_path):
    pipe = make_pipeline(StandardScaler(), PCA(2), clone(MODEL)).set_output(transform="pandas").fit(NUMBERS)
    loaded = saved_and_loaded(pipe, tmp_path / "pipe")
    pd.testing.assert_frame_equal(loaded[:-1].transform(NUMBERS), pipe[:-1].transform(NUMBERS))
    assert list(loaded[-1].feature_names_in_) == ["pca0", "pca1"]
    assert isinstance(loaded.transform(NUMBERS), np.ndarray)


def test_settings_of_the_machine_are_left_out(tmp_path):
    pipe = Pipeline([("a", StandardScaler()), ("b", clone(MODEL))], memory=str(tmp_path / "cache"), verbose=False)
    loaded = saved_and_loaded(pipe.fit(NUMBERS), tmp_path / "pipe")
    assert loaded.memory is None
    assert_equal_pipelines(loaded, pipe, NUMBERS)


def test_a_pipeline_has_a_format_of_its_own_and_a_model_keeps_the_first(tmp_path):
    pipe = make_pipeline(StandardScaler(), clone(MODEL)).fit(NUMBERS)
    for model, version in ((pipe, 2), (pipe[-1], 1)):
        save(model, tmp_path / "model")
        with zipfile.ZipFile(tmp_path / "model") as archive:
            assert json.loads(archive.read(HEADER))["format_version"] == version


# What is refused


class Mine(StandardScaler):
    pass


REFUSED = [
    (make_pipeline(QuantileTransformer(n_quantiles=5), MODEL),
     "step 'quantiletransformer' is a QuantileTransformer, which ravine cannot save: apply it before"),
    (make_pipeline(Mine(), MODEL), "step 'mine' is a Mine, which ravine cannot save"),
    (make_pipeline(FunctionTransformer(lambda X: X), MODEL), "its function <lambda> is not one of the functions"),
    (make_pipeline(StandardScaler()), "the last step is StandardScaler"),
    (make_pipeline(make_pipeline(ColumnTransformer([("q", QuantileTransformer(n_quantiles=5), ["c"])])), MODEL),
     "step 'pipeline', step 'columntransformer', part 'q' is a QuantileTransformer"),
    (make_pipeline(SimpleImputer(strategy=np.median), MODEL), "field 'strategy' must be one of"),
]  # fmt: skip


@pytest.mark.parametrize(("pipe", "message"), REFUSED)
def test_what_cannot_be_saved_is_refused_by_its_step(pipe, message, tmp_path):
    pipe.fit(NUMBERS)
    with pytest.raises(ValueError, match="this Pipeline cannot be saved: ") as caught:
        save(pipe, tmp_path / "pipe")
    assert message in str(caught.value)
    assert not (tmp_path / "pipe").exists()


def test_pipelines_that_are_not_fitted_are_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save(make_pipeline(StandardScaler(), PDDP()), tmp_path / "pipe")
    pipe = make_pipeline(StandardScaler(), clone(MODEL)).fit(NUMBERS)
    pipe.steps[0] = ("other", MinMaxScaler())
    with pytest.raises(ValueError, match=r"step 'other' is a MinMaxScaler that ravine cannot save: .*not fitted"):
        save(pipe, tmp_path / "pipe")


def test_an_attribute_that_would_be_lost_is_noticed(tmp_path):
    pipe = make_pipeline(StandardScaler(), clone(MODEL)).fit(NUMBERS)
    pipe[0].new_in_a_later_version_ = 3
    with pytest.raises(ValueError, match="attribute that would be lost, new_in_a_later_version_"):
        save(pipe, tmp_path / "pipe")


def test_values_that_load_would_refuse_are_not_saved(tmp_path):
    pipe = make_pipeline(StandardScaler(), clone(MODEL)).fit(NUMBERS)
    pipe[0].scale_ = np.zeros(3)
    with pytest.raises(ValueError, match="step 'standardscaler': field 'scale_' has the entry 0"):
        save(pipe, tmp_path / "pipe")


# Changed files


def rich():
    """A pipeline with nearly every kind of part, and a small one."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), PowerTransformer(), PCA(2))
    logs = FunctionTransformer(np.log1p, feature_names_out="one-to-one")
    clip = FunctionTransformer(np.clip, kw_args={"a_min": 0, "a_max": None})
    split = ColumnTransformer(
        [
            ("numbers", numbers, ["gap", "c"]),
            ("words", OneHotEncoder(min_frequency=3, handle_unknown="ignore"), ["word"]),
            ("codes", OrdinalEncoder(), slice("whole", "whole")),
            ("logs", make_pipeline(logs, clip, MinMaxScaler()), [0]),
        ],
        remainder=RobustScaler(),
    )
    return make_pipeline(split, MaxAbsScaler(), NCutH(n_clusters=3, n_jobs=1))


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "pipe"
    out = []
    for pipe, X in ((rich(), TABLE), (make_pipeline(StandardScaler(), clone(MODEL)), NUMBERS)):
        save(pipe.fit(X), path)
        out.append((path.read_bytes(), X))
    return out


def check(content, X, path):
    """A changed file is refused by a ValueError, or gives a pipeline that predicts or refuses the rows in words."""
    path.write_bytes(content)
    found, peak = attempt(path)
    assert peak <= bound(len(content))
    if isinstance(found, Exception):
        assert isinstance(found, ValueError), repr(found)
        assert str(found).startswith(str(path))
        return False
    if isinstance(found, Pipeline):
        with contextlib.suppress(ValueError):
            assert len(found.predict(X)) == len(X)
    return True


@pytest.mark.parametrize("kind", [kind for kind in MUTATIONS if kind != "parameters"])
def test_changed_files_are_refused_or_predict(kind, contents, tmp_path):
    n_refused = 0
    for number in range(9):
        (ours, X), (theirs, _) = contents[:: 1 if number % 3 else -1]
        random = np.random.default_rng((7, number))
        n_refused += not check(MUTATIONS[kind](ours, theirs, random), X, tmp_path / "pipe")
    assert n_refused


STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-1, 0, 1, 2, 5, 10**6, 2**40, 2**63 - 1, 2**63]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "drop", "passthrough", "auto", "given", "object", "clip", "PCA", "Pipeline", "os.system"]),
    st.sampled_from(
        [[], {}, [0], [True], ["word"], {"slice": [None, None, None]}, {"$float": "nan"}, {"$tuple": [1, 2]}]
    ),
    st.sampled_from([{"$array": "steps.1.state.scale_"}, {"class": "PCA"}, {"slice": [0, 9**9, -1]}]),
)


def paths(node, path=()):
    if path:
        yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


@settings(max_examples=60)
@given(data=st.data())
def test_any_value_in_a_header_is_refused_or_predicts(data, contents, tmp_path_factory):
    content, X = contents[0]
    members = unpacked(content)
    header = json.loads(members[HEADER])
    every = [path for path in paths(header) if path[0] == "steps" and path[:2] != ("steps", 2)]
    for _ in range(data.draw(st.integers(1, 2))):
        *parents, key = data.draw(st.sampled_from(every))
        place = header
        try:
            for parent in parents:
                place = place[parent]
            place[key] = data.draw(STRANGE)
        except (TypeError, KeyError, IndexError):
            pass  # the first change has removed the place of the second
    check(packed({**members, HEADER: json.dumps(header).encode()}), X, tmp_path_factory.mktemp("changed") / "pipe")


def changed(content, change):
    members = unpacked(content)
    header = json.loads(members[HEADER])
    change(header)
    return packed({**members, HEADER: json.dumps(header).encode()})


def part(header, number=0):
    return header["steps"][0]["step"]["parts"][number]


CHANGES = [
    (lambda h: h.update(steps=[]), "needs steps with names"),
    (lambda h: h.update(steps=h["steps"][:-1]), "the last step of the pipeline is not an estimator of ravine"),
    (lambda h: h["steps"][1].update(name="columntransformer"), "names that differ"),
    (lambda h: h["steps"][1].update(step="drop"), "cannot be a step of a pipeline"),
    (lambda h: h["steps"][1].update(step="eval"), "neither a class with its fields nor 'passthrough'"),
    (lambda h: h["steps"][1]["step"].update({"class": "KMeans"}), "step 'maxabsscaler': contains a KMeans"),
    (lambda h: h["steps"][1]["step"].update(n_features_in=3), "field 'max_abs_' has shape"),
    (lambda h: h["steps"].insert(1, h["steps"].pop(2)), "is not the last one|takes"),
    (lambda h: h["steps"][1]["step"].update(output="excel"), "field 'output' of a step must be one of"),
    (lambda h: h["steps"][1]["step"].update(state=None), "is not fitted"),
    (lambda h: h["steps"][0]["step"].update(n_features_in=10**15), "a pipeline has at most 1000 and 262144"),
    (lambda h: h.update(steps=[{"step": {"class": "a"}}] * 1001), "has 1001 parts"),
    (lambda h: part(h).update(columns=["gap", "other"]), "there is no column 'other'"),
    (lambda h: part(h).update(columns=[0, 99]), "there is no column 99"),
    (lambda h: part(h).update(columns=["gap"]), "part 'numbers' was fitted on 2 columns, but has 1"),
    (lambda h: part(h).update(name="remainder"), "names that differ"),
    (lambda h: part(h, 1)["part"]["state"].update(infrequent=[{"$tuple": []}]), "field 'infrequent.0'"),
    (lambda h: part(h, 1)["part"]["parameters"].update(dtype="object"), "field 'dtype' must be one of"),
    (lambda h: part(h, 1)["part"]["state"]["categories"][0].update(values=["a", "a"]), "has an entry twice"),
    (lambda h: part(h, 3)["part"]["steps"][0]["step"]["parameters"].update(func="save"), "field 'func' must be one of"),
    (lambda h: part(h, 3)["part"]["steps"][0]["step"]["parameters"].update(func="clip"), "must have bounds for clip"),
    (lambda h: h["steps"][0]["step"]["parameters"].update(verbose_feature_names_out="{feature_name.__class__}"),
     "field 'verbose_feature_names_out' must be true, false, or a template"),
    (lambda h: h["steps"][0]["step"]["parameters"].update(transformer_weights={"numbers": "2"}), "finite numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), CHANGES, ids=[message for _, message in CHANGES])
def test_wrong_fields_are_refused_by_name(change, message, contents, tmp_path):
    (tmp_path / "pipe").write_bytes(changed(contents[0][0], change))
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "pipe")


# Transformers of ravine


class Doubled(TransformerMixin, BaseEstimator):
    """A transformer with what a class of ravine has for its files."""

    _parameter_constraints: ClassVar = {"factor": [float]}
    _schema = Group({"most": Array("float64", ("n_features",))})

    def __init__(self, factor=2.0):
        self.factor = factor

    def fit(self, X, y=None):
        X = validate_data(self, X)
        self.most_ = X.max(axis=0)
        return self

    def transform(self, X):
        return validate_data(self, X, reset=False) * self.factor / self.most_

    def _state(self, resume):
        return {"most": self.most_}

    def _restore(self, state):
        self.most_ = state["most"]


def test_a_registered_transformer_of_ravine_is_saved(tmp_path, monkeypatch):
    pipe = make_pipeline(Doubled(3.0), StandardScaler(), clone(MODEL)).fit(NUMBERS)
    with pytest.raises(ValueError, match="step 'doubled' is a Doubled, which ravine cannot save"):
        save(pipe, tmp_path / "pipe")
    monkeypatch.setitem(PREPARATIONS, "Doubled", Doubled.__module__)
    loaded = saved_and_loaded(pipe, tmp_path / "pipe")
    assert_equal_pipelines(loaded, pipe, NUMBERS)
    assert loaded[0].factor == 3.0
    pipe[0].most_ = np.ones(2)
    with pytest.raises(ValueError, match="step 'doubled': field 'most' has shape"):
        save(pipe, tmp_path / "pipe")
