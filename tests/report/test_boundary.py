import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ravine import SumOfNorms, SupportVectorClustering, load, report, save
from ravine.datasets import make_messy_table, make_moons
from ravine.prepare import TableEncoder
from ravine.report import ReportAccumulator
from ravine.report._boundary import MOST_POINTS, MOST_VECTORS, STEPS
from ravine.report._data import gathered
from ravine.report._summary import summarize


def summary_of(model, X, labels=None):
    return summarize(model, gathered(model, X, labels))


@pytest.fixture(scope="module")
def moons():
    X, _ = make_moons(300, noise=0.07, random_state=0)
    model = SupportVectorClustering().fit(X)
    return model, X, summary_of(model, X)["boundary"]


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    model = SupportVectorClustering().fit(data.data)
    return model, data.data, summary_of(model, data.data, data.target_names[data.target])["boundary"]


def places(grid):
    ends = [np.linspace(low, high, grid["size"]) for low, high in zip(grid["low"], grid["high"], strict=True)]
    return np.stack(np.meshgrid(*ends), axis=-1).reshape(-1, len(ends))


def test_grid_of_two_columns_is_the_decision_function(moons):
    model, _, boundary = moons
    (grid,) = boundary["picture"]["grids"]
    assert grid["cluster"] is None
    height = model.decision_function(places(grid))
    assert np.array(grid["heights"]) * boundary["unit"] == pytest.approx(height, abs=boundary["unit"])
    assert max(grid["heights"]) <= 1.2 * STEPS


def test_regions_are_the_predicted_clusters_above_the_level(moons):
    model, _, boundary = moons
    (grid,) = boundary["picture"]["grids"]
    rows, region = places(grid), np.array(grid["regions"])
    clear = np.abs(model.decision_function(rows) + model.offset_ - model.level_) > 1e-3
    inside = model.decision_function(rows) + model.offset_ >= model.level_
    assert ((region > 0) == inside)[clear].all()
    assert (region[clear & inside] == model.predict(rows[clear & inside]) + 1).all()
    assert boundary["level"] * boundary["unit"] == pytest.approx(model.level_ - model.offset_, abs=1e-4)


def test_grid_holds_all_rows_and_the_whole_boundary(moons):
    _, X, boundary = moons
    (grid,) = boundary["picture"]["grids"]
    assert (np.array(grid["low"]) < X.min(axis=0)).all()
    assert (np.array(grid["high"]) > X.max(axis=0)).all()
    height = np.array(grid["heights"]).reshape(grid["size"], grid["size"])
    assert max(height[0].max(), height[-1].max(), height[:, 0].max(), height[:, -1].max()) < 0


def test_sentences_say_what_the_model_says(moons):
    model, _, boundary = moons
    vectors, width, inside, separated = boundary["sentences"]
    assert f"each of {len(model.support_vectors_)} support vectors" in vectors
    assert "The fit had 300 rows" in vectors
    assert f"The width of a bump is {model.gamma_**-0.5:.3g}:" in width
    assert f"γ = {model.gamma_:.3g} was chosen automatically" in width
    assert np.exp(-1) == pytest.approx(0.37, abs=0.005)
    n_outliers = int(model.outlier_.sum())
    assert inside == (
        f"A row is inside the boundary if w is at least {model.offset_:.3g} there. {n_outliers} of 300 rows are "
        "outside. They are outliers and keep the cluster of the nearest row."
    )
    assert separated == f"Where w is at least {model.level_:.3g}, the 2 clusters are separated."
    assert (boundary["gamma"], boundary["n_vectors"]) == (float(f"{model.gamma_:.3g}"), len(model.support_vectors_))


def test_rows_that_are_no_support_vectors_play_no_part():
    X, _ = make_moons(200, noise=0.05, random_state=1)
    model = SupportVectorClustering(gamma=3.0, solver="exact").fit(X)
    vectors = model.support_vectors_
    assert len(vectors) < 200
    distance = ((X[:, np.newaxis] - vectors) ** 2).sum(axis=2)
    assert (distance.min(axis=0) == 0).all()  # each is a row of the fit
    height = np.exp(-model.gamma_ * distance) @ model.dual_coef_
    assert height == pytest.approx(model.decision_function(X) + model.offset_)


def test_a_reached_budget_is_said():
    X, _ = make_moons(200, noise=0.05, random_state=1)
    model = SupportVectorClustering(budget=30, gamma=30.0).fit(X)
    text = summary_of(model, X)["boundary"]["sentences"]
    assert "This is the limit that budget=30 sets" in text[0]
    assert "γ = 30 was given" in text[1]


def test_outliers_are_listed_from_the_lowest(iris):
    model, X, boundary = iris
    found = boundary["outliers"]["rows"]
    assert boundary["n_outliers"] == len(found) == model.outlier_.sum()
    assert {row["row"] for row in found} == set(np.flatnonzero(model.outlier_).tolist())
    height = model.decision_function(X) + model.offset_
    assert [row["height"] for row in found] == pytest.approx(np.sort(height)[: len(found)], rel=1e-2)
    for row in found:
        assert row["cluster"] == model.labels_[row["row"]]
        assert [float(text) for text in row["values"]] == X[boundary["outliers"]["columns"]].iloc[row["row"]].tolist()


def test_columns_of_outliers_are_those_in_which_they_are_farthest_out():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    X.loc[:4, "e"] = 9 + rng.normal(size=5)
    model = SupportVectorClustering().fit(X)
    assert model.outlier_[:5].all()
    columns = summary_of(model, X)["boundary"]["outliers"]["columns"]
    assert columns[0] == "e"


def test_labeled_outliers_are_in_no_cluster():
    X, _ = make_moons(300, noise=0.07, random_state=0)
    model = SupportVectorClustering(outliers="label").fit(X)
    boundary = summary_of(model, X)["boundary"]
    assert boundary["n_outliers"] == np.sum(model.labels_ == -1) > 0
    assert all(row["cluster"] == -1 for row in boundary["outliers"]["rows"])
    assert "They are outliers and belong to no cluster (-1)." in boundary["sentences"][2]
    is_outlier = np.array(boundary["picture"]["outlier"], dtype=bool)
    assert (np.array(boundary["picture"]["cluster"])[is_outlier] == model.n_clusters_).all()


def test_picture_marks_rows_vectors_and_outliers(moons):
    model, X, boundary = moons
    picture = boundary["picture"]
    row = np.array(picture["row"])
    np.testing.assert_allclose(np.transpose(picture["points"]), X[row], rtol=1e-3)
    assert picture["cluster"] == model.labels_[row].tolist()
    assert (np.array(picture["outlier"], dtype=bool) == model.outlier_[row]).all()
    heaviest = np.sort(np.argsort(-model.dual_coef_, kind="stable")[:MOST_VECTORS])
    np.testing.assert_allclose(np.transpose(picture["vectors"]), model.support_vectors_[heaviest], rtol=1e-3)


def test_slice_goes_through_the_highest_row_of_its_cluster(iris):
    model, _, boundary = iris
    grids = boundary["picture"]["grids"]
    assert [grid["cluster"] for grid in grids] == [0, 1]
    height = model.decision_function(pd.DataFrame(model.sample_, columns=model.feature_names_in_))
    for grid in grids:
        highest = height[model.sample_labels_ == grid["cluster"]].max()
        assert max(grid["heights"]) * boundary["unit"] > 0.95 * highest
        assert set(grid["regions"]) - {0} <= {1, 2}
        assert grid["cluster"] + 1 in grid["regions"]


def test_slice_says_for_how_many_rows_it_is_right(iris):
    model, X, boundary = iris
    picture = boundary["picture"]
    sample, label = model.sample_, model.sample_labels_
    height = model.decision_function(pd.DataFrame(sample, columns=X.columns))
    fitted = np.concatenate([sample, model.support_vectors_])
    directions = np.linalg.svd(fitted - fitted.mean(axis=0))[2][:2]
    for grid in picture["grids"]:
        own = X.to_numpy()[model.labels_ == grid["cluster"]]
        through = sample[label == grid["cluster"]][np.argmax(height[label == grid["cluster"]])]
        in_slice = through + (own - through) @ directions.T @ directions
        seen = model.decision_function(pd.DataFrame(in_slice, columns=X.columns)) < 0
        assert grid["agreement"] == pytest.approx(np.mean(seen == model.outlier_[model.labels_ == grid["cluster"]]))


def test_axes_are_columns_in_the_units_of_the_table_after_a_scaler():
    X, _ = make_moons(300, noise=0.07, random_state=0)
    frame = pd.DataFrame(X * [1000, 1], columns=["east", "north"])
    pipe = make_pipeline(StandardScaler(), SupportVectorClustering()).fit(frame)
    boundary = summary_of(pipe, frame)["boundary"]
    picture = boundary["picture"]
    assert picture["axes"] == ["east", "north"]
    (grid,) = picture["grids"]
    height = pipe.decision_function(pd.DataFrame(places(grid), columns=["east", "north"]))
    assert np.array(grid["heights"]) * boundary["unit"] == pytest.approx(height, abs=2 * boundary["unit"])
    assert boundary["n_outliers"] == pipe[-1].outlier_.sum()


def test_one_column_is_a_curve():
    X = load_iris().data[:, 2:3]
    model = SupportVectorClustering().fit(X)
    boundary = summary_of(model, X)["boundary"]
    (grid,) = boundary["picture"]["grids"]
    height = model.decision_function(np.linspace(grid["low"][0], grid["high"][0], grid["size"])[:, np.newaxis])
    assert np.array(grid["heights"]) * boundary["unit"] == pytest.approx(height, abs=boundary["unit"])
    assert len(boundary["picture"]["axes"]) == 1


def test_cells_of_outliers_are_those_of_the_table():
    frame = pd.DataFrame(make_messy_table(400, random_state=1).columns)
    pipe = make_pipeline(TableEncoder(), SupportVectorClustering()).fit(frame)
    summary = summary_of(pipe, frame)
    outliers = summary["boundary"]["outliers"]
    assert 0 < summary["boundary"]["n_outliers"] == pipe[-1].outlier_.sum()
    assert set(outliers["columns"]) <= set(frame.columns)
    cells = pipe[0].values(frame)
    for row in outliers["rows"]:
        for name, text in zip(outliers["columns"], row["values"], strict=True):
            value = cells[name][row["row"]]
            if value.dtype.kind == "f" and not np.isnan(value):
                assert f"{abs(value):,.6g}" in text or f"{abs(value):,.0f}" in text
    assert len(report.html(pipe, frame)) < 2_000_000


def test_rows_beyond_the_sample_are_said(moons):
    model, X, _ = moons
    gatherer = ReportAccumulator(model, n_rows_kept=50)
    gatherer.add(X)
    boundary = summarize(model, gatherer.rows())["boundary"]
    assert "of the 50 sampled rows" in boundary["sentences"][2]


def test_many_rows_are_drawn_in_part():
    X, _ = make_moons(1500, noise=0.07, random_state=0)
    model = SupportVectorClustering(gamma=40.0, budget=100).fit(X)
    picture = summary_of(model, X)["boundary"]["picture"]
    outlier = np.array(picture["outlier"])
    assert len(outlier) - outlier.sum() <= MOST_POINTS
    assert outlier.sum() == min(model.outlier_.sum(), 30) or outlier.sum() > 30
    assert picture["n_points"] == 1500


@pytest.mark.parametrize(
    "options",
    [{"assignment": "segments"}, {"n_clusters": 1}, {"budget": None, "gamma": 9.0}, {"solver": "exact", "gamma": 20.0}],
)
def test_every_kind_of_model_has_a_boundary(options):
    X, _ = make_moons(150, noise=0.05, random_state=0)
    model = SupportVectorClustering(**options).fit(X)
    assert summary_of(model, X)["boundary"]["picture"] is not None


def test_loaded_model_has_the_same_boundary(moons, tmp_path):
    model, X, boundary = moons
    save(model, tmp_path / "moons.ravine", resume=False)
    found = summary_of(load(tmp_path / "moons.ravine"), X)["boundary"]
    assert found["picture"] == boundary["picture"]
    assert "The fit had" not in found["sentences"][0]


def test_stream_and_no_rows_have_a_page():
    X, _ = make_moons(400, noise=0.05, random_state=0)
    model = SupportVectorClustering(gamma=30.0).partial_fit(X[:200]).partial_fit(X[200:])
    assert summary_of(model, X)["boundary"]["n_vectors"] == len(model.support_vectors_)
    empty = summary_of(model, X[:0])["boundary"]
    assert empty["n_outliers"] == 0
    assert empty["outliers"]["rows"] == []


def test_equal_rows_have_no_picture():
    X = np.ones((30, 3))
    assert summary_of(SupportVectorClustering().fit(X), X)["boundary"]["picture"] is None


def test_other_methods_have_no_boundary(moons):
    assert summary_of(SumOfNorms().fit(moons[1]), moons[1])["boundary"] is None
