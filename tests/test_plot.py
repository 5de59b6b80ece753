import builtins
import importlib
import os
from copy import deepcopy
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import silhouette_samples
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.strategies import random_tree

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.contour import ContourSet

import ravine
from ravine import (
    HSDC,
    PDDP,
    IncrementalMDH,
    NCutH,
    SpectralPursuit,
    StreamClusterer,
    SumOfNorms,
    SupportVectorClustering,
    load,
    plot,
    save,
)
from ravine._svc import Nearest
from ravine.cuts import Cut
from ravine.datasets import make_blobs
from ravine.plot import _clusterpath, _clusters, _node, _sequence, _support, _timeline
from ravine.tree._prune import sum_sq_path
from ravine.tree._stream import KINDS
from ravine.tree._stream._timeline import in_order_of_splits, with_fewer_bins


@pytest.fixture(scope="module")
def fitted_once():
    X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=1)
    return X, PDDP().fit(X)


@pytest.fixture
def fitted(fitted_once):
    yield deepcopy(fitted_once)
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
    with pytest.raises(ValueError, match="feature_names has 1 entries, but the tree has 2"):
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


def test_sides_of_a_node_differ_in_marker_color_and_words(fitted):
    X, model = fitted
    ax = plot.node(model, X)
    markers = [collection.get_paths()[0].vertices.shape for collection in ax.collections]
    colors = [to_hex(collection.get_facecolor()[0]) for collection in ax.collections]
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert markers[0] != markers[1]
    assert colors[0] != colors[1]
    assert words[0].startswith("left: cluster")
    assert words[1].startswith("right: cluster")
    counts = model.tree_.count[[model.tree_.left[0], model.tree_.right[0]]]
    assert [int(word.split()[-2]) for word in words] == counts.tolist()
    assert [line.get_linestyle() for line in ax.lines] == ["--"]


def test_where_a_cut_bends_rows_are_drawn_on_the_side_they_go_to(rng):
    X = rng.normal(size=(300, 2))
    X *= (np.where(rng.uniform(size=300) < 0.5, 1.0, 6.0) / np.linalg.norm(X, axis=1))[:, np.newaxis]  # two rings
    model = SpectralPursuit(2, bandwidth_factor=0.3).fit(X)
    assert model.tree_.surface[0] is not None
    counts = np.bincount(model.labels_).tolist()
    assert [len(c.get_offsets()) for c in plot.node(model, X).collections] == counts
    with pytest.raises(ValueError, match="has no ellipses, because its cut is not a hyperplane"):
        plot.node(model, X, ellipses=True)
    bars = plot.density(model, X).patches
    on_left = sum(bar.get_width() * bar.get_height() for bar in bars if to_hex(bar.get_facecolor()) == _node.LEFT)
    assert on_left == pytest.approx(counts[0] / 300)


# The ellipses of the clusters in a node


@pytest.fixture(scope="module")
def with_ellipses():
    """A model with a mixture; its root has one cluster on one side and two on the other."""
    X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=1)
    model = NCutH(3).fit(X)
    assert model.tree_.mixture is not None
    return X, model


def ellipses_of(ax):
    return [line.get_xydata() for line in ax.lines if line.get_linestyle() == "-"]


def test_node_has_an_ellipse_with_a_number_for_every_cluster_below_it(with_ellipses):
    X, model = with_ellipses
    tree = model.tree_
    ax = plot.node(model, X)
    middle = [(outline.min(axis=0) + outline.max(axis=0)) / 2 for outline in ellipses_of(ax)]
    assert_allclose(np.array(middle)[:, 0], model.cluster_centers_ @ tree.normal[0] - tree.offset[0], atol=0.02)
    assert_allclose([text.get_position() for text in ax.texts], middle, atol=0.02)
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]
    assert sum("mixture" in text.get_text() for text in ax.get_legend().get_texts()) == 1
    cut = tree.cuts[1]
    assert len(ellipses_of(plot.node(model, X, node=cut))) == 2
    assert len(ellipses_of(plot.node(tree.cut_to(2), X))) == 2
    plt.close("all")


def test_width_of_an_ellipse_is_that_of_the_covariance_in_the_plane(with_ellipses):
    X, model = with_ellipses
    normal = model.tree_.normal[0]
    widths = [np.ptp(outline[:, 0]) for outline in ellipses_of(plot.node(model, X))]
    deviations = np.sqrt(np.einsum("i,kij,j->k", normal, model.covariances_, normal))
    assert_allclose(widths, 2 * np.sqrt(2 * np.log(10)) * deviations, rtol=0.01)
    plt.close("all")


def test_ellipses_are_left_out_on_demand_and_where_they_are_many_or_missing(with_ellipses, fitted, monkeypatch):
    X, model = with_ellipses
    assert ellipses_of(plot.node(model, X, ellipses=False)) == []
    monkeypatch.setattr(_node, "MOST_NAMED", 2)
    assert ellipses_of(plot.node(model, X)) == []
    assert len(ellipses_of(plot.node(model, X, ellipses=True))) == 3
    _, without = fitted
    assert ellipses_of(plot.node(without, X)) == []
    with pytest.raises(ValueError, match="node 0 has no ellipses, because the tree has no mixture"):
        plot.node(without, X, ellipses=True)


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


def polygons(ax):
    return [collection for collection in ax.collections if isinstance(collection, PolyCollection)]


def boxes(collection):
    """Left, right, bottom and top of each block."""
    return np.array([[*path.get_extents().intervalx, *path.get_extents().intervaly] for path in collection.get_paths()])


def blocks_by_column(ax):
    """Of each number of clusters, bottoms, tops and colors of the blocks, from below."""
    (blocks,) = polygons(ax)
    columns = {}
    for (left, right, bottom, top), color in zip(boxes(blocks), blocks.get_facecolor(), strict=True):
        parts = columns.setdefault(round((left + right) / 2), ([], [], []))
        for part, value in zip(parts, (bottom, top, to_hex(color)), strict=True):
            part.append(value)
    return columns


@pytest.mark.parametrize("seed", range(3))
def test_blocks_of_the_path_are_the_shares_of_cut_to(seed):
    tree = random_tree(6, 3, seed)
    columns = blocks_by_column(plot.path(tree))
    assert list(columns) == list(range(1, tree.n_clusters + 1))
    for k, (bottoms, tops, _) in columns.items():
        coarser = tree.cut_to(k)
        heights = coarser.count[coarser.leaves] / tree.count[0]
        assert_allclose(np.subtract(tops, bottoms), heights, atol=1e-12)
        assert_allclose(tops, np.cumsum(heights), atol=1e-12)
    plt.close("all")


def test_new_blocks_of_the_path_are_colored(fitted):
    _, model = fitted
    columns = blocks_by_column(plot.path(model))
    tree = model.tree_
    new = [[tree.label[tree.left[cut]], tree.label[tree.right[cut]]] for cut in tree.cuts]
    for k, (_, _, colors) in columns.items():
        assert sum(color == _sequence.LEFT for color in colors) == (k > 1)
        assert sum(color == _sequence.RIGHT for color in colors) == (k > 1)
        assert len(colors) == k
    last = columns[3][2]
    assert [i for i, color in enumerate(last) if color != _sequence.PALE] in new


def test_blocks_of_many_clusters_run_on_from_column_to_column(monkeypatch):
    tree = random_tree(12, 3, seed=2)
    few = blocks_by_column(plot.path(tree))
    monkeypatch.setattr(_sequence, "MOST_COLUMNS", 12)
    ax = plot.path(tree)
    stretches, new = (boxes(collection) for collection in polygons(ax))
    assert len(stretches) == len(new) == tree.n_nodes
    for k, (bottoms, tops, _) in few.items():
        here = sorted(box[2:] for box in stretches.tolist() if box[0] < k < box[1])
        assert_allclose(here, sorted(map(list, zip(bottoms, tops, strict=True))), atol=1e-12)
    assert_array_equal(new[:, 1] - new[:, 0], 1)
    plt.close("all")


def test_path_of_many_clusters_has_a_few_blocks_a_node():
    ax = plot.path(random_tree(299, 3, seed=0))
    ax.figure.savefig(os.devnull, format="png", dpi=20)
    assert sum(len(collection.get_paths()) for collection in ax.collections) == 2 * 599 + 299
    plt.close("all")


def test_dashed_line_of_the_path_is_where_the_next_column_has_a_new_edge(fitted):
    _, model = fitted
    ax = plot.path(model)
    columns = blocks_by_column(ax)
    lines = sorted(lines_of(ax).get_segments(), key=lambda line: line[0, 0])
    assert len(lines) == 2
    for k, line in enumerate(lines, start=1):
        new = [edge for edge in columns[k + 1][0] if not np.isclose(edge, columns[k][0]).any()]
        assert_allclose(line[:, 1], np.repeat(new, 2))
        assert line[:, 0].mean() == pytest.approx(k)


def test_last_blocks_of_the_path_are_labeled_where_there_is_room(fitted):
    _, model = fitted
    assert [t.get_text().strip() for t in plot.path(model).texts] == [f"cluster {c}, 33%" for c in range(3)]
    small = plt.figure(figsize=(4, 0.3)).add_subplot()
    assert not plot.path(model, ax=small).texts


# The ends


def test_one_cluster_is_drawn(fitted):
    X, model = fitted
    one = model.cut_to(1)
    for ax in (plot.tree(one), plot.elbow(one), plot.path(one)):
        ax.figure.savefig(os.devnull, format="png", dpi=20)
    plot.panels(one, X).savefig(os.devnull, format="png", dpi=20)
    assert len(plot.elbow(one).lines[0].get_xdata()) == 1
    assert [t.get_text().strip() for t in plot.path(one).texts] == ["cluster 0, 100%"]


def test_no_rows_are_drawn(fitted, kind):
    X, model = fitted
    none = kind(X[:0])
    assert "0 rows" in plot.density(model, none).get_title()
    assert "0 rows" in plot.node(model, none).get_title()
    plot.panels(model, none).savefig(os.devnull, format="png", dpi=20)


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


# The path of a convex clustering


@pytest.fixture(scope="module")
def convex_once(fitted_once):
    X = fitted_once[0][::3]
    return X, SumOfNorms().fit(X)


@pytest.fixture
def convex(convex_once):
    yield deepcopy(convex_once)
    plt.close("all")


def lines_of(ax):
    (lines,) = (c for c in ax.collections if isinstance(c, LineCollection))
    return lines


def points_and_centers(ax):
    """Of each cluster, the collection of its rows and that of its center."""
    scatters = [c for c in ax.collections if not isinstance(c, LineCollection)]
    return scatters[::2], scatters[1::2]


def ending(model, n_lambdas):
    """The model as if its path had been stopped after some values of λ."""
    path = model.path_
    n_fusions = path.n_fusions_at(path.lambdas[n_lambdas - 1])
    parts = {name: getattr(path, name)[:n_fusions] for name in ("children", "merge_lambdas", "centroids")}
    model.path_ = replace(path, lambdas=path.lambdas[:n_lambdas], **parts)
    return model


def test_lines_lead_from_every_row_over_the_centers_to_the_last_fusion(convex):
    X, model = convex
    segments = np.array(lines_of(plot.clusterpath(model)).get_segments())
    starts, ends = segments[:, 0], segments[:, 1]
    sources = np.concatenate([starts, model.path_.centroids[-1:]])
    for row in X:
        assert (starts == row).all(axis=1).any()
    for end in ends:
        assert (sources == end).all(axis=1).any()
    for center in model.cluster_centers_:
        assert np.isclose(ends, center).all(axis=1).any()


def test_each_fusion_of_the_path_is_the_end_of_two_ways(convex):
    _, model = convex
    ends = np.array(lines_of(plot.clusterpath(model)).get_segments())[:, 1]
    path = model.path_
    for place in np.unique(path.centroids, axis=0):
        n_fusions = (path.centroids == place).all(axis=1).sum()
        assert (ends == place).all(axis=1).sum() >= 2 * n_fusions


def test_late_lines_are_thicker_and_darker(convex):
    _, model = convex
    lines = lines_of(plot.clusterpath(model))
    widths, brightness = lines.get_linewidth(), lines.get_color()[:, :3].mean(axis=1)
    assert (np.diff(widths) >= 0).all()
    assert (np.diff(brightness) <= 0).all()
    assert widths[-1] > 2 * widths[0]
    assert_array_equal(lines.get_segments()[-1][1], model.path_.centroids[-1])


def test_clusters_differ_in_color_and_marker_and_have_their_rows_and_center(convex):
    X, model = convex
    ax = plot.clusterpath(model)
    points, centers = points_and_centers(ax)
    assert len(points) == len(centers) == model.n_clusters_ == 3
    for k in range(3):
        assert sorted(map(tuple, points[k].get_offsets())) == sorted(map(tuple, X[model.labels_ == k]))
        assert_array_equal(centers[k].get_offsets(), model.cluster_centers_[[k]])
        assert to_hex(points[k].get_facecolor()[0]) == to_hex(centers[k].get_edgecolor()[0])
    assert len({to_hex(c.get_edgecolor()[0]) for c in centers}) == 3
    assert len({c.get_paths()[0].vertices.tobytes() for c in centers}) == 3
    counts = np.bincount(model.labels_)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [f"cluster {k}, {counts[k]} rows" for k in range(3)]
    assert ax.get_title() == f"3 clusters at λ = {model.lam_:.3g}, strength {model.strength_:.2g}"


def test_fifty_six_clusters_differ_in_color_or_marker():
    styles = {
        (_clusterpath.COLORS[k % len(_clusterpath.COLORS)], _clusterpath.MARKERS[k % len(_clusterpath.MARKERS)])
        for k in range(56)
    }
    assert len(styles) == 56


def test_legend_of_many_clusters_says_how_many_it_leaves_out(convex):
    model = SumOfNorms(lam=0.0, path=True).fit(convex[0])
    words = [text.get_text() for text in plot.clusterpath(model).get_legend().get_texts()]
    assert len(words) == 13
    assert words[-1] == "and 88 smaller"


def test_columns_of_the_clusterpath_are_chosen_by_name_or_number(rng):
    pd = pytest.importorskip("pandas")
    X = np.concatenate([rng.normal(size=(30, 3)), rng.normal(9, size=(30, 3))])
    model = SumOfNorms().fit(pd.DataFrame(X, columns=["width", "height", "depth"]))
    for features, names in (
        (None, ("width", "height")),
        ((2, "height"), ("depth", "height")),
        (["height"], ("λ", "height")),
        ("depth", ("λ", "depth")),
        (0, ("λ", "width")),
    ):
        ax = plot.clusterpath(model, features=features)
        assert (ax.get_xlabel(), ax.get_ylabel()) == names
    ax = plot.clusterpath(model, features=("c", "b"), feature_names=["a", "b", "c"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "b")
    _, centers = points_and_centers(ax)
    assert_array_equal([c.get_offsets()[0] for c in centers], model.cluster_centers_[:, [2, 1]])
    plt.close("all")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"features": (0, 1, 1)}, "features has 3 entries: pass one or two columns"),
        ({"features": (0, 2)}, "there is no feature 2: the rows have 2 features"),
        ({"features": "x9"}, "there is no feature 'x9': the features are x0, x1"),
        ({"feature_names": ["width"]}, "feature_names has 1 entries, but the rows have 2 features"),
    ],
)
def test_column_that_is_not_there_is_an_error(convex, wrong, message):
    with pytest.raises(ValueError, match=message):
        plot.clusterpath(convex[1], **wrong)


def test_places_of_one_column_are_drawn_against_lambda(rng):
    X = np.concatenate([rng.normal(size=40), rng.normal(12, size=40)])[:, None]
    model = SumOfNorms().fit(X)
    ax = plot.clusterpath(model)
    path = model.path_
    assert ax.get_xscale() == "log"
    ways = np.array(lines_of(ax).get_segments())
    assert (ways[:, 1:, 0] >= ways[:, :-1, 0] * (1 - 1e-12)).all()
    assert_allclose(ways[-1, -1], [path.merge_lambdas[-1], path.centroids[-1, 0]])
    assert set(X[:, 0]) <= set(ways[:, 0, 1])
    _, centers = points_and_centers(ax)
    assert_allclose([c.get_offsets()[0] for c in centers], [(model.lam_, c) for c in model.cluster_centers_[:, 0]])
    plt.close("all")


def test_way_of_one_column_passes_through_the_solutions_between_fusions(rng):
    X = np.concatenate([rng.normal(size=15), rng.normal(12, size=15)])[:, None]
    model = SumOfNorms(weights="uniform").fit(X)
    lines = np.array(lines_of(plot.clusterpath(model)).get_segments())
    longest = lines[np.argmax(lines[:, -1, 0] - lines[:, 0, 0])]
    for lam, place in longest[4:-1:4]:
        solution = SumOfNorms(lam=lam, weights="uniform", tol=1e-7).fit(X).centroids_[:, 0]
        assert np.abs(solution - place).min() < 0.02 * np.ptp(X)
    plt.close("all")


def test_of_many_rows_a_sample_is_drawn_with_its_ways_to_the_end(convex, monkeypatch):
    X, model = convex
    monkeypatch.setattr(_clusterpath, "MOST_POINTS", 20)
    ax = plot.clusterpath(model)
    points, _ = points_and_centers(ax)
    assert sum(len(p.get_offsets()) for p in points) == 20
    assert "20 of 100 rows drawn" in ax.get_title()
    segments = np.array(lines_of(ax).get_segments())
    starts = {tuple(start) for start in segments[:, 0]}
    assert sum(tuple(row) in starts for row in X) == 20
    for start in segments[:, 1]:
        assert tuple(start) in starts or (start == model.path_.centroids[-1]).all()


def test_number_of_groups_is_that_of_labels_at(convex):
    _, model = convex
    ax = plot.fusions(model)
    everything, large = ax.lines[:2]
    lambdas = model.path_.lambdas
    assert_array_equal(everything.get_xdata(), lambdas)
    for place in range(0, len(lambdas), 9):
        counts = np.bincount(model.labels_at(lambdas[place]))
        assert everything.get_ydata()[place] == len(counts)
        assert np.nan_to_num(large.get_ydata()[place]) == (counts >= 5).sum()
    assert large.get_label() == "5 rows or more"


def test_shaded_stretch_is_where_the_clusters_stay_the_same(convex):
    _, model = convex
    ax = plot.fusions(model)
    first, last = ax.patches[0].get_extents().transformed(ax.transData.inverted()).intervalx
    assert first < model.lam_ < last
    lambdas = model.path_.lambdas
    start = np.searchsorted(lambdas, first * (1 - 1e-9))
    large = ax.lines[1].get_ydata()
    assert set(large[(lambdas >= first * (1 - 1e-9)) & (lambdas <= model.lam_)]) == {3}
    assert large[start - 1] != 3
    assert large[np.searchsorted(lambdas, last * (1 - 1e-9))] != 3
    assert_allclose(ax.lines[2].get_xdata(), model.lam_)


@pytest.mark.parametrize("lam", [0.0, np.inf])
def test_lambda_off_the_path_is_not_marked(convex, lam):
    model = SumOfNorms(lam=lam, path=True).fit(convex[0])
    ax = plot.fusions(model)
    assert len(ax.lines) == 2
    assert not ax.patches
    assert ax.get_title() == f"{model.n_clusters_} cluster{'s' * (lam == 0)} at λ = {lam:.3g}"
    plot.clusterpath(model).figure.savefig(os.devnull, format="png", dpi=20)


def test_path_that_ends_early_is_said_to(convex):
    _, model = convex
    end = model.path_.lambdas[99]
    n_left = len(set(model.labels_at(end)))
    words = f"the path ends at λ = {end:.3g} with {n_left} groups not yet fused"
    assert n_left > 1
    for picture in (plot.clusterpath, plot.fusions):
        assert words not in picture(model).get_title()
    ending(model, 100)
    for picture in (plot.clusterpath, plot.fusions):
        assert picture(model).get_title().endswith(f"\n{words}")


@pytest.mark.parametrize("picture", [plot.clusterpath, plot.fusions])
def test_model_without_a_path_says_how_to_get_one(convex, picture):
    with pytest.raises(ValueError, match="draws the path over λ, but this model has only one λ: fit it with path=True"):
        picture(SumOfNorms(lam=1.0).fit(convex[0]))
    with pytest.raises(NotFittedError):
        picture(SumOfNorms())


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("n_distinct", [1, 2])
@pytest.mark.parametrize("picture", [plot.clusterpath, plot.fusions])
def test_path_of_one_row_or_two_is_drawn(picture, n_columns, n_distinct):
    X = np.repeat(np.arange(float(n_distinct)), 3)[:, None] * np.ones(n_columns)
    picture(SumOfNorms().fit(X)).figure.savefig(os.devnull, format="png", dpi=20)
    plt.close("all")


@pytest.mark.parametrize("picture", [plot.clusterpath, plot.fusions])
def test_path_is_drawn_on_given_axes_with_its_legend_inside(convex, picture):
    figure, ax = plt.subplots()
    assert picture(convex[1], ax=ax) is ax
    figure.canvas.draw()
    legend, whole = ax.get_legend().get_window_extent(), figure.bbox
    assert legend.x0 >= whole.x0
    assert legend.x1 <= whole.x1
    assert legend.y1 <= whole.y1


# The region of support vectors


@pytest.fixture(scope="module")
def three_modes():
    X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=1)
    return X, SupportVectorClustering(contamination=0.05).fit(X)


@pytest.fixture
def enclosed(three_modes):
    yield three_modes
    plt.close("all")


def contours(ax, filled):
    return [c for c in ax.collections if isinstance(c, ContourSet) and c.filled == filled]


def boundary(ax):
    (line,) = (c for c in contours(ax, filled=False) if to_hex(c.get_edgecolor()[0]) == _support.LINE)
    return line


def rows_drawn(ax, hollow):
    """Of each collection of rows, its color and its rows."""
    found = []
    for c in ax.collections:
        is_row = not isinstance(c, ContourSet) and c.get_zorder() in (3, 4) and len(c.get_offsets())
        if is_row and (len(c.get_facecolor()) == 0) == hollow:
            color = c.get_edgecolor() if hollow else c.get_facecolor()
            found.append((to_hex(color[0]), c.get_offsets().data))
    return found


def is_in(rows, contour):
    return np.any([path.contains_points(rows) for path in contour.get_paths()], axis=0)


def area(contour):
    total = 0.0
    for polygon in contour.get_paths()[0].to_polygons():
        x, y = polygon.T
        total += 0.5 * np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])
    return abs(total)


def grid_step(ax):
    return np.ptp(ax.get_xlim()) / (_support.GRID - 1)


def sorted_rows(X):
    return X[np.lexsort(X.T)]


def test_region_of_each_cluster_has_its_rows_above_the_level_and_no_others(enclosed):
    X, model = enclosed
    ax = plot.support(model)
    height = model.decision_function(X) + model.offset_
    for k in range(3):
        (region,) = (c for c in contours(ax, filled=True) if to_hex(c.get_facecolor()[0]) == _clusterpath.COLORS[k])
        here = model.labels_ == k
        assert is_in(X[here & (height > model.level_ + 0.01)], region).all()
        assert not is_in(X[~here | (height < model.level_ - 0.01)], region).any()
    assert len(contours(ax, filled=True)) == model.n_clusters_ == 3
    assert ((height > model.level_ + 0.01) != ~model.outlier_).any()


def test_rows_have_the_color_of_their_cluster_and_hollow_ones_are_the_outliers(enclosed):
    X, model = enclosed
    ax = plot.support(model)
    for hollow, are_shown in ((False, ~model.outlier_), (True, model.outlier_)):
        of_color = rows_drawn(ax, hollow)
        for color, rows in of_color:
            k = _clusterpath.COLORS.index(color)
            assert_array_equal(sorted_rows(rows), sorted_rows(X[are_shown & (model.labels_ == k)]))
        assert sum(len(rows) for _, rows in of_color) == are_shown.sum() > 0
    assert len(rows_drawn(ax, hollow=False)) == 3


def test_outliers_in_no_cluster_are_gray(enclosed):
    X, _ = enclosed
    model = SupportVectorClustering(outliers="label", contamination=0.1).fit(X)
    ax = plot.support(model)
    ((color, rows),) = rows_drawn(ax, hollow=True)
    assert color == _support.FAINT
    assert_array_equal(sorted_rows(rows), sorted_rows(X[model.labels_ == -1]))
    assert [len(rows) for _, rows in rows_drawn(ax, hollow=False)] == np.bincount(model.labels_ + 1)[1:].tolist()


def test_decision_function_changes_its_sign_at_the_boundary_within_a_step_of_the_grid(enclosed):
    X, model = enclosed
    ax = plot.support(model)
    line, step = boundary(ax), grid_step(ax)
    places = np.concatenate([path.vertices for path in line.get_paths()])
    angles = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    around = [model.decision_function(places + step * np.array([np.cos(a), np.sin(a)])) for a in angles]
    assert (np.min(around, axis=0) < 0).all()
    assert (np.max(around, axis=0) > 0).all()
    is_clear = np.abs(model.decision_function(X)) > 0.01
    assert_array_equal(is_in(X, line)[is_clear], ~model.outlier_[is_clear])


def test_region_and_rows_are_inside_axes_whose_units_are_equal(enclosed):
    X, model = enclosed
    ax = plot.support(model)
    assert ax.get_aspect() == 1
    limits = np.array([ax.get_xlim(), ax.get_ylim()])
    places = [X, *(path.vertices for c in contours(ax, filled=True) for path in c.get_paths())]
    for place in places:
        assert (place > limits[:, 0]).all()
        assert (place < limits[:, 1]).all()


def test_regions_of_clusters_that_touch_leave_no_gap_and_share_nothing(enclosed):
    X, _ = enclosed
    X = X[np.hypot(*X.T) < 4]
    one = SupportVectorClustering(1, gamma=0.3).fit(X)
    (whole,) = contours(plot.support(one), filled=True)
    modes = Nearest(one.sample_, (one.sample_[:, 0] > 0).astype(np.int64), one.level_)
    one._settled = replace(one._result, modes=modes)
    parts = contours(plot.support(one, X), filled=True)
    assert len(parts) == 2
    assert area(parts[0]) + area(parts[1]) == pytest.approx(area(whole), rel=1e-3)
    assert min(map(area, parts)) > 0.3 * area(whole)


def test_title_and_legend_say_what_the_model_found(enclosed):
    _, model = enclosed
    ax = plot.support(model)
    assert ax.get_title() == f"3 clusters, γ = {model.gamma_:.3g}, {model.outlier_.mean():.1%} outliers"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")
    counts = np.bincount(model.labels_)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        *(f"cluster {k}, {counts[k]} rows" for k in range(3)),
        f"outliers, {model.outlier_.sum()} rows",
        "boundary for outliers",
    ]


def test_given_axes_keep_their_room_for_the_picture(enclosed):
    _, model = enclosed
    figure, axes = plt.subplots(1, 2)
    assert plot.support(model, ax=axes[1]) is axes[1]
    assert not axes[0].has_data()
    assert axes[1].get_legend() is None
    assert len(axes[1].legend().get_texts()) == 5
    figure.savefig(os.devnull, format="png", dpi=20)


def test_given_rows_are_drawn_as_they_are_predicted(enclosed, rng):
    _, model = enclosed
    X = rng.uniform(-4, 13, size=(200, 2))
    ax = plot.support(model, X)
    label, is_outlier = model.predict(X), model.decision_function(X) < 0
    for hollow in (False, True):
        for color, rows in rows_drawn(ax, hollow):
            here = (label == _clusterpath.COLORS.index(color)) & (is_outlier == hollow)
            assert_array_equal(rows, X[here])
    assert ax.get_title().endswith(f"{is_outlier.mean():.1%} outliers")


def test_of_many_rows_two_thousand_are_drawn_and_all_are_counted(enclosed):
    X, model = enclosed
    many = np.tile(X, (10, 1))
    ax = plot.support(model, many)
    assert sum(len(rows) for hollow in (False, True) for _, rows in rows_drawn(ax, hollow)) == 2000
    assert ax.get_title().endswith("outliers, 2,000 of 3,000 rows drawn")
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[0] == f"cluster 0, {10 * (model.labels_ == 0).sum():,} rows"


def test_few_vectors_and_their_equilibria_are_marked_and_many_on_demand(enclosed):
    X, model = enclosed
    few = SupportVectorClustering(budget=40).fit(X)

    def marks(ax):
        return {c.get_zorder(): c.get_offsets().data for c in ax.collections if c.get_zorder() > 4}

    for fitted, options in ((few, {}), (model, {"vectors": True, "equilibria": True})):
        rings, crosses = marks(plot.support(fitted, **options)).values()
        assert_array_equal(rings, fitted.support_vectors_)
        assert_array_equal(crosses, fitted.equilibria_)
    assert not marks(plot.support(few, vectors=False, equilibria=False))
    assert not marks(plot.support(model))
    words = [text.get_text() for text in plot.support(few).get_legend().get_texts()]
    assert words[-3:-1] == ["40 support vectors", f"{len(few.equilibria_)} equilibria"]


def test_many_clusters_share_colors_and_the_legend_says_how_many_it_leaves_out():
    places = np.stack(np.meshgrid(np.arange(5), np.arange(4)), axis=-1).reshape(-1, 2)
    X, _ = make_blobs(400, centers=12.0 * places, random_state=0)
    model = SupportVectorClustering().fit(X)
    ax = plot.support(model)
    assert model.n_clusters_ == 20
    assert len(contours(ax, filled=True)) == len(_clusterpath.COLORS)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[12] == "and 8 smaller"
    assert sum(len(rows) for hollow in (False, True) for _, rows in rows_drawn(ax, hollow)) == 400
    plt.close("all")


def test_axes_have_the_names_of_the_columns(enclosed):
    pd = pytest.importorskip("pandas")
    X, _ = enclosed
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = SupportVectorClustering().fit(frame)
    for ax in (plot.support(model), plot.support(model, frame)):
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    ax = plot.support(model, feature_names=["a", "b"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")


@pytest.mark.parametrize("resume", [True, False])
def test_loaded_model_has_the_picture_of_the_saved_one(enclosed, tmp_path, resume):
    _, model = enclosed
    ravine.save(model, tmp_path / "model", resume=resume)
    first, second = plot.support(model), plot.support(ravine.load(tmp_path / "model"))
    assert first.get_title() == second.get_title()
    for a, b in zip(first.collections, second.collections, strict=True):
        assert_array_equal(a.get_offsets(), b.get_offsets())
        for p, q in zip(a.get_paths(), b.get_paths(), strict=True):
            assert_array_equal(p.vertices, q.vertices)


def test_model_of_a_stream_is_drawn_with_the_rows_that_it_keeps(enclosed):
    X, _ = enclosed
    model = SupportVectorClustering()
    for part in np.split(X, 3):
        model.partial_fit(part)
    ax = plot.support(model)
    shown = np.concatenate([rows for hollow in (False, True) for _, rows in rows_drawn(ax, hollow)])
    assert_array_equal(sorted_rows(shown), sorted_rows(X))
    assert len(contours(ax, filled=True)) == model.n_clusters_ == 3


@pytest.mark.parametrize("n_columns", [1, 3])
def test_region_is_drawn_for_two_columns_only(rng, n_columns):
    X = rng.normal(size=(40, n_columns))
    columns = "1 column" if n_columns == 1 else "3 columns"
    with pytest.raises(ValueError, match=f"the model has {columns}.*fit the model on two columns, or on a projection"):
        plot.support(SupportVectorClustering(1).fit(X), X)


def test_support_refuses_what_it_cannot_draw(enclosed):
    X, model = enclosed
    with pytest.raises(NotFittedError):
        plot.support(SupportVectorClustering())
    with pytest.raises(
        TypeError, match=r"draws a SupportVectorClustering, but this is an object of type PDDP: use plot\.tree"
    ):
        plot.support(PDDP().fit(X))
    with pytest.raises(ValueError, match="X has 3 columns, but the model was fitted on 2"):
        plot.support(model, np.ones((4, 3)))
    with pytest.raises(ValueError, match="feature_names has 1 entries, but the rows have 2 features"):
        plot.support(model, feature_names=["width"])
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("X", "options"),
    [
        (np.ones((1, 2)), {}),
        (np.ones((50, 2)), {}),
        (np.array([[0.0, 0.0], [1.0, 1.0]]), {}),
        (np.column_stack([np.r_[0:1:40j, 9:10:40j], np.zeros(80)]), {}),
        (np.column_stack([np.r_[0:1:40j, 9:10:40j], np.zeros(80)]), {"gamma": 1e-9}),
        (np.column_stack([np.r_[0:1:40j, 9:10:40j], np.zeros(80)]), {"gamma": 1e9, "contamination": 0.0}),
        (
            np.column_stack([np.r_[0:1:40j, 9:10:40j], np.zeros(80)]),
            {"assignment": "segments", "gamma": 0.01, "C": 90.0},
        ),
    ],
    ids=["one row", "equal rows", "two rows", "a line", "a wide kernel", "a narrow kernel", "all inside"],
)
def test_region_of_the_ends_is_drawn(X, options):
    model = SupportVectorClustering(**options).fit(X)
    ax = plot.support(model)
    ax.figure.savefig(os.devnull, format="png", dpi=20)
    assert ax.get_title().startswith(f"{model.n_clusters_} cluster")
    shown = np.concatenate([rows for hollow in (False, True) for _, rows in rows_drawn(ax, hollow)])
    assert_array_equal(sorted_rows(shown), sorted_rows(model.sample_))
    plt.close("all")


# The timeline of a stream


@pytest.fixture(scope="module")
def followed():
    """Three clusters, of which one pauses, and one that begins late."""
    X, y = make_blobs(9000, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    row = np.arange(9000)
    yield StreamClusterer().fit(X[~((y == 1) & (row > 3000) & (row < 5000)) & ~((y == 3) & (row < 7000))])
    plt.close("all")


def bands(ax):
    return {text.get_text(): text for text in ax.texts if text.get_text().startswith("cluster ")}


def edges_of_bands(ax):
    """Corners of each band, in the order of the bands."""
    areas = [c for c in ax.collections if isinstance(c, PolyCollection) and not isinstance(c, LineCollection)]
    return [np.concatenate([path.vertices for path in area.get_paths()]) for area in areas if area.get_paths()]


def test_bands_of_the_timeline_have_the_shares_of_the_rows(followed):
    ax = plot.timeline(followed)
    history = with_fewer_bins(followed.history_, _timeline.MOST_DRAWN)
    order = in_order_of_splits(history["cluster_ids"], followed.events_)
    tops = (np.cumsum(history["counts"][:, order], axis=1).T / history["counts"].sum(axis=1)).T
    middle = (history["start"] + history["stop"]) / 2
    assert len(edges_of_bands(ax)) == len(order)
    for k, corners in enumerate(edges_of_bands(ax)):
        has_rows = history["counts"][:, order[k]] > 0
        assert corners[:, 1].max() == pytest.approx(tops[has_rows, k].max())
        assert corners[:, 0].min() <= middle[has_rows][0]
        assert corners[:, 0].max() >= middle[has_rows][-1]
    assert tops[:, -1] == pytest.approx(1)
    assert {f"cluster {cluster}" for cluster in followed.cluster_ids_} <= set(bands(ax))


def test_marks_of_the_timeline_are_the_events(followed):
    ax = plot.timeline(followed)
    kinds = [kind for kind in KINDS if followed.n_events_[kind]]
    assert {"split", "appeared"} <= set(kinds)
    drawn = [line for line in ax.lines if line.get_marker() != "None" and line.get_transform() == ax.transData]
    for kind, line in zip(kinds, drawn, strict=True):
        assert line.get_marker() == _timeline.MARKS[kind][0]
        assert_array_equal(line.get_xdata(), [event["row"] for event in followed.events_ if event["kind"] == kind])
    assert "1 appeared" in texts(ax.figure)
    n_splits = followed.n_events_["split"]
    assert f"{n_splits} split{'s' * (n_splits > 1)}" in texts(ax.figure)


def test_every_kind_of_event_has_a_mark_of_its_own():
    assert set(_timeline.MARKS) == set(KINDS)
    assert len(set(_timeline.MARKS.values())) == len(KINDS)


def test_color_of_a_cluster_depends_on_its_identifier_only():
    colors = [to_hex(_timeline.color_of(cluster)) for cluster in range(-1, 21)]
    assert len(set(colors)) == len(colors)
    X = make_blobs(3000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
    model = StreamClusterer()
    seen = []
    for part in (X[:1500], X[1500:]):
        ax = plot.timeline(model.partial_fit(part))
        areas = [c for c in ax.collections if isinstance(c, PolyCollection)]
        order = in_order_of_splits(model.history_["cluster_ids"], model.events_)
        ids = model.history_["cluster_ids"][order].tolist()
        seen.append({cluster: to_hex(area.get_facecolor()[0]) for cluster, area in zip(ids, areas, strict=True)})
    assert seen[0].items() <= seen[1].items()
    plt.close("all")


def busy(n_clusters, n_events):
    """A model whose history and events are made up."""
    rng = np.random.default_rng(0)
    model = StreamClusterer().fit(rng.normal(size=(64 * 40, 2)))
    history, log = model._stream.history, model._stream.log
    history.ids = np.arange(n_clusters)
    shares = rng.dirichlet(np.full(n_clusters, 5.0))
    history.counts = rng.multinomial(history.width, shares, size=len(history.counts))
    for row in np.linspace(10, 2500, n_events).astype(int).tolist():
        kind = KINDS[row % len(KINDS)]
        log.report(kind, row, row - 5, [0], **({"node": 0} if kind == "split" else {}))
    return model


@pytest.mark.parametrize("n_clusters", [1, 3, 40])
@pytest.mark.parametrize("n_events", [0, 2, 200])
def test_labels_of_the_timeline_do_not_overlap_and_lie_inside(n_clusters, n_events):
    ax = plot.timeline(busy(n_clusters, n_events))
    boxes = boxes_of_text(ax)
    for i, a in enumerate(boxes):
        assert 0 <= a.x0 < a.x1 <= ax.figure.bbox.x1
        for b in boxes[:i]:
            assert not (a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1)
    assert len(bands(ax)) <= n_clusters
    if n_clusters <= 3:
        assert len(bands(ax)) == n_clusters
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    n_drifts = sum(1 for event in busy(n_clusters, n_events).events_ if event["kind"] == "drift")
    assert sum(len(line.get_segments()) for line in lines) == (n_events if n_events < 24 else n_drifts)
    plt.close("all")


def test_small_clusters_that_are_gone_are_a_band_of_others():
    model = busy(3, 0)
    model._stream.history.ids = np.array([-1, 4, 9])
    assert "others" in texts(plot.timeline(model).figure)
    plt.close("all")


def test_timeline_is_drawn_on_given_axes(followed):
    ax = plt.figure(figsize=(3, 2)).add_subplot()
    assert plot.timeline(followed, ax=ax) is ax


def test_timeline_needs_the_stream(followed, tmp_path):
    save(followed, tmp_path / "model.ravine", resume=False)
    with pytest.raises(AttributeError, match="saved without its stream: save it with resume=True"):
        plot.timeline(load(tmp_path / "model.ravine"))
    with pytest.raises(TypeError, match=r"plot.timeline draws a StreamClusterer, but this is .* HSDC"):
        plot.timeline(HSDC())
    with pytest.raises(NotFittedError):
        plot.timeline(StreamClusterer())


def test_parts_of_a_split_follow_it_also_if_it_is_gone():
    def split(node, *clusters):
        return {"kind": "split", "node": node, "clusters": list(clusters)}

    ids = np.array([0, 3, 4, 5, 6, 7])
    assert ids[in_order_of_splits(ids, [split(0, 1, 2), split(1, 6, 4), split(3, 5)])].tolist() == [0, 6, 4, 3, 5, 7]
    assert in_order_of_splits(ids, [{"kind": "moved", "clusters": [3]}]) == list(range(6))
    assert sorted(in_order_of_splits(ids, [split(3, 5), split(5, 3)])) == list(range(6))


# Silhouettes and distances


def lengths(ax):
    """Lengths of the bars of each cluster."""
    return [patch.get_data().values for patch in ax.patches]


def test_bars_are_the_silhouettes_of_each_cluster_in_order(fitted):
    X, model = fitted
    value = silhouette_samples(X, model.labels_)
    ax = plot.silhouette(model, X)
    for cluster, bars in enumerate(lengths(ax)):
        assert_allclose(bars, np.sort(value[model.labels_ == cluster]))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["cluster 0", "cluster 1", "cluster 2"]
    assert f"Mean silhouette {value.mean():.2f}, 300 rows" in ax.get_title(loc="left")


def test_means_and_sizes_of_the_clusters_stand_beside_their_bars(fitted):
    X, model = fitted
    value = silhouette_samples(X, model.labels_)
    expected = [f"{value[model.labels_ == k].mean():.2f}, {(model.labels_ == k).sum()} rows" for k in range(3)]
    assert texts(plot.silhouette(model, X).figure) == expected


def test_squares_are_the_distances_of_means_and_the_spreads(fitted):
    X, model = fitted
    parts = [X[model.labels_ == k] for k in range(3)]
    ax = plot.distances(model, X)
    shown = ax.images[0].get_array()
    for i, a in enumerate(parts):
        assert_allclose(shown[i, i], np.sqrt(a.var(axis=0).sum()))
        for j, b in enumerate(parts):
            assert i == j or shown[i, j] == pytest.approx(np.linalg.norm(a.mean(axis=0) - b.mean(axis=0)))
    assert [text.get_text() for text in ax.texts] == [f"{value:.2g}" for value in shown.ravel()]


@pytest.mark.parametrize("picture", [plot.silhouette, plot.distances])
def test_pictures_of_clusters_take_whatever_predicts(fitted, picture, kind):
    X, model = fitted
    pipe = make_pipeline(StandardScaler(with_mean=False), PDDP(3)).fit(X)
    plain = picture(model, X)
    for other in (model.tree_, model, KMeans(3, n_init=1).fit(X), pipe):
        ax = picture(other, X if other is not model else kind(X))
        assert len(ax.get_yticklabels()) == len(plain.get_yticklabels())
    ax = plt.figure().add_subplot()
    assert picture(model, X, ax=ax) is ax


def test_distances_of_a_pipeline_are_those_of_the_rows_of_its_last_step(fitted):
    X, _ = fitted
    pipe = make_pipeline(StandardScaler(), PDDP(3)).fit(X)
    ours, expected = (
        plot.distances(*each).images[0].get_array() for each in ((pipe, X), (pipe[-1], pipe[0].transform(X)))
    )
    assert_allclose(ours, expected)


def test_rows_without_a_cluster_are_left_out(fitted):
    X, _ = fitted
    rows = np.vstack([X, [[500.0, -300.0]]])
    model = NCutH(3, outliers="label", min_cluster_size=5).fit(rows)
    assert (model.labels_ == -1).any()
    n_inside = (model.labels_ >= 0).sum()
    assert sum(map(len, lengths(plot.silhouette(model, rows)))) == n_inside
    assert plot.distances(model, rows).images[0].get_array().shape == (3, 3)


def test_of_many_rows_the_same_silhouettes_are_drawn_each_time(fitted, monkeypatch):
    X, model = fitted
    monkeypatch.setattr(_clusters, "MOST_ROWS", 90)
    first, second = plot.silhouette(model, X), plot.silhouette(model, X)
    assert sum(map(len, lengths(first))) == 90
    assert "90 of 300 rows" in first.get_title(loc="left")
    for a, b in zip(lengths(first), lengths(second), strict=True):
        assert_array_equal(a, b)


def test_many_clusters_have_squares_without_numbers_and_too_many_are_refused(rng):
    X = rng.normal(size=(400, 2))
    assert not list(plot.distances(PDDP(20, criterion="mean").fit(X), X).texts)
    for picture in (plot.silhouette, plot.distances):
        with pytest.raises(ValueError, match=r"too many for this plot: .*cut_to\(40\)"):
            picture(PDDP(60, criterion="mean").fit(X), X)
    plt.close("all")


def test_pictures_of_clusters_refuse_what_they_cannot_draw(fitted):
    X, model = fitted
    with pytest.raises(ValueError, match="these rows are 1 cluster of 300 rows"):
        plot.silhouette(PDDP(1).fit(X), X)
    with pytest.raises(ValueError, match="1 cluster of 1 row"):
        plot.silhouette(model, X[:1])
    assert plot.distances(PDDP(1).fit(X), X).images[0].get_array().shape == (1, 1)
    for picture in (plot.silhouette, plot.distances):
        with pytest.raises(NotFittedError):
            picture(PDDP(), X)
        with pytest.raises(TypeError, match="method predict"):
            picture(None, X)
