import importlib
import inspect
import pickle
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import adjusted_rand_score

from ravine import HSDC, PDDP, IncrementalMDH, StreamClusterer, SupportVectorClustering
from ravine.datasets import make_blobs

pytest.importorskip("river", exc_type=ModuleNotFoundError)

from river import checks, compose, datasets, metrics, preprocessing, stream
from river import evaluate as river_evaluate
from river.checks import common

from ravine.river import RiverClusterer

MODELS = [IncrementalMDH(algorithm="online", max_depth=3), HSDC(), HSDC(inherit=True), StreamClusterer()]
each = pytest.mark.parametrize("model", MODELS, ids=repr)

GENERAL_CHECKS = list(checks.yield_checks(RiverClusterer(MODELS[0])))

# River makes no data for clusterers, so that `yield_checks` leaves out its checks on data: they are run here.
DATA_CHECKS = [
    common.check_learn_one,
    common.check_pickling,
    common.check_shuffle_features_no_impact,
    common.check_emerging_features,
    common.check_disappearing_features,
    common.check_radically_disappearing_features,
    common.check_no_state_aliasing_with_input,
    common.check_clone_is_independent,
    common.check_learn_many_matches_learn_one,
    common.check_bounded_memory_growth,
]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(400, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 5]], random_state=1)


def dicts(X):
    return [x for x, _ in stream.iter_array(X, feature_names=["a", "b", "c"])]


@each
@pytest.mark.parametrize("check", GENERAL_CHECKS, ids=lambda check: check.__name__)
def test_river_checks_hold(check, model):
    check(RiverClusterer(clone(model)))


@each
@pytest.mark.parametrize("check", DATA_CHECKS, ids=lambda check: check.__name__)
def test_river_checks_on_data_hold(check, model):
    check(RiverClusterer(clone(model)), list(islice(datasets.Phishing(), 100)))


def test_river_leaves_its_checks_on_data_to_this_file():
    assert not any("dataset" in inspect.signature(check).parameters for check in GENERAL_CHECKS)
    assert RiverClusterer(MODELS[0])._unit_test_skips() == set()


@each
def test_row_by_row_equals_the_model_on_arrays(model, blobs):
    X, _ = blobs
    adapter, rows = RiverClusterer(clone(model)), dicts(X)
    for x in rows[:300]:
        adapter.learn_one(x)
    expected = clone(model).partial_fit(X[:300])
    assert adapter.model_.tree_ == expected.tree_
    ids = np.asarray(getattr(expected, "cluster_ids_", np.arange(expected.n_clusters_)))
    assert [adapter.predict_one(x) for x in rows] == ids[expected.predict(X)].tolist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
@each
def test_frames_equal_rows_and_give_series_of_their_library(library, model, blobs):
    frames = pytest.importorskip(library)
    X, _ = blobs
    frame, one, many = frames.DataFrame(dicts(X)), RiverClusterer(clone(model)), RiverClusterer(clone(model))
    assert many.predict_many(frame).to_list() == [0] * 400
    for x in dicts(X):
        one.learn_one(x)
    for start, size in ((0, 1), (1, 250), (251, 0), (251, 149)):
        many.learn_many(frame[start : start + size])
    assert many.model_.tree_ == one.model_.tree_
    found = many.predict_many(frame[["c", "a", "b"]])
    assert isinstance(found, frames.Series)
    assert found.to_list() == [one.predict_one(x) for x in dicts(X)]
    assert len(many.predict_many(frame[:0])) == 0


def test_series_has_the_index_of_its_frame(blobs):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(blobs[0], index=np.arange(400)[::-1])
    adapter = RiverClusterer(clone(MODELS[0]))
    adapter.learn_many(frame)
    assert adapter.features_ == [0, 1, 2]
    found = adapter.predict_many(frame[::2])
    assert_array_equal(found.index, frame.index[::2])
    assert_array_equal(found, adapter.model_.predict(blobs[0][::2]))


class Sides(BaseEstimator):
    """Two clusters, left and right of 0 in the first column, whose stable numbers are 7 and 3."""

    def partial_fit(self, X):
        self.rows_ = [*getattr(self, "rows_", []), *X.tolist()]
        self.cluster_ids_ = [7, 3]
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_clusters_have_their_stable_numbers():
    pd = pytest.importorskip("pandas")
    adapter = RiverClusterer(Sides())
    assert adapter.predict_one({"a": 1.0}) == 0
    adapter.learn_one({"a": 1.0})
    found = adapter.predict_one({"a": 1.0})
    assert found == 3
    assert type(found) is int
    assert adapter.predict_one({"a": -1.0}) == 7
    assert adapter.predict_many(pd.DataFrame({"a": [2.0, -2.0]})).to_list() == [3, 7]


def test_columns_are_the_features_of_the_first_row_in_order_and_what_is_missing_is_0():
    pd = pytest.importorskip("pandas")
    adapter = RiverClusterer(Sides())
    adapter.learn_one({"b": 2, "a": True})
    adapter.learn_one({"z": 9.0, "a": 3.0})
    adapter.learn_many(pd.DataFrame({"z": ["word"], "b": [4.0]}))
    adapter.learn_one({})
    assert adapter.features_ == ["a", "b"]
    assert adapter.model_.rows_ == [[1, 2], [3, 0], [0, 4], [0, 0]]


def test_named_features_may_come_later_in_the_stream():
    adapter = RiverClusterer(Sides(), features=("late", "a"))
    adapter.learn_one({"a": 1.0})
    adapter.learn_one({"a": 1.0, "late": 5.0})
    assert adapter.model_.rows_ == [[0, 1], [5, 1]]
    assert adapter.clone().features_ == ["late", "a"]


def test_features_of_different_types_have_an_order():
    adapter = RiverClusterer(Sides())
    adapter.learn_one({"b": 1.0, 10: 2.0, 9: 3.0, "a": 4.0})
    assert adapter.features_ == [9, 10, "a", "b"]


def test_row_that_cannot_be_learned_says_so_and_changes_nothing(blobs):
    adapter = RiverClusterer(clone(MODELS[0]))
    with pytest.raises(ValueError, match="0 feature"):
        adapter.learn_one({})
    for x in dicts(blobs[0][:100]):
        adapter.learn_one(x)
    before = adapter.model_.tree_
    for value, message in ((float("nan"), "NaN"), ("word", "feature 'a' is 'word', a str")):
        with pytest.raises(ValueError, match=message):
            adapter.learn_one({"a": value, "b": 1.0, "c": 1.0})
    assert adapter.model_.tree_ == before


BAD_VALUES = {
    "string": "3.5",
    "none": None,
    "complex": 1j,
    "datetime": datetime(2024, 1, 1),
    "date": date(2024, 1, 1),
    "numpy datetime": np.datetime64("2024-01-01", "ns"),
    "timedelta": timedelta(days=1),
    "numpy timedelta": np.timedelta64(1, "D"),
    "list": [1.0],
    "beyond floats": 10**400,
    "nan": float("nan"),
    "decimal nan": Decimal("NaN"),
    "infinity": float("inf"),
}
GOOD_VALUES = [3, 3.0, True, np.int8(3), np.float32(3), np.bool_(True), Decimal("3.5"), Fraction(7, 2), 2**60]


IN_POLARS = ("string", "none", "datetime", "date", "timedelta", "list", "nan", "infinity")
"""Others it does not take itself."""


@pytest.mark.parametrize(
    ("name", "library"), [*((name, "pandas") for name in BAD_VALUES), *((name, "polars") for name in IN_POLARS)]
)
def test_value_that_is_no_number_is_refused_in_rows_and_in_frames_and_changes_nothing(name, library, blobs):
    value = BAD_VALUES[name]
    frame = pytest.importorskip(library).DataFrame({"a": [value, value], "b": [1.0, 2.0]})
    adapter = RiverClusterer(clone(MODELS[1]))
    for learn in (lambda: adapter.learn_one({"a": value, "b": 1.0}), lambda: adapter.learn_many(frame)):
        with pytest.raises(ValueError, match=r"NaN|infinity|feature 'a' is"):
            learn()
        assert adapter.features_ == []
        assert adapter.predict_one({"x": 1.0}) == 0
    for x in dicts(blobs[0]):
        adapter.learn_one(x)
    assert adapter.features_ == ["a", "b", "c"]
    assert adapter.model_.tree_ == clone(MODELS[1]).partial_fit(blobs[0]).tree_


@pytest.mark.parametrize("value", GOOD_VALUES, ids=lambda value: f"{type(value).__name__}-{value}")
def test_real_numbers_of_any_type_are_the_same_in_rows_and_in_frames(value):
    pd = pytest.importorskip("pandas")
    one, many = RiverClusterer(Sides()), RiverClusterer(Sides())
    one.learn_one({"a": value, "b": 1})
    many.learn_many(pd.DataFrame({"a": [value], "b": [1]}))
    assert one.model_.rows_ == many.model_.rows_ == [[float(value), 1.0]]


def test_model_that_notes_something_of_a_refused_first_row_is_begun_anew():
    class Hasty(Sides):
        def partial_fit(self, X):
            self.seen_ = X.shape[1]
            if (X < 0).any():
                raise ValueError("negative")
            return super().partial_fit(X)

    adapter = RiverClusterer(Hasty())
    with pytest.raises(ValueError, match="negative"):
        adapter.learn_one({"wrong": -1.0})
    assert not hasattr(adapter.model_, "seen_")
    adapter.learn_one({"a": 1.0, "b": 2.0})
    assert (adapter.features_, adapter.model_.rows_) == (["a", "b"], [[1.0, 2.0]])


def test_series_is_a_row_whose_index_has_the_names():
    pd = pytest.importorskip("pandas")
    adapter = RiverClusterer(Sides())
    adapter.learn_one(pd.Series({"b": 2.0, "a": 1.0}))
    adapter.learn_one(pd.Series([5.0, 9.0], index=["a", "late"]))
    assert (adapter.features_, adapter.model_.rows_) == (["a", "b"], [[1.0, 2.0], [5.0, 0.0]])
    assert adapter.predict_one(pd.Series({"a": -1.0})) == 7
    with pytest.raises(ValueError, match="feature twice"):
        adapter.learn_one(pd.Series([1.0, 2.0], index=["a", "a"]))


@pytest.mark.parametrize("row", [[1.0, 2.0], np.array([1.0, 2.0]), (("a", 1.0),), "ab", None, 3.0])
def test_what_is_no_row_is_refused_in_words(row):
    adapter = RiverClusterer(Sides())
    for call in (adapter.learn_one, adapter.predict_one):
        with pytest.raises(TypeError, match="pass a dict of features, or a pandas Series"):
            call(row)
    assert adapter.features_ == []


def test_frame_is_no_row():
    pd = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="learn_many"):
        RiverClusterer(Sides()).learn_one(pd.DataFrame({"a": [1.0]}))


def test_clone_has_learned_nothing_and_the_given_model_neither(blobs):
    model = clone(MODELS[0])
    adapter = RiverClusterer(model)
    for x in dicts(blobs[0]):
        adapter.learn_one(x)
    other = adapter.clone()
    assert len({adapter.predict_one(x) for x in dicts(blobs[0])}) > 1
    assert {other.predict_one(x) for x in dicts(blobs[0])} == {0}
    assert other.features_ == []
    assert not model.__sklearn_is_fitted__()


def test_pickled_adapter_goes_on_learning(blobs):
    rows = dicts(blobs[0])
    adapter = RiverClusterer(clone(MODELS[0]))
    for x in rows[:200]:
        adapter.learn_one(x)
    copy = pickle.loads(pickle.dumps(adapter))
    for x in rows[200:]:
        adapter.learn_one(x)
        copy.learn_one(x)
    assert copy.model_.tree_ == adapter.model_.tree_


@each
def test_pipeline_of_river_learns_and_predicts(model, blobs):
    X, y = blobs
    pipeline = preprocessing.StandardScaler() | RiverClusterer(clone(model))
    assert isinstance(pipeline, compose.Pipeline)
    found = []
    for x in dicts(X):
        found.append(pipeline.predict_one(x))
        pipeline.learn_one(x)
    assert found[0] == 0
    assert adjusted_rand_score(y[200:], found[200:]) > 0.5


def test_pipeline_of_river_takes_frames(blobs):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(dicts(blobs[0]))
    pipeline = preprocessing.StandardScaler() | RiverClusterer(clone(MODELS[0]))
    pipeline.learn_many(frame[:200])
    pipeline.learn_many(frame[200:])
    assert pipeline.predict_many(frame).nunique() > 1


def test_metrics_of_river_evaluate_the_adapter(blobs):
    X, y = blobs
    dataset = zip(dicts(X), y.tolist(), strict=True)
    score = river_evaluate.progressive_val_score(dataset, RiverClusterer(clone(MODELS[0])), metrics.VBeta())
    assert 0.4 < score.get() <= 1


def test_model_that_cannot_learn_from_a_stream_is_refused():
    with pytest.raises(TypeError, match="PDDP has no partial_fit"):
        RiverClusterer(PDDP())


def test_model_that_has_learned_before_is_refused(blobs):
    with pytest.raises(ValueError, match="is already fitted"):
        RiverClusterer(clone(MODELS[0]).partial_fit(blobs[0]))


def test_missing_river_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "ravine.river")
    with pytest.raises(ImportError, match=r"pip install 'ravine\[river\]'"):
        importlib.import_module("ravine.river")


# StreamClusterer, one row at a time


@pytest.fixture(scope="module")
def changing():
    """Three clusters in six columns, of which one moves after 600 rows; with ones and repeated rows."""
    X, y = make_blobs(1200, centers=12 * np.eye(3, 6), random_state=2)
    X[600:] += np.where(y[600:, np.newaxis] == 1, 5.0, 0.0)
    X[::7, 5], X[::11] = 1.0, X[0]
    return X


def saved(model):
    return pickle.dumps(model._stream_state())


def test_model_is_a_stream_clusterer_by_default():
    adapter = RiverClusterer()
    assert type(adapter.model_) is StreamClusterer
    assert adapter.model is None
    assert type(adapter.clone().model_) is StreamClusterer


def test_single_rows_give_the_answers_of_partial_fit_and_predict_bit_for_bit(changing):
    adapter, model = RiverClusterer(), StreamClusterer()
    answers, expected = [], []
    for x, row in zip((x for x, _ in stream.iter_array(changing)), changing, strict=True):
        answers.append(adapter.predict_one(x))
        adapter.learn_one(x)
        if hasattr(model, "n_features_in_"):
            expected.append(model.cluster_ids_[model.predict([row])[0]])
        model.partial_fit([row])
    assert answers == [0, *expected]
    assert len(set(answers)) > 3
    assert model.n_events_["split"] > 0
    assert model.n_events_["moved"] + model.n_events_["vanished"] + model.n_events_["drift"] > 0
    assert saved(adapter.model_) == saved(model)
    assert adapter.model_.events_ == model.events_
    assert_array_equal(adapter.model_.labels_, model.labels_)


def test_single_rows_give_the_state_of_one_batch_bit_for_bit(changing):
    model = StreamClusterer(dependence=1)
    adapter = RiverClusterer(model)
    for x, _ in stream.iter_array(changing):
        adapter.learn_one(x)
    assert saved(adapter.model_) == saved(clone(model).partial_fit(changing))


def test_single_row_on_a_cut_has_the_same_side_as_in_predict(changing):
    adapter = RiverClusterer()
    for x, _ in stream.iter_array(changing):
        adapter.learn_one(x)
    tree, _ = adapter.model_._stream.snapshot()
    shown = pickle.loads(pickle.dumps(adapter.model_))
    assert len(tree.cuts) >= 2
    for cut in tree.cuts:
        normal, offset = tree.normal[cut], tree.offset[cut]
        on_cut = changing[:300] - np.outer(changing[:300] @ normal - offset, normal)
        found = [adapter.predict_one(x) for x, _ in stream.iter_array(on_cut)]
        assert found == shown.cluster_ids_[shown.predict(on_cut)].tolist()


def test_tree_that_was_looked_at_answers_as_the_stream_does(changing):
    one, other = RiverClusterer(), RiverClusterer()
    for x, _ in stream.iter_array(changing[:600]):
        one.learn_one(x)
        other.learn_one(x)
    assert other.model_.n_clusters_ > 2
    rows = [x for x, _ in stream.iter_array(changing)]
    assert [one.predict_one(x) for x in rows] == [other.predict_one(x) for x in rows]


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), -1e200])
@pytest.mark.parametrize("n_learned", [0, 1, 300])
def test_single_row_is_refused_with_the_error_of_the_model_and_changes_nothing(value, n_learned, blobs):
    adapter, model = RiverClusterer(features=["a"]), StreamClusterer()
    for learned in blobs[0][:n_learned, 0].tolist():
        adapter.learn_one({"a": learned})
        model.partial_fit([[learned]])
    before = saved(adapter.model_) if n_learned else None
    calls = [(adapter.learn_one, model.partial_fit), (adapter.predict_one, model.predict)]
    for of_adapter, of_model in calls[: 1 if n_learned == 0 else 2]:  # before the first row, every cluster is 0
        with pytest.raises(ValueError, match=r"NaN|infinity|overflow") as expected:
            of_model([[value]])
        with pytest.raises(ValueError, match=r"NaN|infinity|overflow") as refusal:
            of_adapter({"a": value})
        assert str(refusal.value) == str(expected.value)
    assert (saved(adapter.model_) if n_learned else None) == before
    assert adapter.model_.__sklearn_is_fitted__() == (n_learned > 0)


def test_single_row_of_vanishing_values_is_refused_unless_the_stream_has_larger_ones():
    adapter = RiverClusterer(features=["a"])
    for value in (0.0, 0.0):
        adapter.learn_one({"a": value})
    with pytest.raises(ValueError, match="would vanish"):
        adapter.learn_one({"a": 1e-200})
    assert adapter.model_.n_samples_seen_ == 2
    for value in (1.0, 1e-200):
        adapter.learn_one({"a": value})
    assert adapter.model_.n_samples_seen_ == 4


def test_integers_and_bools_are_learned_as_floats():
    mixed, floats = RiverClusterer(), RiverClusterer()
    for k in range(200):
        mixed.learn_one({"a": k % 7, "b": k % 2 == 0, "c": np.float64(k)})
        floats.learn_one({"a": float(k % 7), "b": float(k % 2 == 0), "c": float(k)})
    assert saved(mixed.model_) == saved(floats.model_)


def test_function_that_refuses_an_event_leaves_the_model_unchanged(changing):
    def refuse(event):
        raise RuntimeError(event["kind"])

    adapter, plain = RiverClusterer(StreamClusterer(on_event=refuse)), RiverClusterer()
    rows = [x for x, _ in stream.iter_array(changing)]
    n_before = StreamClusterer().partial_fit(changing).events_[0]["row"]
    for x in rows[:n_before]:
        adapter.learn_one(x)
        plain.learn_one(x)
    with pytest.raises(RuntimeError, match="split"):
        adapter.learn_one(rows[n_before])
    assert saved(adapter.model_) == saved(plain.model_)


def test_subclass_learns_and_predicts_by_its_own_methods():
    class Noted(StreamClusterer):
        def partial_fit(self, X, y=None):
            self.calls_ = [*getattr(self, "calls_", []), "partial_fit"]
            return super().partial_fit(X)

        def predict(self, X):
            self.calls_ = [*self.calls_, "predict"]
            return super().predict(X)

    adapter = RiverClusterer(Noted())
    adapter.learn_one({"a": 1.0})
    adapter.predict_one({"a": 1.0})
    assert adapter.model_.calls_ == ["partial_fit", "predict"]


def test_single_rows_neither_check_parameters_nor_build_a_tree(changing, monkeypatch):
    adapter = RiverClusterer()
    rows = [x for x, _ in stream.iter_array(changing)]
    adapter.learn_one(rows[0])
    for name in ("_validate_params", "_read", "tree_"):
        monkeypatch.setattr(StreamClusterer, name, None)
    for x in rows[1:100]:
        adapter.predict_one(x)
        adapter.learn_one(x)
    assert adapter.model_.n_samples_seen_ == 100


# IncrementalMDH: the tree is grown again only if the rows have grown by a tenth


def counted_growth(monkeypatch):
    """Return a list that gets the number of rows each time when a tree is grown."""
    grown, settle = [], IncrementalMDH._settle

    def counted(self, on_split):
        grown.append(self.n_samples_seen_)
        return settle(self, on_split)

    monkeypatch.setattr(IncrementalMDH, "_settle", counted)
    return grown


def test_incremental_mdh_grows_its_tree_again_when_the_rows_have_grown_by_a_tenth(blobs, monkeypatch):
    grown = counted_growth(monkeypatch)
    adapter = RiverClusterer(clone(MODELS[0]))
    for x in dicts(blobs[0]):
        adapter.learn_one(x)
        adapter.predict_one(x)
    expected = [1]
    for n in range(2, 401):
        if n - expected[-1] >= 0.1 * expected[-1]:
            expected.append(n)
    assert grown == expected
    assert len(grown) < 60


def test_incremental_mdh_that_forgets_grows_its_tree_after_a_tenth_of_its_memory(blobs, monkeypatch):
    grown = counted_growth(monkeypatch)
    adapter = RiverClusterer(IncrementalMDH(algorithm="online", max_depth=3, memory_length=100))
    for x in dicts(blobs[0]):
        adapter.learn_one(x)
        adapter.predict_one(x)
    assert np.diff(grown).max() == 10


def test_incremental_mdh_answers_by_its_last_tree_until_then(blobs):
    X, rows = blobs[0], dicts(blobs[0])
    adapter, model = RiverClusterer(clone(MODELS[0])), clone(MODELS[0]).partial_fit(X[:300])
    for x in rows[:300]:
        adapter.learn_one(x)
    expected = model.cluster_ids_[model.predict(X)].tolist()
    assert [adapter.predict_one(x) for x in rows] == expected
    for x in rows[300:329]:
        adapter.learn_one(x)
    assert [adapter.predict_one(x) for x in rows] == expected
    assert adapter.model_.tree_ == clone(MODELS[0]).partial_fit(X[:329]).tree_


def test_questions_to_the_adapter_change_no_tree_of_its_incremental_mdh(blobs):
    X = blobs[0]
    model = IncrementalMDH(selection="evidence")
    asked = RiverClusterer(model)
    for x in dicts(X[:150]):
        asked.learn_one(x)
        asked.predict_one(x)
    model.partial_fit(X[:150])
    assert asked.model_.tree_ == model.tree_
    assert_array_equal(asked.model_.predict(X), model.predict(X))
    assert_array_equal(asked.model_.labels_, asked.model_.predict(X[149:150]))


def test_old_tree_of_an_incremental_mdh_refuses_what_predict_refuses(blobs):
    adapter = RiverClusterer(clone(MODELS[0]))
    for x in dicts(blobs[0][:100]):
        adapter.learn_one(x)
    adapter.predict_one({"a": 1.0})
    adapter.learn_one({"a": 1.0})
    for value, message in ((float("nan"), "NaN"), (float("inf"), "infinity")):
        with pytest.raises(ValueError, match=message):
            adapter.predict_one({"a": value})


@pytest.mark.parametrize("model", [IncrementalMDH(outliers="label"), SupportVectorClustering(outliers="label")])
def test_outliers_have_no_cluster(model, blobs):
    adapter, (X, _) = RiverClusterer(model), blobs
    for row in dicts(X[:300]):
        adapter.learn_one(row)
    assert [adapter.predict_one(row) for row in dicts(X[:2] + 1e4)] == [-1, -1]
    found = {adapter.predict_one(row) for row in dicts(X[:50])}
    assert found - {-1} == set(adapter.model_.cluster_ids_.tolist())
