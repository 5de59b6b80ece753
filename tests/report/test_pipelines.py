"""Reports of pipelines: clusters as the pipeline predicts them, columns as the user has them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from tests.estimators import ALL, each

from ravine import PDDP, NCutH, load, plot, report, save
from ravine.datasets import make_blobs
from ravine.report import ReportAccumulator
from ravine.report._data import gathered
from ravine.report._summary import summarize

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def table(n=120):
    X = make_blobs(n, centers=[[0, 0, 0], [7, 0, 1], [0, 6, 2]], random_state=0)[0]
    frame = pd.DataFrame(X * [1, 100, 0.01] + [5, 2000, 3], columns=["width", "größe", "c"])
    return frame.assign(word=np.where(frame["width"] > 8, "big", "small"))


TABLE = table()
NUMBERS = TABLE[["width", "größe", "c"]]


@each(ALL)
def test_counts_are_those_of_the_pipeline_in_the_columns_of_the_table(model, tmp_path):
    pipe = make_pipeline(StandardScaler(), clone(model))
    pipe.fit(NUMBERS, np.arange(len(NUMBERS)) % 2) if is_classifier(model) else pipe.fit(NUMBERS)
    rows = gathered(pipe, NUMBERS)
    assert_array_equal(rows.X[np.argsort(rows.number)], NUMBERS.to_numpy())
    _, counts = np.unique(pipe.predict(NUMBERS), return_counts=True)
    assert sorted(rows.leaf_count[rows.leaf_count > 0]) == sorted(counts)
    page = report.html(pipe, NUMBERS)
    assert "gr\\u00f6\\u00dfe" in page
    save(pipe, tmp_path / "pipe")
    assert report.html(load(tmp_path / "pipe"), NUMBERS) == page
    assert report.html(pipe, pl.from_pandas(NUMBERS)) == page


def test_the_report_of_a_scaled_model_says_what_the_pipeline_does():
    summary = summarize(pipe := make_pipeline(StandardScaler(), PCA(2), NCutH(3)).fit(NUMBERS), gathered(pipe, NUMBERS))
    assert summary["names"] == ["width", "größe", "c"]
    assert summary["preparation"] == "The rows go through StandardScaler(), then PCA(n_components=2)."
    assert summary["method"]["name"] == "NCutH"
    scope = {"X": NUMBERS}
    lines = summary["reproduce"]["lines"]
    assert lines[-1].startswith("report.write(model, X")
    exec("\n".join(lines[:-1]), scope)
    assert_array_equal(scope["model"].predict(NUMBERS), pipe.predict(NUMBERS))


def test_means_in_the_report_are_those_of_the_rows_even_after_a_projection():
    pipe = make_pipeline(StandardScaler(), PCA(1), PDDP(2)).fit(NUMBERS)
    rows = gathered(pipe, NUMBERS)
    summary = summarize(pipe, rows)
    scaled = StandardScaler().fit(NUMBERS)
    normal = (pipe[1].components_[0] / scaled.scale_) * pipe[-1].tree_.normal[0, 0]
    labels = pipe.predict(NUMBERS)
    apart = NUMBERS[labels == 1].mean().to_numpy() - NUMBERS[labels == 0].mean().to_numpy()
    share = np.maximum(normal * apart, 0)
    shown = {each["feature"]: each["share"] for each in summary["nodes"][0]["features"]}
    assert_allclose([shown.get(j, 0) for j in range(3)], share / share.sum(), atol=2e-3)


def test_encoded_columns_are_shown_with_the_reason():
    split = ColumnTransformer([("n", StandardScaler(), ["width"]), ("w", OneHotEncoder(), ["word"])])
    pipe = make_pipeline(split, PDDP(2)).fit(TABLE)
    summary = summarize(pipe, gathered(pipe, TABLE))
    assert summary["names"] == ["n__width", "w__word_big", "w__word_small"]
    assert "because step 'columntransformer', part 'w' (OneHotEncoder) is not a scaling" in summary["preparation"]


def test_functions_have_no_address_in_the_page():
    clip = FunctionTransformer(np.clip, kw_args={"a_min": 0, "a_max": 9})
    mine = FunctionTransformer(lambda X: X)
    pipe = make_pipeline(FunctionTransformer(np.log), clip, mine, StandardScaler(), PDDP(2)).fit(NUMBERS + 9)
    page = report.html(pipe, NUMBERS + 9)
    assert "np.log" in page
    assert "np.clip" in page
    assert " at 0x" not in page


def test_rows_with_gaps_are_reported():
    gaps = NUMBERS.mask(np.random.default_rng(0).random(NUMBERS.shape) < 0.1)
    pipe = make_pipeline(SimpleImputer(), StandardScaler(), NCutH(3)).fit(gaps)
    rows = gathered(pipe, gaps)
    assert np.isfinite(rows.X).all()
    assert rows.leaf_count.sum() == len(gaps)
    plain = make_pipeline(StandardScaler(), NCutH(3)).fit(NUMBERS)
    with pytest.raises(ValueError, match="NaN"):
        report.html(plain, gaps)


def test_batches_and_no_rows_are_gathered():
    pipe = make_pipeline(StandardScaler(), PDDP(3)).fit(NUMBERS)
    gatherer = ReportAccumulator(pipe)
    for batch in (NUMBERS[:50], NUMBERS[:0], NUMBERS[50:]):
        assert_array_equal(gatherer.add(batch), pipe.predict(batch) if len(batch) else [])
    assert report.html(pipe, gatherer.rows()) == report.html(pipe, NUMBERS)
    assert "0 rows" in report.html(pipe, NUMBERS[:0])


def test_clusters_are_described_in_units_of_the_table():
    pipe = make_pipeline(StandardScaler(), PDDP(3)).fit(NUMBERS)
    records = report.describe_clusters(pipe, NUMBERS)
    assert [record["rows"] for record in records] == np.bincount(pipe.predict(NUMBERS)).tolist()
    assert any("größe" in record["sets_apart"] for record in records)


def test_other_pipelines_are_refused():
    with pytest.raises(NotFittedError):
        report.html(make_pipeline(StandardScaler(), PDDP()), NUMBERS)
    with pytest.raises(TypeError, match="pass a fitted model of ravine"):
        report.html(make_pipeline(StandardScaler(), PCA(2)).fit(NUMBERS), NUMBERS)
    with pytest.raises(TypeError, match="X is None"):
        report.html(make_pipeline(StandardScaler(), PDDP()).fit(NUMBERS), None)


def test_plots_take_pipelines():
    pipe = make_pipeline(StandardScaler(), NCutH(3)).fit(NUMBERS)
    for ax in (plot.tree(pipe), plot.elbow(pipe), plot.path(pipe), plot.density(pipe, NUMBERS, 0)):
        assert ax.figure is not None
    assert plot.node(pipe, NUMBERS, 0) is not None
    assert plot.panels(pipe, NUMBERS) is not None
    with pytest.raises(ValueError, match=r"step 'functiontransformer'.*: draw pipe\[-1\] with the rows"):
        plot.tree(make_pipeline(FunctionTransformer(np.cbrt), NCutH(3)).fit(NUMBERS))
