import numpy as np
from numpy.testing import assert_allclose

from ravine.tree._imdh import IMDHTree, Settings


def two_clouds(rng, n=400):
    X = rng.normal(size=(n, 2))
    X[::2, 0] += 12
    return X, np.ones(n)


def test_cut_of_the_stream_separates_two_clouds(rng):
    X, weights = two_clouds(rng)
    tree = IMDHTree(1, 2, Settings(warm_up=50, alpha=0.5, penalty=1.0))
    tree.learn(X, weights)
    side = tree.cut_tree(np.zeros(2), np.ones(2)).predict(X)
    assert np.mean(side[::2] == side[0]) > 0.97
    assert np.mean(side[1::2] != side[0]) > 0.97


def test_rows_are_told_the_cut_that_divides_them(rng):
    X, weights = two_clouds(rng)
    tree = IMDHTree(2, 2, Settings(warm_up=50, alpha=0.5, penalty=1.0))
    tree.learn(X, weights)
    assert_allclose(tree.normal_for(X, weights), tree.normal_and_mean(1)[0])
    left = X[::2] if tree.normal_and_mean(1)[0][0] < 0 else X[1::2]
    assert_allclose(tree.normal_for(left, np.ones(len(left))), tree.normal_and_mean(2)[0])
    assert IMDHTree(2, 2, Settings()).normal_for(X, weights) is None


def test_tree_is_given_in_the_coordinates_before_scaling(rng):
    X, weights = two_clouds(rng)
    center, scale = X.mean(axis=0), X.std(axis=0)
    tree = IMDHTree(3, 2, Settings(warm_up=50))
    tree.learn((X - center) / scale, weights)
    plain, unscaled = tree.cut_tree(np.zeros(2), np.ones(2)), tree.cut_tree(center, scale)
    assert np.mean(plain.predict((X - center) / scale) == unscaled.predict(X)) == 1
    assert_allclose(unscaled.mean[0], center)
    assert unscaled.count[0] == len(X)
