import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine import SumOfNorms
from ravine._convex import FusionTree, choose, labels_in, least_size, stretches


def tree_of(rows, fusions, lambdas):
    """A path from sets of points that fuse at some λ, in order; each set is a union of groups that were there."""
    n_points, children, merge_lambdas, centroids = len(rows), [], [], []
    node = np.arange(n_points)
    for lam, members in fusions:
        for member in members:
            pair = node[members[0]], node[member]
            if pair[0] != pair[1]:
                children.append(pair)
                merge_lambdas.append(lam)
                node[np.isin(node, pair)] = n_points + len(children) - 1
                centroids.append(rows[node == node[member]].mean(axis=0))
    return FusionTree(
        n_points,
        np.array(lambdas, dtype=float),
        np.array(children, dtype=np.int64).reshape(-1, 2),
        np.array(merge_lambdas, dtype=float),
        np.array(centroids).reshape(-1, rows.shape[1]),
    )


def numbered(n_points):
    return np.arange(float(n_points))[:, None]


def two_clusters_and_outliers():
    """Clusters 0-5 and 6-11; point 12 joins the first at 4, point 13 stays alone until all fuse."""
    fusions = [(1, range(6)), (1, range(6, 12)), (4, [0, 12]), (64, range(13)), (128, range(14))]
    rows = np.concatenate([np.zeros(6), np.full(6, 10.0), [3.0, 12.0]])[:, None]
    return tree_of(rows, fusions, 2.0 ** np.arange(8)), rows, np.ones(14)


def test_two_clusters_that_matter_take_up_the_outliers():
    choice = choose(*two_clusters_and_outliers(), 5.0)
    assert choice.lam == 4
    assert_array_equal(choice.labels, [0] * 6 + [1] * 6 + [0, 1])
    share = np.array([7, 7]) / 14
    assert_allclose(choice.strength, np.log(64) * (1 - share @ share) / np.log(2))


def test_outlier_goes_to_the_nearest_of_clusters_that_have_fused_by_then():
    tree, rows, mass = two_clusters_and_outliers()
    rows[13] = -5.0
    assert choose(tree, rows, mass, 5.0).labels[13] == 0


def test_small_groups_that_matter_together_later_are_a_cluster():
    fusions = [(1, range(6)), (1, range(6, 12)), (1, range(12, 15)), (1, range(15, 18)), (64, range(12, 18))]
    tree = tree_of(numbered(18), [*fusions, (128, range(18))], 2.0 ** np.arange(8))
    choice = choose(tree, numbered(18), np.ones(18), 5.0)
    assert choice.lam == 4
    assert_array_equal(choice.labels, np.repeat([0, 1, 2], 6))


def test_longest_stretch_wins():
    early = [(1, range(6)), (1, range(6, 12)), (1, range(12, 18))]
    for second, lam, n_clusters in ((4, 16, 2), (64, 4, 3)):
        tree = tree_of(numbered(18), [*early, (second, range(12)), (128, range(18))], 2.0 ** np.arange(8))
        choice = choose(tree, numbered(18), np.ones(18), 5.0)
        assert (choice.lam, choice.labels.max() + 1) == (lam, n_clusters)


def test_number_of_clusters_that_is_given_decides():
    fusions = [(1, range(6)), (1, range(6, 12)), (1, range(12, 18)), (64, range(12)), (128, range(18))]
    problem = tree_of(numbered(18), fusions, 2.0 ** np.arange(8)), numbered(18), np.ones(18), 5.0
    for n_clusters, lam in ((3, 4), (2, 64), (1, 128)):
        choice = choose(*problem, n_clusters)
        assert (choice.lam, choice.labels.max() + 1) == (lam, n_clusters)
    assert choose(*problem, 1).strength == 0
    assert choose(*problem, 4) is None


def test_nothing_that_matters_gives_no_choice():
    tree, rows, mass = two_clusters_and_outliers()
    assert choose(tree, rows, mass, 15.0) is None
    chain = tree_of(numbered(8), [(2.0**i, range(i + 2)) for i in range(7)], 2.0 ** np.arange(7))
    assert choose(chain, numbered(8), np.ones(8), 3.0) is None
    assert choose(tree_of(numbered(3), [], [1.0, 2.0]), numbered(3), np.ones(3), 2.0) is None


def test_clusters_must_have_half_of_the_rows():
    fusions = [(1, range(3)), (1, range(3, 6)), (128, range(14))]
    tree = tree_of(numbered(14), fusions, 2.0 ** np.arange(8))
    assert choose(tree, numbered(14), np.ones(14), 3.0) is None
    assert choose(tree, numbered(14), np.repeat([2.0, 1.0], [6, 8]), 3.0).lam == 8


def test_masses_count_as_rows():
    tree = tree_of(numbered(4), [(8, [0, 1]), (16, [2, 3]), (64, range(4))], 2.0 ** np.arange(7))
    assert choose(tree, numbered(4), np.ones(4), 5.0) is None
    heavy = choose(tree, numbered(4), np.full(4, 3.0), 5.0)
    assert heavy.lam == 16
    assert_array_equal(heavy.labels, [0, 0, 1, 1])


def test_points_that_never_fuse_on_a_path_that_ends_early_are_clusters_of_their_own():
    fusions = [(1, range(6)), (1, range(6, 12))]
    choice = choose(tree_of(numbered(14), fusions, [1.0, 2, 4]), numbered(14), np.ones(14), 5.0)
    assert choice.lam == 2
    assert_array_equal(choice.labels, [0] * 6 + [1] * 6 + [2, 3])


@pytest.mark.parametrize(("total", "least"), [(10, 5), (250, 5), (1000, 20), (2500, 50), (10_000, 100), (1e6, 1000)])
def test_least_size_is_a_fiftieth_or_the_root_and_five_at_least(total, least):
    assert_allclose(least_size(total), least)


def test_stretches_cover_the_path_from_the_first_relevant_clusters_on():
    X = np.concatenate([np.random.default_rng(i).normal(center, 0.3, (20, 1)) for i, center in enumerate((0, 4, 20))])
    model = SumOfNorms().fit(X)
    path, mass, size = model.path_, model.point_weights_, model.min_cluster_size_
    found = stretches(path, mass, size)
    assert all(a.high == b.low for a, b in itertools.pairwise(found))
    assert found[-1].high == path.lambdas[-1]
    assert [stretch.number for stretch in found][-3:] == [3, 2, 1]
    for stretch in found:
        assert stretch.low <= stretch.lam <= stretch.high
        assert stretch.n_fusions == path.n_fusions_at(stretch.lam)
        sizes = np.bincount(path.labels_at(stretch.lam), mass)
        assert stretch.number == (sizes >= size).sum()
    best = max((stretch for stretch in found if stretch.number == 3), key=lambda stretch: stretch.length)
    assert_array_equal(
        labels_in(path, model.points_, mass, size, best), choose(path, model.points_, mass, size, 3).labels
    )


def test_equal_rows_have_no_stretch():
    path = FusionTree(1, np.empty(0), np.empty((0, 2), dtype=np.int64), np.empty(0), np.empty((0, 2)))
    assert stretches(path, np.array([9.0]), 5.0) == []
