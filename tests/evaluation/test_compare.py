import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.cluster import MiniBatchKMeans
from tests.evaluation.test_row_by_row import Notes

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from ravine import HSDC, PDDP, StreamClusterer, plot
from ravine.datasets import make_blobs
from ravine.evaluation import Comparison, Evaluation, compare, evaluate

MODELS = {"HSDC": HSDC(), "stream": StreamClusterer(), "k-means": MiniBatchKMeans(3, random_state=0)}
TIMES = ("seconds", "rows_per_second")


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(1000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)


def models():
    return {name: clone(model) for name, model in MODELS.items()}


def without_times(records):
    return [{name: value for name, value in record.items() if name not in TIMES} for record in records]


def test_each_model_has_the_evaluation_that_it_has_alone(blobs):
    found = compare(models(), *blobs, segment=50, every=150, metrics=["ari", "purity"])
    assert isinstance(found, Comparison)
    assert list(found.evaluations) == list(MODELS)
    for name, model in models().items():
        alone = evaluate(model, *blobs, segment=50, every=150, metrics=["ari", "purity"])
        together = found.evaluations[name]
        np.testing.assert_equal(without_times(together.records), without_times(alone.records))  # NaN equals NaN
        assert together.events == alone.events
        assert all(record["seconds"] > 0 for record in together.records)


def test_stream_of_batches_is_read_once(blobs):
    X, y = blobs
    whole = compare(models(), X, y)
    parts = compare(models(), ((X[start : start + 130], y[start : start + 130]) for start in range(0, 1000, 130)))
    for name in ("HSDC", "stream"):  # the result of k-means depends on the batches
        assert without_times(parts.evaluations[name].records) == without_times(whole.evaluations[name].records)


def test_records_name_the_model_and_means_are_by_model(blobs):
    found = compare(models(), *blobs)
    assert [record["model"] for record in found.records] == [name for name in MODELS for _ in range(4)]
    assert [record["row"] for record in found.records] == [200, 400, 600, 800] * 3
    assert next(iter(found.records[0])) == "model"
    assert list(found.mean()) == list(MODELS)
    assert found.mean()["HSDC"]["purity"] == found.evaluations["HSDC"].mean()["purity"]


def test_clusterer_that_takes_single_rows_is_evaluated(blobs):
    X, y = blobs
    model = Notes()
    found = compare({"notes": model, "HSDC": HSDC()}, X[:400], y[:400])
    assert len(model.learned) == 400
    assert [x[0] for x in model.learned] == X[:400, 0].tolist()
    assert [x[0] for x in model.asked] == X[200:300, 0].tolist()
    assert [record["row"] for record in found.evaluations["notes"].records] == [200]
    assert found.evaluations["notes"].records[0]["purity"] == np.bincount(y[200:300]).max() / 100  # one cluster
    assert np.isnan(found.evaluations["notes"].records[0]["n_clusters"])
    assert without_times(evaluate(Notes(), X[:400], y[:400]).records)[0]["row"] == 200


def test_clusterers_and_pipelines_of_river_are_evaluated(blobs):
    pytest.importorskip("river", exc_type=ModuleNotFoundError)
    from river import cluster, preprocessing

    from ravine.river import RiverClusterer

    clusterers = {
        "pipeline": preprocessing.StandardScaler() | cluster.KMeans(3, seed=0),
        "DBSTREAM": cluster.DBSTREAM(clustering_threshold=1.5),
        "adapter": RiverClusterer(),
        "model": StreamClusterer(),
    }
    means = compare(clusterers, *blobs, metrics=["ari"]).mean()
    assert means["adapter"]["ari"] == means["model"]["ari"] > 0.9
    assert means["DBSTREAM"]["ari"] > 0.5
    assert means["pipeline"]["ari"] > 0.3


def test_error_names_the_model_that_raised_it(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="NaN") as error:
        compare(models(), np.where(np.arange(1000)[:, np.newaxis] == 500, np.nan, X), y)
    assert error.value.__notes__ == ["raised by the model 'HSDC'"]


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({}, ValueError, "no models to compare"),
        ([HSDC()], ValueError, "'models' parameter of compare must be an instance of"),
        ({1: HSDC()}, TypeError, "the name 1 of a model is a int"),
        ({"a": HSDC(), "b": PDDP()}, TypeError, "the model 'b' is a PDDP without partial_fit"),
        ({"a": HSDC}, TypeError, r"model is the class HSDC: pass an instance, HSDC\(\)"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(given, kind, message, blobs):
    with pytest.raises(kind, match=message):
        compare(given, *blobs)


def test_same_model_under_two_names_is_refused(blobs):
    model = HSDC()
    with pytest.raises(ValueError, match="'a' and 'b' are the same object"):
        compare({"a": model, "b": model}, *blobs)
    assert not model.__sklearn_is_fitted__()


def test_options_are_checked_as_in_evaluate(blobs):
    with pytest.raises(ValueError, match="every=50 is less than segment=100"):
        compare(models(), *blobs, every=50)
    with pytest.raises(ValueError, match="metrics contains 'f1'"):
        compare(models(), *blobs, metrics=["f1"])
    with pytest.raises(ValueError, match="the stream has no rows"):
        compare(models(), iter(()))


# The picture


@pytest.fixture
def drawn():
    """A comparison of three models, of which the last has no number of clusters and the first has events."""
    rows = range(200, 2001, 200)
    events = [{"row": 500, "kind": "drift"}, {"row": 100, "kind": "split"}, {"row": 900, "kind": "moved"}]
    evaluations = {}
    for k, name in enumerate(("first", "second", "without clusters, of a very long name")):
        records = [
            {"row": row, "purity": 0.9 - k / 10, "v_measure": 0.8 - k / 10, "n_clusters": k + 1.0} for row in rows
        ]
        if k == 2:
            records = [{**record, "n_clusters": np.nan} for record in records]
        evaluations[name] = Evaluation(records, events if k == 0 else [])
    yield Comparison(evaluations)
    plt.close("all")


def entries(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_picture_of_a_comparison_has_a_line_for_each_model(drawn):
    ax = plot.stream(drawn)
    assert entries(ax) == ["first", "second", "without clusters, of a very l…"]
    assert ax.get_ylabel() == "V-measure"
    for line, found in zip(ax.lines, drawn.evaluations.values(), strict=True):
        assert_array_equal(line.get_xdata(), [record["row"] for record in found.records])
        assert_array_equal(line.get_ydata(), [record["v_measure"] for record in found.records])
    assert len({line.get_color() for line in ax.lines}) == len({line.get_marker() for line in ax.lines}) == 3
    assert not ax.collections


def test_models_have_colors_and_metrics_have_dashes(drawn):
    ax = plot.stream(drawn, metrics=["purity", "v_measure"])
    lines = [line for line in ax.lines if len(line.get_xdata())]
    assert len(lines) == 6
    assert [line.get_linestyle() for line in lines] == ["-", "--"] * 3
    assert [lines[k].get_color() for k in (0, 2, 4)] == [lines[k].get_color() for k in (1, 3, 5)]
    assert entries(ax)[:2] + entries(ax)[3:] == ["first", "second", "purity", "V-measure"]
    assert ax.get_ylabel() == "score"


def test_events_of_one_model_are_drawn_if_asked_for(drawn):
    ax = plot.stream(drawn, events="first")
    assert entries(ax)[3:] == ["first: 1 drift", "first: 1 split", "first: 1 other event"]
    drift, split, other = (collection.get_segments()[0] for collection in ax.collections)
    assert (drift[0, 0], split[0, 0], other[0, 0]) == (500, 100, 900)
    assert split[1, 1] < 0.1
    assert other[0, 1] > 0.9
    assert not plot.stream(drawn, events="second").collections


def test_model_without_a_metric_has_no_line(drawn):
    assert entries(plot.stream(drawn, metrics=["n_clusters"])) == ["first", "second"]
    only = Comparison({"without": list(drawn.evaluations.values())[2]})
    assert plot.stream(only, metrics=["n_clusters"]).get_legend() is None


def test_legend_of_a_comparison_is_beside_the_axes_and_inside_the_figure(drawn):
    ax = plot.stream(drawn, metrics=["purity", "v_measure"], events="first")
    ax.figure.canvas.draw()
    box, whole = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert box.x0 >= ax.get_window_extent().x1
    assert box.x1 <= whole.x1 + 1
    assert box.y0 >= whole.y0


def test_comparison_without_classes_shows_the_numbers_of_clusters(blobs):
    ax = plot.stream(compare({"a": HSDC(), "b": StreamClusterer()}, blobs[0]))
    assert ax.get_ylabel() == "number of clusters"
    assert len(ax.lines) == 2
    plt.close("all")


def test_comparison_by_another_score_shows_that_score(blobs):
    ax = plot.stream(compare({"a": HSDC()}, *blobs, metrics=["ari", "homogeneity"]))
    assert ax.get_ylabel() == "ARI"
    plt.close("all")


def test_events_of_no_model_are_refused(drawn):
    with pytest.raises(ValueError, match="events='third' is not the name of a compared model: choose from 'first', 's"):
        plot.stream(drawn, events="third")
    with pytest.raises(ValueError, match="choose from no name, since this is one model"):
        plot.stream(drawn.evaluations["first"], events="first")
