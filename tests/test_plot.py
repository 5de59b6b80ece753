import builtins
import importlib

import matplotlib
import numpy as np
import pytest
from scipy import sparse

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from ravine import PDDP, plot
from ravine.datasets import make_blobs


@pytest.fixture
def fitted():
    X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=1)
    yield X, PDDP().fit(X)
    plt.close("all")


def texts(figure):
    return [t.get_text() for axes in figure.axes for t in (axes.title, *axes.texts) if t.get_text()]


def test_tree_has_a_panel_for_every_node(fitted):
    X, model = fitted
    shown = texts(plot.tree(model, X, feature_names=["width", "height"]))
    assert sum("cluster" in text for text in shown) == 3
    assert sum(text.startswith("node") for text in shown) == 2
    assert any("300 rows, p = " in text and "width" in text for text in shown)


def test_density_and_histogram_of_a_cut_each_cover_all_rows(fitted):
    X, model = fitted
    axes = plot.node(model, X, 0)
    assert sum(bar.get_width() * bar.get_height() for bar in axes.patches) == pytest.approx(1)
    x, y = max((line.get_data() for line in axes.lines), key=lambda xy: len(xy[0]))
    assert np.trapezoid(y, x) == pytest.approx(1, abs=0.01)
    assert any(np.ptp(line.get_xdata()) == 0 and line.get_xdata()[0] == 0 for line in axes.lines)


def test_leaves_are_drawn_by_the_user(fitted):
    X, model = fitted
    drawn = []
    plot.tree(model, X, draw_leaf=lambda axes, node: drawn.append(node))
    assert drawn == model.tree_.leaves.tolist()


def test_fewer_clusters_can_be_drawn_and_sparse_rows_too(fitted):
    X, model = fitted
    figure = plot.tree(model.tree_, sparse.csr_array(X), n_clusters=2)
    assert "2 clusters, 1 cuts" in figure.get_suptitle()


def test_one_cluster_and_no_rows_are_drawn(fitted):
    X, model = fitted
    plot.tree(model.tree_.cut_to(1), X).savefig("/dev/null", format="png")
    plot.tree(model, X[:0]).savefig("/dev/null", format="png")


def test_a_leaf_is_no_cut_to_draw(fitted):
    X, model = fitted
    with pytest.raises(ValueError, match=r"node 4 is not a cut; the cuts are \[0, "):
        plot.node(model, X, 4)


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'ravine\[plot\]'"):
        importlib.reload(plot)
    monkeypatch.undo()
    importlib.reload(plot)
