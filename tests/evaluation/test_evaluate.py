import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import (
    adjusted_rand_score,
    completeness_score,
    homogeneity_score,
    normalized_mutual_info_score,
    v_measure_score,
)

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from ravine import HSDC, PDDP, IncrementalMDH, plot
from ravine.datasets import make_overhaul_stream
from ravine.evaluation import Evaluation, evaluate
from ravine.metrics import purity

MODELS = [IncrementalMDH(algorithm="online", max_depth=4), IncrementalMDH(selection="evidence", sample_size=120)]
MODELS += [HSDC(inherit=inherit) for inherit in (False, True)]
NAMES = [f"column {j}" for j in range(20)]
each = pytest.mark.parametrize("model", MODELS, ids=repr)


class Counter(BaseEstimator):
    """Remembers each call. Predicts how many rows it has learned; drifts every 250 rows, splits every 100."""

    def partial_fit(self, X):
        n_before = getattr(self, "n_rows_", 0)
        if n_before == 0:
            self.calls_, self.events_, self.n_events_ = [], [], {"drift": 0, "split": 0}
        self.n_rows_ = n_before + X.shape[0]
        self.calls_.append(("learn", np.asarray(X)[:, 0].tolist()))
        for row in range(n_before, self.n_rows_):
            for kind, every in (("drift", 250), ("split", 100)):
                if row % every == every - 1:
                    self.events_.append({"row": row, "kind": kind})
                    self.n_events_[kind] += 1
        return self

    def predict(self, X):
        self.calls_.append(("predict", np.asarray(X)[:, 0].tolist()))
        return np.full(X.shape[0], self.n_rows_)

    @property
    def n_clusters_(self):
        return self.n_rows_


def numbered(n_rows):
    return np.arange(n_rows, dtype=float)[:, np.newaxis]


def batches(X, y, sizes):
    start, i = 0, 0
    while start < len(X):
        part = slice(start, start + sizes[i % len(sizes)])
        yield X[part], None if y is None else y[part]
        start, i = part.stop, i + 1


def timeless(evaluation):
    timed = ("seconds", "rows_per_second")
    return [{name: value for name, value in r.items() if name not in timed} for r in evaluation.records]


@pytest.fixture(scope="module")
def overhaul():
    return make_overhaul_stream(1950, every=900, n_classes=10, n_features=20, random_state=3)


def naive(model, X, y, segment, every):
    """One row at a time: at the first row of a segment all of it is predicted."""
    model, records = clone(model), []
    for row in range(len(X)):
        if row and row % every == 0 and row + segment <= len(X):
            labels, classes = model.predict(X[row : row + segment]), y[row : row + segment]
            records.append((row, purity(classes, labels), v_measure_score(classes, labels), model.n_clusters_))
        model.partial_fit(X[row : row + 1])
    return records


@each
def test_evaluation_equals_the_obvious_loop(model, overhaul):
    X, y = overhaul
    found = evaluate(clone(model), X, y, segment=60, every=150).records
    expected = naive(model, X, y, segment=60, every=150)
    assert len(found) == 12
    assert max(r["n_clusters"] for r in found) > 1
    assert_allclose([(r["row"], r["purity"], r["v_measure"], r["n_clusters"]) for r in found], expected, atol=1e-12)


@each
@pytest.mark.parametrize("sizes", [[1], [100], [7, 333, 1], [10_000]])
def test_batches_of_the_stream_have_no_say(model, sizes, overhaul):
    X, y = overhaul
    X, y = X[:800], y[:800]
    whole, broken = clone(model), clone(model)
    assert timeless(evaluate(whole, X, y)) == timeless(evaluate(broken, batches(X, y, sizes)))
    assert whole.tree_ == broken.tree_


@given(
    n_rows=st.integers(1, 60),
    segment=st.integers(1, 12),
    gap=st.integers(0, 12),
    sizes=st.lists(st.integers(1, 25), min_size=1, max_size=4),
)
def test_every_row_is_learned_once_in_order_and_scored_rows_are_predicted_before(n_rows, segment, gap, sizes):
    X, every = numbered(n_rows), segment + gap
    model = Counter()
    found = evaluate(model, batches(X, None, sizes), segment=segment, every=every)
    assert [r["row"] for r in found.records] == list(range(every, n_rows - segment + 1, every))
    assert [r["n_clusters"] for r in found.records] == [r["row"] for r in found.records]
    calls = getattr(model, "calls_", [])
    assert [row for call, rows in calls if call == "learn" for row in rows] == list(range(n_rows))
    learned = 0
    for call, rows in calls:
        learned += len(rows) if call == "learn" else 0
        assert call == "learn" or (min(rows) >= learned and rows[0] // every == learned // every)


@pytest.mark.parametrize("n_rows", [100, 200, 299])
def test_stream_without_a_second_whole_segment_is_learned_and_not_scored(n_rows):
    model = Counter()
    found = evaluate(model, numbered(n_rows))
    assert found == Evaluation([], [{"row": row, "kind": kind} for row, kind in events_before(n_rows)])
    assert found.mean() == {}
    assert model.n_rows_ == n_rows


def events_before(n_rows):
    found = [(row, "drift") for row in range(249, n_rows, 250)] + [(row, "split") for row in range(99, n_rows, 100)]
    return sorted(found)


def test_events_are_counted_up_to_the_segment_and_listed_to_the_end():
    found = evaluate(Counter(), numbered(1050))
    assert [r["row"] for r in found.records] == [200, 400, 600, 800]
    assert [r["n_drifts"] for r in found.records] == [0, 1, 2, 3]
    assert [r["n_splits"] for r in found.records] == [2, 4, 6, 8]
    assert [(event["row"], event["kind"]) for event in found.events] == events_before(1050)


def test_model_that_has_learned_before_is_scored_from_the_first_row_without_its_old_events():
    model = Counter().partial_fit(numbered(500))
    found = evaluate(model, numbered(300))
    assert [r["row"] for r in found.records] == [0, 200]
    assert [r["n_clusters"] for r in found.records] == [500, 700]
    assert [r["n_splits"] for r in found.records] == [0, 2]
    assert [event["row"] for event in found.events] == [599, 699, 749, 799]


def test_all_scores_are_those_of_scikit_learn(overhaul):
    X, y = overhaul
    names = ("purity", "v_measure", "nmi", "ari", "homogeneity", "completeness")
    model = clone(MODELS[0])
    (record,) = evaluate(model, X[:700], y[:700], every=600, metrics=names).records
    labels = clone(model).partial_fit(X[:600]).predict(X[600:700])
    of_scikit_learn = (
        v_measure_score,
        normalized_mutual_info_score,
        adjusted_rand_score,
        homogeneity_score,
        completeness_score,
    )
    expected = [score(y[600:700], labels) for score in (purity, *of_scikit_learn)]
    assert 0.1 < expected[1] < 1
    assert_allclose([record[name] for name in names], expected)


def test_classes_may_be_words_of_different_lengths(overhaul):
    X, y = overhaul
    words = np.array(["x" * (i + 1) for i in range(10)])[y]
    expected = timeless(evaluate(clone(MODELS[0]), X, y))
    assert timeless(evaluate(clone(MODELS[0]), X, list(words))) == expected
    in_batches = ((rows, classes.tolist()) for rows, classes in batches(X, words, [30]))
    assert timeless(evaluate(clone(MODELS[0]), in_batches)) == expected


def test_frames_and_sparse_rows_are_taken(overhaul):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = overhaul[0][:700], overhaul[1][:700]
    expected = timeless(evaluate(clone(MODELS[0]), X, y))
    frame = pd.DataFrame(X, columns=NAMES, index=np.arange(700)[::-1])
    model = clone(MODELS[0])
    assert timeless(evaluate(model, frame, pd.Series(y, index=frame.index))) == expected
    assert model.feature_names_in_.tolist() == NAMES
    assert timeless(evaluate(clone(MODELS[0]), pl.DataFrame(X, schema=NAMES), pl.Series(y))) == expected
    in_batches = ((sparse.csr_array(rows), classes) for rows, classes in batches(X, y, [130]))
    as_sparse = evaluate(clone(MODELS[0]), in_batches)
    assert timeless(as_sparse) == timeless(evaluate(clone(MODELS[0]), sparse.csr_array(X), y))


def test_records_are_a_tidy_table(overhaul):
    pd = pytest.importorskip("pandas")
    X, y = overhaul
    found = evaluate(clone(MODELS[0]), X, y)
    table = pd.DataFrame(found.records)
    scores, counts = ["purity", "v_measure", "nmi"], ["n_clusters"]
    assert list(table) == ["row", *scores, *counts, "seconds", "rows_per_second"]
    assert not table.isna().any(axis=None)
    assert table["row"].tolist() == list(range(200, 1801, 200))
    means = found.mean()
    assert list(means) == [*scores, "n_clusters", "rows_per_second"]
    for name in (*scores, "n_clusters"):
        assert means[name] == pytest.approx(table[name].mean())


def test_mean_speed_is_all_rows_over_all_seconds(overhaul):
    X, y = overhaul
    found = evaluate(clone(MODELS[0]), X, y)
    n_rows = [r["rows_per_second"] * r["seconds"] for r in found.records]
    assert_allclose(n_rows, [200] * 8 + [150])
    seconds = sum(r["seconds"] for r in found.records)
    assert found.mean()["rows_per_second"] == pytest.approx(1750 / seconds)


def test_without_classes_there_are_no_scores(overhaul):
    found = evaluate(clone(MODELS[0]), overhaul[0])
    assert list(found.records[0]) == ["row", "n_clusters", "seconds", "rows_per_second"]


def test_estimators_of_others_are_evaluated_too(overhaul):
    X, y = overhaul
    found = evaluate(MiniBatchKMeans(10, n_init=1, random_state=0), X, y)
    assert found.mean()["purity"] > 0.5
    assert all(np.isnan(r["n_clusters"]) and "n_drifts" not in r for r in found.records)


def test_empty_batches_are_passed_over():
    X = numbered(450)
    with_holes = [(X[:0], None), (X[:250], None), (X[:0], None), (X[250:], None)]
    assert timeless(evaluate(Counter(), with_holes)) == timeless(evaluate(Counter(), X))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((numbered(50), np.zeros(49)), {}, r"y has shape \(49,\) for 50 rows"),
        ((numbered(50), np.zeros((50, 2))), {}, r"y has shape \(50, 2\) for 50 rows"),
        ((numbered(50), np.full(50, np.nan)), {}, "y contains NaN"),
        ((numbered(50), ["a"] * 30 + [None] * 20), {}, "y contains None at row 30 of its batch: drop rows"),
        ((numbered(50), [None] * 50), {}, "y contains None at row 0"),
        ((numbered(50), np.array(["a"] * 49 + [np.nan], dtype=object)), {}, "y contains nan at row 49"),
        ((numbered(50), np.array(["a"] * 49 + [1], dtype=object)), {}, "types that cannot be sorted together"),
        (([(numbered(9), [1] * 9), (numbered(9), [1] * 8)],), {}, r"y has shape \(8,\) for 9 rows"),
        (([(numbered(9), None), (np.zeros((9, 2)), None)],), {}, "batch 1 \\(counted from 0\\) has 2 columns"),
        (([([[1.0], [1.0, 2.0]], None)],), {}, "batch 0 \\(counted from 0\\) have different lengths"),
        (([(np.zeros(9), None)],), {}, r"batch 0 \(counted from 0\) has shape \(9,\)"),
        ((np.zeros(50),), {}, r"has shape \(50,\)"),
        ((numbered(0),), {}, "the stream has no rows"),
        (([],), {}, "the stream has no rows"),
        (([(numbered(0), None)],), {}, "the stream has no rows"),
        ((iter([]),), {}, "the stream has no rows"),
        ((numbered(50),), {"segment": True}, "must be integers, not bools"),
        ((numbered(50).tolist(),), {}, "not a tuple of rows and classes"),
        (([numbered(50)],), {}, "not a tuple of rows and classes"),
        (([(numbered(50), None)], np.zeros(50)), {}, "y needs a matrix X"),
        (([(numbered(50), None), (numbered(50), np.zeros(50))],), {}, "some batches have classes"),
        ((numbered(50),), {"segment": 10, "every": 9}, "every=9 is less than segment=10"),
        ((numbered(50),), {"segment": 0}, "'segment' parameter"),
        ((numbered(50),), {"metrics": ["purity", "accuracy"]}, "'accuracy': choose from purity, v_measure"),
        ((numbered(50),), {"metrics": "purity"}, "'metrics' parameter"),
    ],
)
def test_input_that_cannot_be_evaluated_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        evaluate(Counter(), *arguments, **options)


@pytest.mark.parametrize("X", [None, 3.0])
def test_what_is_no_stream_is_refused(X):
    with pytest.raises(TypeError, match="pass a matrix, or an iterable of pairs"):
        evaluate(Counter(), X)


def test_missing_class_of_pandas_is_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="y contains"):
        evaluate(Counter(), numbered(3), pd.Series(["a", pd.NA, "b"], dtype=object))


def test_class_in_place_of_a_model_is_refused():
    with pytest.raises(TypeError, match=r"pass an instance, HSDC\(\)"):
        evaluate(HSDC, numbered(50))


class Plain:
    """Learns, and shows nothing of it."""

    def partial_fit(self, X):
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_model_that_never_looks_fitted_is_refused_in_words():
    with pytest.raises(ValueError, match="Plain has learned 200 rows but does not look fitted"):
        evaluate(Plain(), numbered(500))


def test_prediction_of_the_wrong_length_is_refused():
    class Short(Counter):
        def predict(self, X):
            return super().predict(X)[1:]

    with pytest.raises(ValueError, match=r"Short.predict returned an array of shape \(99,\) for 100 rows"):
        evaluate(Short(), numbered(500))


def test_model_that_cannot_learn_from_a_stream_is_refused():
    with pytest.raises(ValueError, match="partial_fit"):
        evaluate(PDDP(), numbered(50))


def test_row_that_the_model_refuses_is_not_swallowed(overhaul):
    X = overhaul[0].copy()
    X[250, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        evaluate(clone(MODELS[0]), X)


# The picture


@pytest.fixture
def drifting():
    """Scores that fall at two drifts, and many splits."""
    rows = range(200, 3001, 200)
    records = [
        {"row": row, "purity": 0.9 - 0.5 * (row % 1000 < 400), "v_measure": 0.8, "n_clusters": row // 200}
        for row in rows
    ]
    drifts = [{"row": row, "kind": "drift"} for row in (1000, 2000)]
    yield Evaluation(records, drifts + [{"row": row, "kind": "split"} for row in range(50, 3000, 70)])
    plt.close("all")


def test_picture_has_a_line_for_each_score_over_the_rows(drifting):
    ax = plot.stream(drifting)
    assert [line.get_label() for line in ax.lines] == ["purity", "V-measure"]
    for line, name in zip(ax.lines, ("purity", "v_measure"), strict=True):
        assert line.get_xdata().tolist() == [r["row"] for r in drifting.records]
        assert line.get_ydata().tolist() == [r[name] for r in drifting.records]
    assert len({(line.get_linestyle()) for line in ax.lines}) == 2
    assert ax.get_ylim() == (0, 1.02)


def test_picture_marks_drifts_over_its_height_and_splits_at_its_bottom(drifting):
    ax = plot.stream(drifting)
    drifts, splits = ax.collections
    assert [path[0, 0] for path in drifts.get_segments()] == [1000, 2000]
    assert [path[0, 0] for path in splits.get_segments()] == list(range(50, 3000, 70))
    assert {path[1, 1] for path in drifts.get_segments()} == {1.0}
    assert max(path[1, 1] for path in splits.get_segments()) < 0.1
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert entries == ["purity", "V-measure", "2 drifts", "43 splits"]


def test_picture_without_events_has_no_marks(drifting):
    assert not plot.stream(Evaluation(drifting.records, [])).collections


def test_picture_is_drawn_on_given_axes_of_any_column(drifting):
    ax = plt.figure().add_subplot()
    assert plot.stream(drifting, metrics=["n_clusters"], ax=ax) is ax
    assert ax.get_ylabel() == "number of clusters"
    assert ax.get_ylim()[0] == 0
    assert ax.get_ylim()[1] >= 15


def test_picture_without_classes_is_of_the_number_of_clusters(overhaul):
    ax = plot.stream(evaluate(clone(MODELS[0]), overhaul[0]))
    assert [line.get_label() for line in ax.lines] == ["number of clusters"]
    plt.close("all")


def test_legend_is_above_the_axes_and_inside_the_figure(drifting):
    ax = plot.stream(drifting, metrics=["purity", "v_measure"])
    ax.figure.canvas.draw()
    box, whole = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert box.y0 >= ax.get_window_extent().y1 - 1
    assert box.y1 <= whole.y1
    assert box.x1 <= whole.x1


def test_picture_of_nothing_and_of_unknown_columns_is_refused(drifting):
    with pytest.raises(ValueError, match="no segment was scored"):
        plot.stream(Evaluation([], []))
    with pytest.raises(ValueError, match="no 'accuracy': choose from row, purity"):
        plot.stream(drifting, metrics=["accuracy"])
