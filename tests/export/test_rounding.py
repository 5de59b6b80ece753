from fractions import Fraction

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ravine import PDDP, NCutH
from ravine.cuts import Cut
from ravine.datasets import make_blobs
from ravine.export import within_rounding
from ravine.prepare import TableEncoder


@pytest.fixture
def tree(rng):
    leaf = PDDP(n_clusters=1, criterion="mean").fit(rng.normal(size=(9, 5))).tree_
    return leaf.split(0, Cut(rng.normal(size=5), 0.3))


def test_all_other_rows_are_on_their_side_in_exact_arithmetic(tree, rng):
    X = rng.normal(size=(200, 5)) * 10.0 ** rng.integers(-8, 8, size=(200, 1))
    normal, offset = tree.normal[0], tree.offset[0]
    X[:100] -= np.outer(X[:100] @ normal - offset, normal)
    X[:50] += np.outer(rng.normal(size=50) * 1e-15, normal)
    near = within_rounding(tree, X)
    assert 20 < near.sum() < 120
    for row, label in zip(X[~near], tree.predict(X)[~near], strict=True):
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(row.tolist(), normal.tolist(), strict=True))
        assert label == (exact >= Fraction(float(offset)))


def test_only_cuts_on_the_way_of_a_row_count(tree):
    right = Cut(np.array([1.0, 0, 0, 0, 0]), 5.0)
    deeper = tree.split(int(tree.right[0]), right)
    left_row = -10 * tree.normal[0] * 1.0
    left_row[0] = 5.0
    assert tree.predict(left_row[np.newaxis])[0] == 0
    assert not within_rounding(deeper, left_row[np.newaxis])[0]


def test_rows_on_a_boundary_or_a_limit_are_near():
    X, _ = make_blobs(300, centers=[[0, 0], [9, 0]], random_state=0)
    model = NCutH(n_clusters=2, assign_labels="mixture", outliers="label").fit(X)

    def between(inside, outside, differs):
        """A row on the way between two rows where the label changes, by halving."""
        for _ in range(200):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if differs(middle) else (middle, outside)
        return inside

    first, second = X[model.labels_ == 0].mean(axis=0), X[model.labels_ == 1].mean(axis=0)
    boundary = between(first, second, lambda row: model.tree_.membership(row[np.newaxis])[0, 1] > 0.5)
    limit = between(first, first - [100, 0], lambda row: model.predict(row[np.newaxis])[0] == -1)
    assert within_rounding(model, np.array([first, second, limit])).tolist() == [False, False, True]
    inside = NCutH(n_clusters=2, assign_labels="mixture").fit(X)
    assert within_rounding(inside, boundary[np.newaxis])[0]


def test_float32_is_coarser(tree, rng):
    X = rng.normal(size=(500, 5))
    X[:250] += np.outer(tree.offset[0] - X[:250] @ tree.normal[0] + rng.normal(size=250) * 1e-7, tree.normal[0])
    fine, coarse = within_rounding(tree, X), within_rounding(tree, X, dtype="float32")
    assert fine.sum() < coarse.sum()
    assert coarse[fine].all()


def test_steps_of_a_pipeline_add_to_the_error():
    X = np.array([[1e9], [1e9 + 1], [1e9 + 8], [1e9 + 9]])
    model = make_pipeline(StandardScaler(), PDDP(n_clusters=2, criterion="mean")).fit(X)
    row = np.array([[1e9 + 4.5 + 5e-7]])
    assert within_rounding(model, row)[0]
    assert not within_rounding(model[-1], model[0].transform(row + 1e-3))[0]


def test_bad_arguments_are_named(tree):
    with pytest.raises(ValueError, match="dtype='half'"):
        within_rounding(tree, np.zeros((1, 5)), dtype="half")
    table = {"a": [1.0, 2.0, 8.0, 9.0], "b": [3.0, 1.0, 2.0, 2.5]}
    model = make_pipeline(TableEncoder(), PDDP(n_clusters=2, criterion="mean")).fit(table)
    with pytest.raises(ValueError, match="pass the last step"):
        within_rounding(model, np.zeros((1, 2)))
