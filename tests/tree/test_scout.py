import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from ravine import MDH, PDDP, IncrementalMDH, NCutH, SpectralPursuit
from ravine._matrix import moments_of
from ravine.cuts._pursuit import make_starts
from ravine.datasets import make_blobs
from ravine.tree import _scout
from ravine.tree._scout import ConfirmedCuts, density_cut, density_scout, look
from ravine.tree._valley_test import CLEAR_SCORE, LEAST_SCORE, UNSEEN

METHODS = [NCutH, MDH, PDDP, SpectralPursuit, IncrementalMDH]
each = pytest.mark.parametrize("method", METHODS)


def rows_of(X):
    weights = np.ones(X.shape[0])
    return X, weights, moments_of(X, weights)


@pytest.mark.parametrize("n_columns", [2, 5, 40])
def test_scout_finds_the_direction_between_two_blobs(n_columns):
    centers = np.zeros((2, n_columns))
    centers[1, :2] = 6.0
    X, _ = make_blobs(300, centers=centers, random_state=0)
    assert abs(density_scout(*rows_of(X)) @ centers[1]) > 0.95 * np.linalg.norm(centers[1])


@pytest.mark.parametrize("seed", range(5))
def test_scout_finds_a_valley_as_deep_as_that_of_a_search_among_all_directions(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5)) + 6.0 * np.outer(rng.uniform(size=300) < 0.5, rng.normal(size=5))
    rows = rows_of(X)
    assert abs(density_scout(*rows) @ density_cut(*rows, make_starts(2)).normal) > 0.95


def test_scout_is_near_the_direction_between_the_means_of_a_small_and_a_large_cluster():
    apart = np.zeros(10)
    apart[0] = 6.0
    cosines = []
    for seed in range(10):
        X, _ = make_blobs([12, 90], centers=[apart, 0 * apart], random_state=seed)
        cosines.append(abs(density_scout(*rows_of(X))[0]))
    assert np.median(cosines) > 0.9  # 0.77 without the turn to the middle


def test_scout_finds_a_column_with_a_valley_among_many(rng):
    X = rng.normal(size=(600, 30))
    X[:300, 7] += 8.0
    X[:, 7] /= X[:, 7].std()
    assert abs(density_scout(*rows_of(X))[7]) > 0.9


def test_scout_of_sparse_rows_is_near_that_of_dense_ones():
    X, _ = make_blobs(200, centers=[[0, 0, 0], [9, 0, 0]], random_state=0)
    dense, stored = density_scout(*rows_of(X)), density_scout(*rows_of(sparse.csr_array(X)))
    assert abs(dense @ stored) > 0.99


def test_scout_of_weighted_rows_is_that_of_repeated_ones(rng):
    X, _ = make_blobs(150, centers=[[0, 0, 0], [7, 0, 3]], random_state=0)
    repeats = rng.integers(1, 4, size=150)
    weights = repeats.astype(float)
    weighted = density_scout(X, weights, moments_of(X, weights))
    assert_allclose(weighted, density_scout(*rows_of(np.repeat(X, repeats, axis=0))), atol=0.05)


@pytest.mark.parametrize("weight", [1e-200, 1e-100, 1e100])
def test_rows_with_tiny_and_with_huge_weights_have_a_direction(weight):
    X, _ = make_blobs(150, centers=[[0, 0, 0], [7, 0, 3]], random_state=0)
    weights = np.full(150, weight)
    found = density_scout(X, weights, moments_of(X, weights))
    assert found is not None
    assert np.isfinite(found).all()


def test_equal_rows_have_no_direction():
    assert density_scout(*rows_of(np.ones((30, 3)))) is None


def test_unit_and_place_of_the_rows_do_not_change_the_direction():
    X, _ = make_blobs(200, centers=[[0, 0, 0], [5, 0, 3]], random_state=0)
    normal = density_scout(*rows_of(X))
    for factor in (1e-100, 3.0, 1e100):
        assert_allclose(density_scout(*rows_of(factor * X)), normal, atol=1e-6)
    assert_allclose(density_scout(*rows_of(X + 100.0)), normal, atol=1e-6)


def test_a_valley_between_blobs_is_seen_and_none_in_a_blob(rng):
    X, _ = make_blobs(300, centers=[[0, 0, 0], [9, 0, 3]], random_state=0)
    seen = look(*rows_of(X), np.zeros(3))
    assert seen.score >= CLEAR_SCORE
    assert abs(seen.normal @ [9, 0, 3]) > 0.5 * np.linalg.norm([9, 0, 3])
    assert np.median([look(*rows_of(rng.normal(size=(300, 3))), np.zeros(3)).score for _ in range(20)]) < LEAST_SCORE


def test_gaps_of_a_lattice_are_no_clear_valley_and_do_not_end_the_test(rng):
    X = np.round(rng.normal(size=(300, 3)))
    assert look(*rows_of(X), np.zeros(3)).score >= CLEAR_SCORE
    assert look(*rows_of(X), np.ones(3)).score == LEAST_SCORE


def test_small_sparse_matrices_are_treated_as_dense_rows(rng):
    X = rng.normal(size=(200, 3)) * (rng.uniform(size=(200, 3)) < 0.5)
    dense, csr = rows_of(X), rows_of(sparse.csr_array(X))
    assert_allclose(density_scout(*csr), density_scout(*dense), atol=1e-9)
    assert look(*csr, np.zeros(3)).score == pytest.approx(look(*dense, np.zeros(3)).score)


def test_rows_that_cannot_be_looked_at_count_as_having_a_valley(rng):
    X = rng.normal(size=(30, 2))
    wide = sparse.csr_array((30, _scout.SMALL_CELLS))
    assert look(wide, np.ones(30), moments_of(wide, np.ones(30)), np.zeros(wide.shape[1])) is UNSEEN
    weights = rng.uniform(1, 2, 30)
    assert look(X, weights, moments_of(X, weights), np.zeros(2)) is UNSEEN
    assert look(*rows_of(rng.normal(size=(_scout.LOOK_ROWS + 1, 1))), np.zeros(1)) is UNSEEN


def test_sample_of_a_node_is_its_part_of_the_sample_of_the_root(rng, monkeypatch):
    monkeypatch.setattr(_scout, "TESTED_ROWS", 400)
    X = np.vstack([rng.normal([30 * (i == 3), 20 * (i % 2)], 1, (1000, 2)) for i in range(4)])
    tested = []

    def scout(rows, weights, moments):
        tested.append(rows)
        return np.array([1.0, 0.0])

    def whole(rows, weights, moments, normal):
        return normal

    cuts = ConfirmedCuts(whole, 0.05, 0, 1.06, 1.0, scout)
    root = cuts.find_cut(*rows_of(X))
    assert 10 < root.offset < 20
    of_root = np.vstack(tested[:2])
    assert len(of_root) == 400
    tested.clear()
    cuts.find_cut(*rows_of(X[:3000]))
    of_child = np.vstack(tested[:2])
    expected = of_root[of_root[:, 0] < 15]
    assert_array_equal(of_child[np.lexsort(of_child.T)], expected[np.lexsort(expected.T)])


@each
def test_order_of_the_rows_and_threads_do_not_matter(method, rng):
    X, _ = make_blobs(500, centers=6, n_features=4, cluster_std=1.5, random_state=2)
    model, order = method(n_jobs=1).fit(X), rng.permutation(500)
    assert model.n_clusters_ > 2
    assert_array_equal(method(n_jobs=2).fit(X[order]).labels_, model.labels_[order])


@each
def test_only_confirmed_nodes_are_searched_on_all_rows(method, monkeypatch):
    X, _ = make_blobs(600, centers=[[0, 0, 0], [14, 0, 0], [0, 14, 0], [0, 0, 14]], random_state=1)
    asked = []
    init = ConfirmedCuts.__init__

    def recorded(self, whole, *args, **options):
        def and_record(X, weights, moments, normal):
            asked.append(X.shape[0])
            return whole(X, weights, moments, normal)

        init(self, and_record, *args, **options)

    monkeypatch.setattr(ConfirmedCuts, "__init__", recorded)
    assert method().fit(X).n_clusters_ == 4
    assert len(asked) == 3


@each
def test_no_method_finds_clusters_in_one_cloud(method, rng):
    assert [method().fit(rng.normal(size=(200, 3))).n_clusters_ for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("selection", ["auto", "evidence", "elbow"])
@each
def test_every_method_knows_the_same_selections(method, selection):
    X, _ = make_blobs(300, centers=[[0, 0], [12, 0], [0, 12]], random_state=0)
    model = method(selection=selection).fit(X)
    assert model.selection_ == ("elbow" if selection == "elbow" else "evidence")
    assert model.n_clusters_ == 3 or (method is PDDP and selection == "elbow")


@pytest.mark.parametrize("method", [NCutH, MDH, IncrementalMDH])
def test_a_gap_beside_a_far_cluster_is_found(method):
    X, y = make_blobs(900, centers=[[0, 0], [9, 0], [-60, 0]], random_state=0)
    assert adjusted_rand_score(y, method().fit(X).labels_) > 0.99  # scaled, the gap is a third of the second column
