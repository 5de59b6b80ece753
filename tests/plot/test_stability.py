from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle
from sklearn.cluster import KMeans

from ravine import evaluation, plot
from ravine.datasets import make_blobs
from ravine.evaluation import Stability, stability
from ravine.plot import _stability


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def made(jaccard, n_clusters):
    jaccard = np.array(jaccard, dtype=float)
    n = jaccard.shape[1]
    return Stability(
        clusters=np.arange(n),
        sizes=np.full(n, 10),
        n_clusters=np.array(n_clusters),
        jaccard=jaccard,
        ari=np.ones(len(jaccard)),
        co_membership=np.eye(n),
        row_agreement=np.ones(10 * n),
        n_fitted=8 * n,
    )


def said(ax):
    return [text.get_text() for text in ax.texts]


def bars(ax):
    return {round(b.get_x() + b.get_width() / 2): b.get_height() for b in ax.patches if isinstance(b, Rectangle)}


def test_bars_count_the_resamples_of_each_number():
    left, _ = plot.stability(made(np.ones((5, 3)), [3, 3, 4, 3, 6])).axes
    assert bars(left) == {3: 3, 4: 1, 6: 1}
    assert left.get_title(loc="left") == "The model has 3 clusters"
    assert len({b.get_facecolor() for b in left.patches}) == 2


def test_each_cluster_has_a_sorted_dot_for_each_resample_and_its_verdict():
    jaccard = [[1.0, 0.9, 0.1], [0.9, 0.5, 0.3], [0.95, 0.8, np.nan]]
    _, right = plot.stability(made(jaccard, [3, 3, 3])).axes
    dots = [np.asarray(c.get_offsets()) for c in right.collections]
    assert [list(d[:, 0]) for d in dots] == [[0.9, 0.95, 1.0], [0.5, 0.8, 0.9], [0.1, 0.3]]
    assert all((np.diff(d[:, 1]) < 0).all() for d in dots)  # upwards, as the axis is from top to bottom
    assert {"stable, 3 of 3", "uncertain, 2 of 3", "not found again, 0 of 2"} <= set(said(right))
    assert [t.get_text() for t in right.get_yticklabels()] == ["cluster 0", "cluster 1", "cluster 2"]


def test_dots_of_neighboring_clusters_do_not_touch():
    _, right = plot.stability(made(np.ones((20, 4)), [4] * 20)).axes
    heights = [np.asarray(c.get_offsets())[:, 1] for c in right.collections]
    assert all(a.max() < b.min() for a, b in pairwise(heights))


def test_many_clusters_are_reduced_to_the_least_stable():
    jaccard = np.linspace(0, 1, 500)[np.newaxis].repeat(3, axis=0)
    figure = plot.stability(made(jaccard, [500, 400, 410]))
    _, right = figure.axes
    assert len(right.collections) == 40
    assert right.get_title(loc="left") == "The 40 least stable clusters"
    assert right.get_yticklabels()[-1].get_text() == "cluster 39"
    figure.canvas.draw()


@pytest.mark.parametrize(("n_clusters", "n_resamples"), [(1, 1), (2, 20), (12, 20)])
def test_texts_lie_within_the_figure_and_do_not_cover_the_axes(n_clusters, n_resamples):
    figure = plot.stability(made(np.full((n_resamples, n_clusters), 0.1), [n_clusters] * n_resamples))
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    for ax in figure.axes:
        for text in ax.texts:
            box = text.get_window_extent()
            assert 0 <= box.x0 <= box.x1 <= width
            assert 0 <= box.y0 <= box.y1 <= height


def test_dots_in_the_gray_region_are_those_that_count_as_found_again():
    assert _stability.FOUND == evaluation._stability.FOUND


def test_result_of_a_model_is_drawn():
    X, _ = make_blobs(100, centers=2, random_state=0)
    figure = plot.stability(stability(KMeans(3, n_init=1), X, n_resamples=4))
    assert_allclose(list(bars(figure.axes[0]).values()), [4])


def test_other_objects_are_refused_and_the_result_is_refused_elsewhere():
    with pytest.raises(TypeError, match=r"plot\.stability draws the result of ravine\.evaluation\.stability"):
        plot.stability(KMeans(3))
    with pytest.raises(TypeError, match=r"use plot\.stability"):
        plot.tree(made([[1.0]], [1]))
    assert not plt.get_fignums()
