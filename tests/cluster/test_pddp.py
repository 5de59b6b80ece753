import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from tests import naive

from ravine import PDDP
from ravine.datasets import make_blobs


def naive_depddp(X, n_clusters, bandwidth=1.06, n_grid=512):
    """dePDDP with exact densities on a grid: the leaf with the lowest antimode is cut there."""

    def lowest_antimode(rows):
        v = naive.principal_direction(X[rows], np.ones(len(rows)))
        values = X[rows] @ v
        h = bandwidth * values.std() * len(rows) ** -0.2
        grid = np.linspace(values.min() - 3 * h, values.max() + 3 * h, n_grid)
        density = naive.density(values, np.ones(len(rows)), h, grid)
        valleys = naive.valleys(density)[:, 0]
        if not len(valleys):
            return np.inf, None
        lowest = valleys[density[valleys].argmin()]
        return density[lowest], values < grid[lowest]

    leaves = [np.arange(len(X))]
    while len(leaves) < n_clusters:
        found = [lowest_antimode(rows) for rows in leaves]
        best = int(np.argmin([value for value, _ in found]))
        rows, goes_left = leaves.pop(best), found[best][1]
        leaves += [rows[goes_left], rows[~goes_left]]
    labels = np.empty(len(X), dtype=int)
    for label, rows in enumerate(leaves):
        labels[rows] = label
    return labels


@pytest.mark.parametrize(("load", "n_clusters"), [(load_iris, 3), (load_wine, 5)])
def test_told_k_agrees_with_naive_depddp(load, n_clusters):
    X = load().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert adjusted_rand_score(PDDP(n_clusters).fit(X).labels_, naive_depddp(X, n_clusters)) == 1


def test_mean_split_of_four_points_by_hand():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [10.0, 0.0], [10.0, 3.0]])
    model = PDDP(n_clusters=3, criterion="mean").fit(X)
    # The mean cuts x = 5 first; the right pair has the larger sum of squares and is cut next, at y = 1.5.
    assert_array_equal(model.labels_, [0, 0, 1, 2])
    assert model.tree_.offset[0] == pytest.approx(5 * model.tree_.normal[0, 0] + model.tree_.normal[0, 1])


def test_lowest_antimode_is_cut_first(rng):
    X = np.concatenate([rng.normal(c, 1, size=(300, 1)) for c in (0, 5, 15)])
    model = PDDP(n_clusters=3).fit(X)
    first, second = (float(model.tree_.offset[model.tree_.rank == k][0]) for k in (1, 2))
    assert 7 < first < 13
    assert 1 < second < 4


def test_number_of_clusters_comes_by_itself(rng):
    centers = rng.uniform(-40, 40, size=(6, 5))
    X, y = make_blobs(1200, centers=centers, random_state=0)
    model = PDDP().fit(X)
    assert model.n_clusters_ == 6
    assert adjusted_rand_score(y, model.labels_) > 0.99
    assert (model.tree_.p_value[model.tree_.cuts] <= 0.05).any()


@pytest.mark.parametrize("n_features", [2, 20])
def test_structureless_rows_are_one_cluster(n_features, rng):
    alarms = sum(PDDP().fit(rng.normal(size=(300, n_features))).n_clusters_ > 1 for _ in range(20))
    assert alarms <= 2


def test_published_rule_splits_more_than_the_evidence_allows():
    X = load_wine().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert PDDP(selection="evidence").fit(X).n_clusters_ < PDDP(selection="antimode").fit(X).n_clusters_


def test_digits_are_found_without_a_number():
    digits = load_digits()
    model = PDDP().fit(digits.data)
    assert 7 <= model.n_clusters_ <= 13
    assert adjusted_rand_score(digits.target, model.labels_) > 0.4


def test_stricter_significance_never_finds_more(rng):
    X = np.concatenate([rng.normal(c, 1, size=(100, 2)) for c in (0, 3.5, 7, 10.5)])
    found = [PDDP(significance=level).fit(X).n_clusters_ for level in (1e-12, 1e-3, 0.05, 0.5)]
    assert found == sorted(found)


def test_seed_decides_the_halves(rng):
    X = np.concatenate([rng.normal(c, 1, size=(60, 2)) for c in (0, 4)])
    p_values = {seed: PDDP(selection="evidence", random_state=seed).fit(X).tree_.p_value[0] for seed in (0, 0, 1, 2, 3)}
    assert PDDP(selection="evidence", random_state=0).fit(X).tree_.p_value[0] == p_values[0]
    assert len(set(p_values.values())) > 1


def test_high_dimensional_sparse_rows_stay_sparse(rng, monkeypatch):
    topics = sparse.random_array((2, 20_000), density=0.02, rng=1).tocsr() * 20
    noise = sparse.random_array((400, 20_000), density=0.002, rng=2).tocsr()
    y = np.repeat([0, 1], 200)
    X = sparse.csr_array(topics[y] + noise)
    monkeypatch.setattr(sparse.csr_array, "toarray", lambda self: pytest.fail("made dense") if self.size > 1e6 else 0)
    model = PDDP(n_clusters=2).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert_array_equal(model.predict(X), model.labels_)


def test_too_few_valleys_are_reported_with_a_remedy():
    with pytest.warns(ConvergenceWarning, match="found 1 of the 5 requested clusters.*smaller bandwidth") as record:
        PDDP(n_clusters=5).fit(np.linspace(-1, 1, 99)[:, None] ** 3)
    assert record[0].filename == __file__


def test_mean_split_without_a_number_is_refused():
    with pytest.raises(ValueError, match="criterion='mean' cannot choose n_clusters: set n_clusters"):
        PDDP(criterion="mean").fit([[1.0], [2.0]])


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_clusters": 0},
        {"n_clusters": 2.5},
        {"criterion": "median"},
        {"selection": "knee"},
        {"significance": 0},
        {"significance": 1.5},
        {"bandwidth_factor": -1},
        {"split_order": "alphabet"},
        {"min_cluster_size": 0},
        {"max_depth": -1},
        {"random_state": "seed"},
        {"n_jobs": "all"},
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"The '{name}' parameter of PDDP must be"):
        PDDP(**parameters).fit(np.arange(10.0)[:, None])


def test_min_cluster_size_and_max_depth_are_kept(rng):
    X = rng.normal(size=(300, 3)) * [5, 1, 1]
    model = PDDP(n_clusters=20, criterion="mean", min_cluster_size=25, max_depth=3)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    assert np.bincount(model.labels_).min() >= 25
    assert model.tree_.depth.max() <= 3


def test_order_may_be_the_largest_leaf(rng):
    X = rng.normal(size=(1024, 2))
    model = PDDP(n_clusters=8, criterion="mean", split_order="size").fit(X)
    assert np.bincount(model.labels_).min() > 60
