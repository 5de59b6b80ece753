"""Directions and valleys that some rows propose, against slow twins and NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from tests import naive
from tests.strategies import seeds

from ravine._kernels import means
from ravine._kernels.density import LEFT_MODE, N_ENTRIES, POSITION, RIGHT_MODE, SCORE, WINDOW, strongest_on_lines
from ravine._matrix import multiply, project
from ravine.cuts import _proposals as proposals
from ravine.cuts._proposals import (
    FEWEST,
    MULTIPLES,
    N_COLUMNS,
    N_COMPONENTS,
    N_DIMENSIONS,
    N_ITERATIONS,
    N_MEANS,
    N_SOLVES,
    N_STEPS,
    RIDGE,
    ROWS_PER_MEAN,
    SAME,
    DividedRows,
    Proposals,
)
from ravine.cuts._valley import WINDOWS


def strongest(values, resolution, least_side, n_multiples=3):
    """The strongest valley of one line."""
    lines, resolutions = np.asarray(values, dtype=float)[np.newaxis], np.array([resolution])
    return proposals.strongest_on_lines(lines, resolutions, least_side, MULTIPLES[:n_multiples])[0]


def two_humps(seed, n, distance):
    """Quantiles of two normal distributions, shifted a little: no stretch between them is empty."""
    rng = np.random.default_rng(seed)
    quantiles = norm.ppf(np.linspace(0.02, 0.98, n))
    return np.concatenate([quantiles, quantiles + distance]) + rng.uniform(-0.05, 0.05, size=2 * n)


@given(seeds, st.integers(15, 60), st.floats(2.5, 5.0), st.sampled_from([0.0, 0.2]), st.sampled_from([0.02, 0.3]))
def test_strongest_valley_has_the_score_of_its_twin(seed, n, distance, resolution, least_side):
    values = two_humps(seed, n, distance)
    for n_multiples in (1, len(MULTIPLES)):
        found = strongest(values, resolution, least_side, n_multiples)
        expected = naive.strongest_score(values, resolution, least_side, MULTIPLES[:n_multiples], WINDOWS)
        assert_allclose(found[SCORE], expected, rtol=1e-6, atol=1e-9)


@given(seeds, st.floats(8.0, 50.0), st.floats(0.3, 0.7))
def test_strongest_valley_lies_between_two_clear_groups(seed, distance, share):
    rng = np.random.default_rng(seed)
    n = round(200 * share)
    values = np.concatenate([rng.normal(size=n), rng.normal(distance, 1, size=200 - n)])
    found = strongest(values, 0.0, 0.02)
    assert found[SCORE] > 3
    assert ((values < found[POSITION]) == (np.arange(200) < n)).mean() > 0.98
    assert abs(found[LEFT_MODE]) < 2
    assert abs(found[RIGHT_MODE] - distance) < 2
    assert 0 < found[WINDOW] <= found[RIGHT_MODE] - found[LEFT_MODE]


@pytest.mark.parametrize("values", [[3.0] * 40, [0.0], [1e9] * 20 + [1e9 + 1e-6] * 20], ids=str)
def test_numbers_without_a_valley_have_score_0(values):
    assert strongest(values, 0.0, 0.02)[SCORE] == 0


def test_gaps_of_a_lattice_are_no_valleys():
    values = np.repeat(np.arange(-3.0, 4.0), [2, 10, 25, 40, 25, 10, 2])
    assert strongest(values, 0.0, 0.02)[SCORE] > 1
    assert strongest(values, 1.0, 0.02)[SCORE] < 1
    assert strongest(np.arange(50.0), 0.0, 0.02)[SCORE] < 1


@pytest.mark.parametrize("unit", [1e-100, 1e-3, 1e100])
def test_unit_of_the_values_scales_positions_and_keeps_the_score(unit):
    values = two_humps(0, 40, 4.0)
    found, scaled = (strongest(x, 0.0, 0.02) for x in (values, unit * values))
    assert_allclose(scaled[SCORE], found[SCORE], rtol=1e-9)
    assert_allclose(scaled[POSITION : WINDOW + 1] / unit, found[POSITION : WINDOW + 1], rtol=1e-6)


def test_lines_after_one_that_is_enough_are_searched_and_those_before_it_are_not():
    values = np.vstack([two_humps(seed, 40, 5.0) for seed in range(4)])
    options = (np.ones(80), 80.0, 1.06, np.zeros(4), MULTIPLES, WINDOWS, proposals.COARSE, 0.02)
    every, ended = np.zeros((2, 4, N_ENTRIES))
    strongest_on_lines(values, *options, np.inf, every)
    strongest_on_lines(values, *options, 1.0, ended)
    assert (every[:, SCORE] > 1).all()
    assert_array_equal(ended[3], every[3])
    assert not ended[:3].any()


@pytest.mark.parametrize(("n", "d", "q"), [(1, 1, 1), (3, 5, 2), (4, 4, 4), (7, 300, 6), (2, 3, 0), (0, 3, 2)])
def test_products_of_matrices_are_those_of_numpy(n, d, q, rng):
    A, B = rng.normal(size=(n, d)), rng.normal(size=(d, q))
    assert_allclose(multiply(A, B), A @ B, atol=1e-12)


def columns_of(Z):
    return np.ascontiguousarray(Z.T)


def small_k_means(Y, k):
    found, sizes = np.empty((k, Y.shape[1])), np.empty(k)
    means.small_k_means(columns_of(Y), N_STEPS, 2e-9 * (Y**2).sum() / len(Y), found, sizes)
    return found, sizes


def components(Z, start):
    return proposals.components(Z, columns_of(Z), start, N_ITERATIONS)


@pytest.mark.parametrize(("n", "d", "q"), [(100, 6, 3), (40, 5, 5), (15, 30, 2), (50, 1, 1)])
def test_leading_components_are_those_of_numpy(n, d, q, rng):
    spread = 10.0 ** -np.arange(d)
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    Z = (rng.normal(size=(n, d)) * spread) @ rotation
    Z -= Z.mean(axis=0)
    V = components(Z, rng.normal(size=(q, d)))
    exact = np.linalg.eigh(Z.T @ Z)[1].T[::-1][:q]
    assert_allclose(V @ V.T, np.eye(q), atol=1e-9)
    assert_allclose(np.abs((V * exact).sum(axis=1)), 1, atol=1e-6)


@given(seeds, st.integers(1, 4), st.integers(4, 8), st.integers(1, 6))
def test_components_of_dependent_columns_are_as_many_as_independent_ones(seed, n_dimensions, d, q):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(60, n_dimensions)) @ rng.normal(size=(n_dimensions, d))
    Z -= Z.mean(axis=0)
    V = components(Z, rng.normal(size=(q, d)))
    V = V[V.any(axis=1)]
    assert len(V) == min(n_dimensions, q)
    assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-6)


def test_components_of_rows_that_are_all_0_are_0(rng):
    assert not components(np.zeros((20, 3)), rng.normal(size=(2, 3))).any()


@given(seeds, st.integers(1, 40), st.integers(1, 4), st.integers(1, 6), st.booleans())
def test_k_means_agrees_with_naive(seed, n, q, k, ties):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 3, size=(n, q)).astype(float) if ties else rng.normal(size=(n, q))
    found, sizes = small_k_means(Y, k)
    expected, counts = naive.small_k_means(Y, k, N_STEPS)
    assert_array_equal(sizes, counts)
    assert_allclose(found, expected, atol=1e-9)
    again = small_k_means(Y, k)
    assert_array_equal(again[0], found)
    assert_array_equal(again[1], sizes)


@pytest.mark.parametrize("n", [128, 400])
def test_k_means_of_many_rows_agrees_with_naive(n, rng):
    Y = rng.normal(size=(n, 5))
    found, sizes = small_k_means(Y, 7)
    expected, counts = naive.small_k_means(Y, 7, N_STEPS)
    assert_array_equal(sizes, counts)
    assert_allclose(found, expected, atol=1e-9)


def test_means_of_clear_groups_are_the_means_of_their_nearest_rows(rng):
    centers = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0], [50.0, 50.0]])
    Y = np.repeat(centers, [10, 20, 30, 40], axis=0) + rng.normal(size=(100, 2))
    found, sizes = small_k_means(Y, 4)
    nearest = ((Y[:, None] - found) ** 2).sum(axis=2).argmin(axis=1)
    assert_array_equal(np.sort(sizes), [10, 20, 30, 40])
    assert_allclose(found, [Y[nearest == c].mean(axis=0) for c in range(4)])


@given(seeds, st.integers(1, 7), st.integers(1, 3))
def test_differences_of_means_agree_with_naive(seed, k, q):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 12, size=k)
    sizes[0] += 3
    means = rng.normal(size=(k, q))
    means -= np.average(means, axis=0, weights=sizes)
    ours = proposals.differences(means, sizes.astype(float), int(sizes.sum()))
    assert_allclose(ours, naive.differences_of_means(means, sizes, FEWEST), atol=1e-9)


def centered(Z):
    return Z - Z.mean(axis=0)


@pytest.mark.parametrize(("n", "d"), [(100, 3), (100, 1), (30, 40), (11, 2), (1, 2)])
def test_proposed_directions_are_columns_components_differences_of_means_and_extra_ones(n, d, rng):
    Z = centered(rng.normal(size=(n, d)) * np.linspace(3, 1, d))
    extra = np.vstack([3 * rng.normal(size=(2, d)), np.zeros((1, d))])
    start = proposals.start_vectors(min(N_DIMENSIONS, d, max(n // 4, 1)), d)
    proposed = proposals.propose(Z, extra=extra)
    found, values = proposed.directions, proposed.values
    n_columns = min(d, N_COLUMNS)
    leading = components(Z, start)[:N_COMPONENTS]
    leading = leading[leading.any(axis=1)]
    assert_allclose(np.linalg.norm(found, axis=1), 1)
    assert_allclose(values, found @ Z.T, atol=1e-9)
    assert_array_equal(found[:n_columns], np.eye(d)[proposals.striking_columns(columns_of(Z), N_COLUMNS)])
    assert_allclose(found[n_columns:][: len(leading)], leading, atol=1e-12)
    assert_allclose(found[-2:], extra[:2] / np.linalg.norm(extra[:2], axis=1, keepdims=True))
    has_means = min(N_MEANS, n // ROWS_PER_MEAN) >= 2 and d > 1
    assert (len(found) > n_columns + len(leading) + 2) == has_means


def test_a_direction_between_two_groups_is_proposed_where_components_show_nothing(rng):
    centers = 8 * np.eye(20)[:10] @ np.linalg.qr(rng.normal(size=(20, 20)))[0]
    Z = centered(centers[np.repeat(np.arange(10), 40)] + rng.normal(size=(400, 20)))
    scores = [strongest(x, 0.0, 0.02, 1)[SCORE] for x in proposals.propose(Z).values]
    assert max(scores[N_COLUMNS + N_COMPONENTS :]) > 2 * max(scores[: N_COLUMNS + N_COMPONENTS])


@pytest.mark.parametrize("n_best", [1, 3])
def test_ranked_directions_are_those_of_the_twin(n_best, rng):
    Z = rng.normal(size=(150, 4)) + np.array([4.0, 2.5, 0.0, 0.0]) * rng.integers(0, 2, size=(150, 4))
    directions = rng.normal(size=(12, 4))
    directions[:2] = np.eye(4)[:2]
    directions[2] = [1.0, 0.05, 0.0, 0.0]  # nearly the first
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    values = np.array([project(Z, direction) for direction in directions])
    seen = proposals.rank(Proposals(directions, values), np.zeros(4), 0.02, n_best)
    chosen = naive.best_directions(Z, directions, lambda x: strongest(x, 0.0, 0.02, 1)[SCORE], n_best, SAME)
    assert len(chosen) == n_best
    assert_array_equal(seen.directions, directions[chosen])
    for k, valley in zip(chosen, seen.valleys, strict=True):
        assert_array_equal(valley, strongest(values[k], 0.0, 0.02))


def test_rank_counts_steps_of_the_columns_as_resolution(rng):
    values = rng.normal(size=(1, 100)) + 8.0 * rng.integers(0, 2, size=100)
    seen = proposals.rank(Proposals(np.array([[0.6, 0.8]]), values), np.array([1.0, 0.5]), 0.02, 1)
    assert seen.resolutions == pytest.approx(np.hypot(0.6, 0.4))


def test_rank_of_constant_rows_is_empty():
    seen = proposals.rank(Proposals(np.eye(3), np.ones((3, 50))), np.zeros(3), 0.02, 2)
    assert seen.directions.shape == (0, 3)
    assert seen.valleys.shape == (0, N_ENTRIES)


def test_proposals_of_rows_in_one_direction_are_that_direction_and_columns(rng):
    Z = centered(np.outer(rng.normal(size=120), [0.6, 0.8, 0.0]))
    found = proposals.propose(Z).directions
    assert_allclose(np.abs(found[3:] @ [0.6, 0.8, 0.0]), 1, atol=1e-6)


# Columns


def test_columns_with_the_lightest_and_the_heaviest_tails_are_proposed(rng):
    Z = rng.normal(size=(400, 40))
    Z[:, 2] = np.where(rng.uniform(size=400) < 0.5, -5.0, 5.0) + 0.1 * Z[:, 2]
    Z[:5, 4] = 60.0
    Z = centered(Z)
    assert set(proposals.striking_columns(columns_of(Z), 2)) == {2, 4}
    assert sorted(proposals.striking_columns(columns_of(Z), 99)) == list(range(40))
    found = proposals.propose(Z).directions
    for column in (2, 4):
        assert (found == np.eye(40)[column]).all(axis=1).any()


# Ranked proposals, their improvement, and the counts of other rows


def candidates(Z, n_best=2, is_apart=None, enough=np.inf):
    return proposals.rank(proposals.propose(Z, is_apart), np.zeros(Z.shape[1]), 0.02, n_best, enough)


def test_candidates_do_not_depend_on_the_origin_but_for_their_positions(rng):
    Z = rng.normal(size=(200, 3)) + 7 * rng.integers(0, 2, size=(200, 1))
    shift = np.array([30.0, -10.0, 5.0])
    seen, moved = candidates(Z), candidates(Z + shift)
    assert_allclose(moved.directions, seen.directions, atol=1e-9)
    assert_allclose(moved.scores, seen.scores, rtol=1e-9)
    assert_allclose(moved.valleys[:, POSITION] - seen.valleys[:, POSITION], seen.directions @ shift, atol=1e-9)


@pytest.mark.parametrize("enough", [1.0, 2.0, 4.0, 8.0])
def test_a_search_ends_at_a_score_that_is_enough_and_only_there(enough, rng):
    for distance in np.linspace(0, 8, 9):
        Z = rng.normal(size=(150, 3)) + distance * np.outer(rng.integers(0, 2, size=150), [0.6, 0.8, 0.0])
        exhaustive, ended = candidates(Z, 1), candidates(Z, 1, enough=enough)
        if exhaustive.scores[0] < enough:
            assert_array_equal(ended.valleys, exhaustive.valleys)
        else:
            assert ended.scores[0] >= min(enough, exhaustive.scores[0])


def test_candidates_include_the_direction_to_rows_that_may_be_a_group(rng):
    is_apart = np.arange(330) % 11 == 0
    Z = rng.normal(size=(330, 12)) + 9 * np.outer(is_apart, np.full(12, 12**-0.5))
    seen = candidates(Z, 1, is_apart)
    assert abs(seen.directions[0].sum()) / 12**0.5 > 0.95
    assert seen.scores[0] > candidates(Z, 1).scores[0] - 1e-9


def between_sides(Z, is_left, weights=None):
    return DividedRows.of(Z, weights).between(is_left)


@given(seeds, st.integers(2, 8))
def test_direction_in_the_metric_of_the_sides_solves_the_system_of_the_twin(seed, d):
    rng = np.random.default_rng(seed)
    is_left = np.arange(200) % 3 == 0
    Z = rng.normal(size=(200, d)) @ rng.normal(size=(d, d)) + np.outer(~is_left, rng.normal(size=d))
    plain, solved = between_sides(Z, is_left)
    apart, expected = naive.between_sides(Z, is_left, RIDGE)
    assert_allclose(plain, apart, rtol=1e-9, atol=1e-9)
    cosine = solved @ expected / np.linalg.norm(solved) / np.linalg.norm(expected)
    assert cosine > (0.999999 if d <= N_SOLVES else 0.99)


def test_direction_in_the_metric_does_not_depend_on_how_the_scatter_matrix_is_multiplied(monkeypatch, rng):
    Z = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 5))
    by_matrix = between_sides(Z, Z[:, 0] < 0)
    monkeypatch.setattr(proposals, "SMALL", 0)
    assert_allclose(between_sides(Z, Z[:, 0] < 0), by_matrix, rtol=1e-9)


def test_sides_of_repeated_rows_are_those_of_weights(rng):
    Z, repeats = rng.normal(size=(120, 4)), rng.integers(1, 4, size=120)
    weighted = between_sides(Z, Z[:, 0] < 0.3, repeats.astype(float))
    repeated = np.repeat(Z, repeats, axis=0)
    assert_allclose(weighted, between_sides(repeated, repeated[:, 0] < 0.3), rtol=1e-9)


def test_equal_sides_have_no_direction(rng):
    for n in (7, 30, 100):
        half = rng.normal(size=(n, 3))
        both = np.vstack([half, half[rng.permutation(n)]])
        assert not between_sides(both, np.arange(2 * n) < n).any()


def test_few_rows_have_no_metric(rng):
    Z = rng.normal(size=(30, 10))
    assert len(between_sides(Z, Z[:, 0] < 0)) == 1
    twice = np.tile(Z, (2, 1))
    assert len(between_sides(twice, twice[:, 0] < 0)) == 2


def test_improved_direction_has_a_stronger_valley_and_is_unit_length(rng):
    y = rng.integers(0, 2, size=300)
    Z = rng.normal(size=(300, 4)) * [1.0, 6.0, 1.0, 1.0] + np.outer(y, [5.0, 12.0, 0.0, 0.0])
    direction = np.array([[0.9, 0.3, 0.3, 0.1]])
    direction /= np.linalg.norm(direction)
    seen = proposals.rank(Proposals(direction, project(Z, direction[0])[np.newaxis]), np.zeros(4), 0.02, 1)
    turned = proposals.polish(Z, seen, np.zeros(4), 0.02)
    assert turned.scores[0] > 1.1 * seen.scores[0]
    assert np.linalg.norm(turned.directions[0]) == pytest.approx(1)
    assert_allclose(strongest(project(Z, turned.directions[0]), 0.0, 0.02), turned.valleys[0], rtol=1e-9)


def test_rows_are_counted_around_the_valleys_of_others(rng):
    Z = rng.normal(size=(240, 3)) + 8 * np.outer(rng.integers(0, 2, size=240), [1.0, 0.0, 0.0])
    learn = rng.uniform(size=240) < 0.5
    seen = candidates(Z[learn])
    counts = proposals.counts_around(Z[~learn], seen)
    for direction, valley, count in zip(seen.directions, seen.valleys, counts, strict=True):
        values = Z[~learn] @ direction
        centers = valley[[POSITION, LEFT_MODE, RIGHT_MODE]]
        assert_array_equal(count, [naive.count_around(values, center, valley[WINDOW], 0.0) for center in centers])
    assert counts[0, 0] < counts[0, 1:].min() / 5
