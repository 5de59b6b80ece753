import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from ravine import PDDP, MDHClassifier
from ravine.cuts import Cut, Surface
from ravine.explain import explain_row
from ravine.explain._row import contributions

X = np.array([[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]], dtype=float)


@pytest.fixture(scope="module")
def model():
    return PDDP(n_clusters=3, criterion="mean").fit(X)


def test_parts_by_hand():
    """The cut x0 + x1 = 4 lies between the means (0, 0) and (8, 0): the parts of a row count from (4, 0)."""
    rows = np.array([[0.0, 0.0], [8.0, 0.0]])
    leaf = PDDP(n_clusters=1, criterion="mean").fit(rows).tree_
    tree = leaf.split(0, Cut(np.array([1.0, 1.0]), 4.0), rows)
    np.testing.assert_allclose(contributions(tree, 0, np.array([5.0, 2.0])), np.array([1.0, 2.0]) / np.sqrt(2))
    (step,) = explain_row(tree, [5.0, 2.0], ["a", "b"]).steps
    assert (step.side, step.next_node) == ("right", 2)
    assert [name for name, _, _ in step.columns] == ["b", "a"]
    assert step.distance == pytest.approx(3 / np.sqrt(2))


@pytest.mark.parametrize("i", range(len(X)))
def test_the_way_is_that_of_the_tree(model, i):
    tree = model.tree_
    found = explain_row(model, X[i])
    path = tree.decision_path(X[[i]]).toarray()[0]
    assert [step.node for step in found.steps] + [found.leaf] == np.flatnonzero(path).tolist()
    assert found.leaf == tree.apply(X[[i]])[0]
    assert found.cluster == found.cluster_of_leaf == model.labels_[i]
    for step in found.steps:
        assert (step.side == "left") == (step.distance < 0)
        parts = contributions(tree, step.node, X[i])
        assert parts.sum() == pytest.approx(step.distance)
        assert all(part > 0 for _, _, part in step.columns)


def test_parts_do_not_depend_on_units(rng):
    rows = rng.normal(size=(60, 3)) + np.repeat([[0, 0, 0], [6, 3, 1]], 30, axis=0)
    tree = PDDP(n_clusters=2, criterion="mean").fit(rows).tree_
    center, scale = np.array([5.0, -7.0, 1000.0]), np.array([1e-3, 10.0, 1e4])
    moved = tree.unscaled(center, scale)
    before, after = contributions(tree, 0, rows[0]), contributions(moved, 0, rows[0] * scale + center)
    np.testing.assert_allclose(before / before.sum(), after / after.sum(), rtol=1e-6)


def test_membership_where_there_is_a_mixture():
    data = load_iris(as_frame=True).data
    soft = PDDP(n_clusters=3, criterion="mean", assign_labels="mixture").fit(data)
    differs = np.flatnonzero(soft.labels_ != soft.tree_.label[soft.tree_.apply(data.to_numpy())])
    found = explain_row(soft, data.iloc[differs[0]])
    np.testing.assert_allclose(found.membership, soft.predict_proba(data.iloc[differs[:1]])[0])
    assert found.cluster == soft.labels_[differs[0]] != found.cluster_of_leaf
    assert f"by the cuts alone, cluster {found.cluster_of_leaf}" in found.to_text()
    assert found.steps[0].columns[0][0] in data.columns


def test_rows_of_every_form_are_the_same():
    frame = pd.DataFrame(X, columns=["w", "h"])
    model = PDDP(n_clusters=3, criterion="mean").fit(frame)
    forms = [[0, 9], {"h": 9, "w": 0, "other": "x"}, np.array([[0.0, 9.0]]), frame.iloc[4], frame.iloc[[4]]]
    assert len({explain_row(model, row).to_text() for row in forms}) == 1


def test_a_tree_has_names_on_request(model):
    assert "width" in explain_row(model.tree_, X[2], ["width", "height"]).to_text()
    assert explain_row(model.tree_, X[2]).cluster == model.labels_[2]


def test_a_classifier_gives_its_class():
    y = np.array(["a", "a", "b", "b", "a", "a"])
    classifier = MDHClassifier().fit(X, y)
    if not hasattr(classifier, "tree_"):
        with pytest.raises(ValueError, match="no tree of cuts"):
            explain_row(classifier, X[2])
        return
    assert explain_row(classifier, X[2]).cluster == classifier.predict(X[[2]])[0]


def test_a_cut_that_bends_has_a_side():
    corner = Surface(np.eye(2), np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]), np.array([True, False, False]))
    leaf = PDDP(n_clusters=1, criterion="mean").fit([[0.0, 0.0], [1.0, 1.0]]).tree_
    tree = leaf.split(0, Cut(np.array([1.0, 1.0]), 2.0, surface=corner))
    (step,) = explain_row(tree, [0.0, 3.0]).steps
    assert (step.side, step.distance) == ("right", 2.0)


def test_a_single_leaf_has_no_steps():
    model = PDDP(n_clusters=1, criterion="mean").fit(X)
    found = explain_row(model, X[0])
    assert (found.steps, found.cluster, found.to_text()) == ((), 0, "cluster 0")


@pytest.mark.parametrize(
    ("row", "message"), [([1.0], "the row has shape"), ({"x0": 1}, "no value for 'x1'"), ([np.nan, 0.0], "NaN")]
)
def test_bad_rows_are_named(model, row, message):
    with pytest.raises(ValueError, match=message):
        explain_row(model, row)
