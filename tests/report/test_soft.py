import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.strategies import random_tree, seeds

from ravine import NCutH, SpectralPursuit
from ravine.report import ReportAccumulator, _soft
from ravine.report._summary import clusters_at, summarize
from ravine.tree._coarser import subtree_end
from ravine.tree._derived import with_mixture
from ravine.tree._ellipses import RADIUS
from ravine.tree._mixture import Mixture


@pytest.fixture(scope="module")
def touching():
    """Five groups in three columns, some of which touch."""
    rng = np.random.default_rng(0)
    centers = [[0, 0, 0], [5, 0, 0], [0, 9, 0], [4, 9, 0], [-9, 4, 3]]
    X = np.concatenate([rng.normal(center, [1 + i % 2, 1, 0.5], (150, 3)) for i, center in enumerate(centers)])
    model = NCutH(5).fit(X)
    assert model.tree_.has_soft_labels
    return X, model


def summary_of(model, X, labels=None):
    gatherer = ReportAccumulator(model)
    gatherer.add(X, labels)
    found = summarize(model, gatherer.rows())
    json.dumps(found, allow_nan=False)
    return found


def test_unsure_rows_and_boundary_rows_are_those_of_predict_proba_for_every_number(touching):
    X, model = touching
    tree, found = model.tree_, summary_of(model, X)["nodes"]
    for k in range(2, tree.n_clusters + 1):
        coarser = tree.cut_to(k)
        label, membership = coarser.predict(X), coarser.membership(X)
        own = membership[np.arange(len(X)), label]
        for cluster, node in enumerate(clusters_at(tree, k)):
            rows = np.flatnonzero(label == cluster)
            assert found[node]["unsure"] == pytest.approx(np.mean(own[rows] < 0.8), rel=1e-3, abs=1e-9)
            nearest = rows[np.argsort(own[rows], kind="stable")]
            assert [row["row"] for row in found[node]["boundary"]] == nearest[own[nearest] < 0.99][:6].tolist()
    assert any(found[node]["boundary"] for node in tree.leaves)


def test_memberships_of_a_boundary_row_are_those_in_the_leaves(touching):
    X, model = touching
    tree = model.tree_
    membership = model.predict_proba(X)
    for node in summary_of(model, X)["nodes"]:
        for row in node["boundary"]:
            listed = np.zeros(tree.n_clusters)
            for leaf, share in row["memberships"]:
                listed[tree.label[leaf]] = share
            assert_allclose(listed, membership[row["row"]], atol=6e-4)
            assert np.all(np.diff([share for _, share in row["memberships"]]) <= 0)


def test_ellipses_are_those_of_the_clusters_of_every_number(touching):
    X, model = touching
    tree, found = model.tree_, summary_of(model, X)["nodes"]
    ellipses = {node: {e[0]: e[1:] for e in found[node]["scatter"]["ellipses"]} for node in range(tree.n_nodes)}
    for k in range(1, tree.n_clusters + 1):
        _, mean, covariance = tree.cut_to(k).mixture.cluster_moments()
        for cluster, node in enumerate(clusters_at(tree, k)):
            at = ellipses[0][node]
            assert at[0] == pytest.approx(mean[cluster] @ tree.normal[0] - tree.offset[0], rel=1e-3, abs=1e-3)
            variance = tree.normal[0] @ covariance[cluster] @ tree.normal[0]
            assert at[2] == pytest.approx(RADIUS * np.sqrt(variance), rel=1e-3)
            assert node in ellipses[node]


def test_rows_have_the_marks_of_their_clusters_on_either_side_of_the_cut(touching):
    X, model = touching
    tree = model.tree_
    label, found = model.predict(X), summary_of(model, X)["nodes"]
    n_beyond = 0
    for cut in tree.cuts:
        last_left = tree.label[: tree.right[cut]].max()
        scatter = found[cut]["scatter"]
        n_left = scatter["n_left"]
        assert np.all(label[scatter["row"][:n_left]] <= last_left)
        assert np.all(label[scatter["row"][n_left:]] > last_left)
        passes = np.isin(label, tree.label[cut : subtree_end(tree, cut)])
        is_beyond = passes & (tree.cut(cut).goes_left(X) != (label <= last_left))
        assert found[cut]["n_beyond"] == is_beyond.sum()
        n_beyond += is_beyond.sum()
        for row in found[cut]["nearest"]:
            assert row["left"] == (label[row["row"]] <= last_left)
    assert n_beyond


def test_a_node_has_ellipses_for_as_many_clusters_as_can_be_told_apart(touching, monkeypatch):
    X, model = touching
    monkeypatch.setattr(_soft, "MOST_ELLIPSES", 3)
    tree, found = model.tree_, summary_of(model, X)["nodes"]
    expected = {int(node) for k in (1, 2, 3) for node in clusters_at(tree, k)}
    assert {ellipse[0] for ellipse in found[0]["scatter"]["ellipses"]} == expected


def test_only_the_largest_memberships_are_kept(touching, monkeypatch):
    X, model = touching
    whole = summary_of(model, X)["nodes"]
    monkeypatch.setattr(_soft, "MOST_SHARES", 3)
    monkeypatch.setattr(_soft, "BLOCK_CELLS", 500)
    for node, expected in zip(summary_of(model, X)["nodes"], whole, strict=True):
        assert [row["row"] for row in node["boundary"]] == [row["row"] for row in expected["boundary"]]
        assert all(len(row["memberships"]) <= 3 for row in node["boundary"])


def test_where_a_cut_bends_there_are_no_ellipses_but_boundary_rows(rng):
    X = rng.normal(size=(200, 2))
    X *= (np.where(rng.uniform(size=200) < 0.5, 1.0, 6.0) / np.linalg.norm(X, axis=1))[:, np.newaxis]  # two rings
    tree = SpectralPursuit(2, bandwidth_factor=0.3).fit(X).tree_
    assert tree.surface[0] is not None
    factor = np.array([np.eye(2), np.eye(2) / 6])
    mixture = Mixture(np.full(2, 0.5), np.zeros((2, 2)), factor, np.arange(2), 10.0)
    found = summary_of(with_mixture(tree, mixture), X)
    assert any(node["boundary"] for node in found["nodes"])
    assert "ellipses" not in found["nodes"][0]["scatter"]
    assert "ellipses" in found["nodes"][1]["scatter"]


def test_model_without_a_mixture_has_neither(touching):
    X, _ = touching
    found = summary_of(NCutH(5, assign_labels="tree").fit(X), X)
    assert found["soft"] is None
    assert all("boundary" not in node and "unsure" not in node for node in found["nodes"])
    assert all("ellipses" not in node["scatter"] for node in found["nodes"])


def test_classes_of_boundary_rows_are_given(touching):
    X, model = touching
    labels = np.arange(len(X)) % 3
    rows = [row for node in summary_of(model, X, labels)["nodes"] for row in node["boundary"]]
    assert_array_equal([row["class"] for row in rows], [row["row"] % 3 for row in rows])


@given(seeds, st.integers(0, 6), st.integers(1, 4), st.integers(0, 12), st.sampled_from([1e-120, 1.0, 1e120]))
def test_any_mixture_and_rows_have_a_summary(seed, n_cuts, n_columns, n_rows, unit):
    rng = np.random.default_rng(seed)
    tree = random_tree(n_cuts, n_columns, seed)
    k = tree.n_clusters
    factor = np.tril(rng.normal(size=(k, n_columns, n_columns)), -1) + np.eye(n_columns)
    mixture = Mixture(rng.dirichlet(np.ones(k)).clip(1e-9), rng.normal(size=(k, n_columns)), factor, np.arange(k), 10.0)
    tree = with_mixture(tree, mixture).unscaled(np.zeros(n_columns), np.full(n_columns, unit))
    found = summary_of(tree, unit * rng.integers(0, 3, size=(n_rows, n_columns)).astype(float))
    assert [node["unsure"] is None for node in found["nodes"]] == [node["rows"] == 0 for node in found["nodes"]]
