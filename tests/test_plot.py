import builtins
import importlib

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from tests.strategies import random_tree

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from ravine import PDDP, IncrementalMDH, plot
from ravine.cuts import Cut
from ravine.datasets import make_blobs
from ravine.plot import _node
from ravine.tree.prune import sum_sq_path


@pytest.fixture
def fitted():
    X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=1)
    yield X, PDDP().fit(X)
    plt.close("all")


@pytest.fixture(params=[np.asarray, sparse.csr_array], ids=["dense", "CSR"])
def kind(request):
    return request.param


def texts(figure):
    return [t.get_text() for ax in figure.axes for t in (ax.title, *ax.texts) if t.get_text()]


def areas(ax):
    """Areas of the circles by node: hollow circles are the cuts, filled ones the leaves."""
    return [collection.get_sizes() for collection in ax.collections]


def boxes_of_text(ax):
    ax.figure.canvas.draw()
    return [t.get_window_extent() for t in ax.texts]


# The map


def test_map_has_a_line_for_every_cut_and_a_circle_for_every_node(fitted):
    _, model = fitted
    ax = plot.tree(model)
    assert len(ax.lines) == 2
    cuts, leaves = areas(ax)
    assert (len(cuts), len(leaves)) == (2, 3)


def test_area_of_a_circle_is_in_proportion_to_its_rows():
    tree = random_tree(8, 3, seed=4)
    cuts, leaves = areas(plot.tree(tree))
    assert_allclose(cuts / cuts[0], tree.count[tree.cuts] / tree.count[0])
    assert_allclose(leaves / cuts[0], tree.count[tree.leaves] / tree.count[0])
    plt.close("all")


def chain(depths):
    tree = random_tree(0, 2, seed=0)
    for place, depth in enumerate(depths):
        tree = tree.split(int(tree.leaves[-1]), Cut(np.array([1.0, 0.1]), float(place), 0.0, depth, 1.0))
    return tree


def test_deeper_valleys_have_wider_lines_up_to_those_that_look_empty():
    widths = [line.get_linewidth() for line in plot.tree(chain([0.5, 2.0, 30.0, 1e3, 1e300])).lines]
    assert widths[0] < widths[1] < widths[2] < widths[3] == widths[4]
    plt.close("all")


def test_valley_that_is_not_known_has_the_thinnest_line_dashed():
    unknown, known = plot.tree(chain([0.0, 0.01])).lines
    assert unknown.get_linewidth() < known.get_linewidth()
    assert (unknown.get_linestyle(), known.get_linestyle()) == ("--", "-")
    plt.close("all")


def test_map_says_what_the_nodes_are(fitted):
    _, model = fitted
    shown = texts(plot.tree(model, feature_names=["width", "height"]).figure)
    tree = model.tree_
    for leaf in tree.leaves:
        assert f"cluster {tree.label[leaf]}\n{tree.count[leaf]:.0f} rows" in shown
    for cut in tree.cuts:
        main = ["width", "height"][np.abs(tree.normal[cut]).argmax()]
        assert any(t.startswith(main) and t.endswith(f"\np = {tree.p_value[cut]:.1g}") for t in shown)
    assert "3 clusters in 300 rows" in shown


def test_names_come_from_the_estimator(fitted):
    pd = pytest.importorskip("pandas")
    X, _ = fitted
    model = PDDP().fit(pd.DataFrame(X, columns=["width", "height"]))
    assert any("width" in text or "height" in text for text in texts(plot.tree(model).figure))


def test_map_is_drawn_to_fewer_clusters_and_on_given_axes(fitted):
    _, model = fitted
    ax = plt.figure().add_subplot()
    assert plot.tree(model.tree_, n_clusters=2, ax=ax) is ax
    assert sum(text.startswith("cluster ") for text in texts(ax.figure)) == 2


@pytest.mark.parametrize("n_cuts", [0, 1, 4, 12, 19, 39])
@pytest.mark.parametrize("seed", [0, 1])
def test_labels_of_the_map_do_not_overlap(n_cuts, seed):
    tree = random_tree(n_cuts, 30, seed)
    names = [f"a rather long name {j}" for j in range(30)]
    boxes = boxes_of_text(plot.tree(tree, feature_names=names))
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert not (a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1)
    plt.close("all")


def test_wrong_number_of_names_is_an_error(fitted):
    _, model = fitted
    with pytest.raises(ValueError, match="feature_names has 1 entries, the tree has 2"):
        plot.tree(model, feature_names=["width"])


def test_estimator_that_is_not_fitted_is_an_error():
    with pytest.raises(NotFittedError):
        plot.tree(PDDP())


# Panels


def test_panels_has_a_panel_for_every_node(fitted):
    X, model = fitted
    shown = texts(plot.panels(model, X, feature_names=["width", "height"]))
    assert sum("cluster " in text for text in shown) == 3
    assert sum(text.startswith("node") for text in shown) == 2
    assert any("300 rows, p = " in text for text in shown)


def test_leaves_are_drawn_by_the_user(fitted):
    X, model = fitted
    drawn = []
    plot.panels(model, X, draw_leaf=lambda ax, node: drawn.append(node))
    assert drawn == model.tree_.leaves.tolist()


def test_panels_of_fewer_clusters_and_of_sparse_rows(fitted):
    X, model = fitted
    figure = plot.panels(model.tree_, sparse.csr_array(X), n_clusters=2)
    assert figure.get_suptitle() == "2 clusters, 1 cut, 300 rows"


# One cut


def test_density_and_histogram_of_a_cut_each_cover_all_rows(fitted, kind):
    X, model = fitted
    ax = plot.density(model, kind(X))
    assert sum(bar.get_width() * bar.get_height() for bar in ax.patches) == pytest.approx(1)
    x, y = max((line.get_data() for line in ax.lines), key=lambda xy: len(xy[0]))
    assert np.trapezoid(y, x) == pytest.approx(1, abs=0.01)
    assert any(np.ptp(line.get_xdata()) == 0 and line.get_xdata()[0] == 0 for line in ax.lines)


def test_node_shows_distance_to_the_cut_and_spread_across_it(fitted, kind):
    X, model = fitted
    tree = model.tree_
    ax = plot.node(model, kind(X), feature_names=["width", "height"])
    left, right = (collection.get_offsets() for collection in ax.collections)
    distance = X @ tree.normal[0] - tree.offset[0]
    assert_allclose(np.sort(np.concatenate([left[:, 0], right[:, 0]])), np.sort(distance), atol=1e-9)
    assert left[:, 0].max() < 0 <= right[:, 0].min()
    across = np.array([-tree.normal[0, 1], tree.normal[0, 0]])
    heights = np.concatenate([left[:, 1], right[:, 1]])
    assert np.ptp(heights) == pytest.approx(np.ptp(X @ across))
    assert ax.get_xlabel().startswith("distance to the cut\n")
    assert {word for word in ("width", "height") if word in ax.get_ylabel()}


def test_sides_of_a_node_differ_in_marker_colour_and_words(fitted):
    X, model = fitted
    ax = plot.node(model, X)
    markers = [collection.get_paths()[0].vertices.shape for collection in ax.collections]
    colours = [to_hex(collection.get_facecolor()[0]) for collection in ax.collections]
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert markers[0] != markers[1]
    assert colours[0] != colours[1]
    assert words[0].startswith("left: cluster")
    assert words[1].startswith("right: cluster")
    counts = model.tree_.count[[model.tree_.left[0], model.tree_.right[0]]]
    assert [int(word.split()[-2]) for word in words] == counts.tolist()
    assert [line.get_linestyle() for line in ax.lines] == ["--"]


def test_of_many_rows_the_same_few_are_drawn_each_time(fitted, monkeypatch):
    X, model = fitted
    monkeypatch.setattr(_node, "MOST_POINTS", 100)
    drawn = [[c.get_offsets().data for c in plot.node(model, X).collections] for _ in range(2)]
    assert sum(len(points) for points in drawn[0]) == 100
    for first, second in zip(*drawn, strict=True):
        assert_array_equal(first, second)


def test_rows_of_one_column_have_no_spread_across(rng):
    X = np.concatenate([rng.normal(size=50), rng.normal(10, size=50)])[:, None]
    ax = plot.node(PDDP(n_clusters=2).fit(X), X)
    assert "do not vary" in ax.get_ylabel()
    assert sum(len(c.get_offsets()) for c in ax.collections) == 100
    plt.close("all")


@pytest.mark.parametrize("picture", [plot.density, plot.node])
def test_a_leaf_is_no_cut_to_draw(fitted, picture):
    X, model = fitted
    with pytest.raises(ValueError, match=r"node 4 is not a cut; the cuts are \[0, "):
        picture(model, X, 4)


# The sequence


def test_elbow_shows_the_sum_of_squares_of_every_granularity(fitted):
    _, model = fitted
    ax = plot.elbow(model)
    k, total = ax.lines[0].get_data()
    assert_array_equal(k, [1, 2, 3])
    assert_allclose(total, [model.tree_.cut_to(n).sum_sq[model.tree_.cut_to(n).leaves].sum() for n in k])
    assert_allclose(ax.lines[1].get_data(), [[3], [sum_sq_path(model.tree_)[-1]]])
    assert [text.get_text() for text in ax.texts] == ["3 clusters"]


def test_elbow_shows_where_the_elbow_was_sought(fitted):
    model = IncrementalMDH(selection="elbow").fit(fitted[0])
    ax = plot.elbow(model)
    assert_array_equal(ax.lines[0].get_ydata(), model.elbow_path_)
    assert ax.lines[1].get_xdata() == [model.n_clusters_]


@pytest.mark.parametrize("seed", range(3))
def test_blocks_of_the_path_are_the_shares_of_cut_to(seed):
    tree = random_tree(6, 3, seed)
    ax = plot.path(tree)
    for k, column in enumerate(ax.containers, start=1):
        coarser = tree.cut_to(k)
        heights = [bar.get_height() for bar in column]
        assert_allclose(heights, coarser.count[coarser.leaves] / tree.count[0])
        assert sum(heights) == pytest.approx(1)
        assert_allclose([bar.get_y() for bar in column], np.cumsum(heights) - heights, atol=1e-12)
    assert len(ax.containers) == tree.n_clusters
    plt.close("all")


def test_dashed_line_of_the_path_is_where_the_next_column_has_a_new_edge(fitted):
    _, model = fitted
    ax = plot.path(model)
    assert len(ax.lines) == 2
    for k, line in enumerate(ax.lines):
        edges = [bar.get_y() for bar in ax.containers[k]]
        new = [bar.get_y() for bar in ax.containers[k + 1] if not np.isclose(bar.get_y(), edges).any()]
        assert_allclose(line.get_ydata(), np.repeat(new, 2))
        assert line.get_xdata().mean() == pytest.approx(k + 1)


def test_last_blocks_of_the_path_are_labelled_where_there_is_room(fitted):
    _, model = fitted
    assert [t.get_text().strip() for t in plot.path(model).texts] == [f"cluster {c}, 33%" for c in range(3)]
    small = plt.figure(figsize=(4, 0.3)).add_subplot()
    assert not plot.path(model, ax=small).texts


# The ends


def test_one_cluster_is_drawn(fitted):
    X, model = fitted
    one = model.cut_to(1)
    for ax in (plot.tree(one), plot.elbow(one), plot.path(one)):
        ax.figure.savefig("/dev/null", format="png")
    plot.panels(one, X).savefig("/dev/null", format="png")
    assert len(plot.elbow(one).lines[0].get_xdata()) == 1
    assert [t.get_text().strip() for t in plot.path(one).texts] == ["cluster 0, 100%"]


def test_no_rows_are_drawn(fitted, kind):
    X, model = fitted
    none = kind(X[:0])
    assert "0 rows" in plot.density(model, none).get_title()
    assert "0 rows" in plot.node(model, none).get_title()
    plot.panels(model, none).savefig("/dev/null", format="png")


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
