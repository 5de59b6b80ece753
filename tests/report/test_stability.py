"""The stability on the page is that of the refits."""

import numpy as np
import pytest
from tests.report.test_page import embedded

from ravine import PDDP, MDHClassifier, NCutH, SupportVectorClustering, report
from ravine.datasets import make_blobs
from ravine.evaluation import Stability, stability
from ravine.evaluation._stability import FOUND, SELDOM, STABLE
from ravine.report._stability import _lead, _sentence

pytestmark = pytest.mark.filterwarnings("ignore")


def refits(n_clusters, jaccard, errors=()):
    """A result with so many clusters in each refit, and overlaps of shape (n_refits, n_clusters)."""
    jaccard = np.array(jaccard, dtype=float)
    k = jaccard.shape[1]
    sizes = np.full(k, 10)
    return Stability(
        np.arange(k), sizes, np.array(n_clusters), jaccard, np.ones(len(jaccard)), np.eye(k), np.ones(10 * k), 6, errors
    )


@pytest.mark.parametrize(
    ("own", "n_clusters", "expected"),
    [
        (2, [2, 2, 2, 2], "All 4 refits on resamples found 2 clusters."),
        (2, [2, 2, 2, 5], "In 4 refits on resamples, 3 found 2 clusters."),
        (2, [3, 2, 3, 3], "In 4 refits on resamples, 1 found 2 clusters, and 3 found 3."),
        (2, [3, 1, 3, 3], "In 4 refits on resamples, none found 2 clusters, and 3 found 3."),
        (2, [3, 2, 3, 2], "In 4 refits on resamples, 2 found 2 clusters."),
        (3, [3, 2, 3, 2], "In 4 refits on resamples, 2 found 3 clusters."),
        (2, [3, 3], "All 2 refits on resamples found 3 clusters, not 2."),
        (2, [2], "The refit on a resample found 2 clusters."),
        (1, [1, 1, 2], "In 3 refits on resamples, 2 found 1 cluster."),
    ],
)
def test_refits_with_the_number_of_the_model_are_counted(own, n_clusters, expected):
    assert _sentence(refits(n_clusters, np.ones((len(n_clusters), own))), own, False).startswith(expected)


@pytest.mark.parametrize(
    ("overlaps", "expected"),
    [
        ([0.9, 0.8], " All 2 clusters are stable."),
        ([0.9, 0.8, 0.3], " 2 of 3 clusters are stable."),
        ([0.9, 0.5], " 1 of 2 clusters is stable."),
        ([0.1, 0.5], " None of the 2 clusters is stable."),
        ([1.0], "found 1 cluster."),
    ],
)
def test_stable_clusters_are_counted(overlaps, expected):
    found = refits([len(overlaps)] * 3, np.tile(overlaps, (3, 1)))
    assert _sentence(found, len(overlaps), False).endswith(expected)


def test_number_that_was_given_is_not_said_to_be_found():
    found = refits([2, 2], [[0.9, 0.1]] * 2)
    assert _sentence(found, 2, True) == "The model was fitted again to 2 resamples. 1 of 2 clusters is stable."


def test_words_are_explained_with_the_numbers_of_the_verdicts():
    text = _lead(refits([2, 2], np.ones((2, 2)), errors=("ValueError: too few rows",)))
    assert "fitted again to 2 random samples of 6 rows" in text
    assert f"at least {FOUND} with it" in text
    assert (
        f"at least {100 * STABLE:.0f}% of the samples, and not found again if in less than {100 * SELDOM:.0f}%" in text
    )
    assert text.endswith("1 more refit failed.")


@pytest.fixture(scope="module")
def overlapping():
    X, _ = make_blobs(400, centers=[[0, 0], [25, 0], [0, 25], [4, 25]], random_state=0)
    model = PDDP().fit(X)
    return model, X, stability(model, X, n_resamples=8)


def test_each_cluster_has_the_numbers_of_its_refits(overlapping):
    model, X, found = overlapping
    page = embedded(report.html(model, X, stability=found))
    about = page["stability"]
    assert about["counts"] == [[k, int((found.n_clusters == k).sum())] for k in np.unique(found.n_clusters)]
    assert about["n_refits"] == 8
    assert [one["found"] for one in about["clusters"]] == (found.jaccard >= 0.75).sum(axis=0).tolist()
    assert [one["mean"] for one in about["clusters"]] == pytest.approx(found.jaccard.mean(axis=0), abs=5e-4)
    assert [one["verdict"] for one in about["clusters"]] == found.verdicts
    assert [one["together"] for one in about["clusters"]] == [[], [], [3], [2]]
    assert page["stability_hint"] == ""


def test_cluster_without_rows_in_the_refits_has_no_numbers(overlapping):
    model, X, _ = overlapping
    some = X[model.labels_ != 1]
    found = stability(model, some, n_resamples=2)
    assert [one is None for one in embedded(report.html(model, X, stability=found))["stability"]["clusters"]] == [
        False, True, False, False,
    ]  # fmt: skip


def test_lines_of_python_make_the_same_page_again(overlapping, tmp_path, monkeypatch):
    model, X, found = overlapping
    page = report.html(model, X, stability=found)
    monkeypatch.chdir(tmp_path)
    exec("\n".join(embedded(page)["reproduce"]["lines"]), {"X": X})
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page


def test_stability_of_another_model_is_an_error(overlapping):
    model, X, found = overlapping
    for other in (PDDP(3).fit(X), PDDP(5, criterion="mean").fit(X)):
        with pytest.raises(ValueError, match=r"other clusters than those of the model: .*stability\(model, X\)"):
            report.html(other, X, stability=found)
    with pytest.raises(TypeError, match=r"type int: pass the result of ravine.evaluation.stability\(model, X\)"):
        report.html(model, X, stability=20)
    classifier = MDHClassifier().fit(X, np.where(np.arange(400) < 90, X[:, 0] > 10, -1))
    with pytest.raises(TypeError, match="leave stability out"):
        report.html(classifier, X, stability=found)


def test_without_stability_one_line_says_how_to_get_it(overlapping):
    model, X, _ = overlapping
    page = embedded(report.html(model, X))
    assert page["stability"] is None
    assert "pass stability=ravine.evaluation.stability(model, X)" in page["stability_hint"]
    assert "--stability 20" in embedded(report.html(model, X, command="ravine cluster t.csv"))["stability_hint"]
    assert embedded(report.html(model.tree_, X))["stability_hint"] == ""


def test_models_with_a_given_number_and_models_without_a_tree_have_it(overlapping):
    _, X, _ = overlapping
    for model in (NCutH(3).fit(X), SupportVectorClustering(outliers="label").fit(X)):
        found = stability(model, X, n_resamples=2)
        about = embedded(report.html(model, X, stability=found))["stability"]
        assert len(about["clusters"]) == model.n_clusters_
        assert (about["counts"] is None) == isinstance(model, NCutH)
