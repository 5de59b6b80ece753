"""The sample of intervals, its dip and its density against naive twins that know every atom."""

from itertools import pairwise

import diptest
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine._kernels import intervals
from ravine._kernels.intervals import ATOMS, COST, HIGH, LOW, WEIGHT

KINDS = ["equal", "growing", "random"]


def random_atoms(rng, n, kind, ties):
    """Places with or without ties; growing weights are those of a sample that forgets."""
    values = np.where(rng.uniform(size=n) < 0.5, rng.normal(0, 1, n), rng.normal(4, 0.5, n))
    weights = {"equal": np.ones(n), "growing": np.cumprod(1 / rng.uniform(0.96, 1, n)), "random": rng.uniform(1, 3, n)}
    return (np.round(values, 1) if ties else values), weights[kind]


def filled(values, weights, limit):
    """The sample after these atoms, and its number of intervals."""
    sample, n = np.zeros((intervals.N_ROWS, limit + 1)), 0
    for x, weight in zip(values, weights, strict=True):
        n, _ = intervals.insert(sample, n, limit, x, weight)
    return sample, n


def as_dicts(sample, n):
    return [
        {"low": low, "high": high, "weight": weight, "atoms": int(atoms)}
        for low, high, weight, atoms, _ in sample[:, :n].T
    ]


def dip_of(sample, n):
    floats, ints = [np.empty(2 * n + 2) for _ in range(3)], [np.empty(2 * n + 2, dtype=np.int64) for _ in range(4)]
    return intervals.dip(sample, n, *floats, *ints)


def random_sample(seed, kind="equal", ties=False, n=60, limit=8):
    values, weights = random_atoms(np.random.default_rng(seed), n, kind, ties)
    return filled(values, weights, limit)


def assert_same_intervals(sample, n, expected):
    for row, name in ((LOW, "low"), (HIGH, "high"), (ATOMS, "atoms")):
        assert_array_equal(sample[row, :n], [i[name] for i in expected])
    assert_allclose(sample[WEIGHT, :n], [i["weight"] for i in expected], rtol=1e-12)


@given(seeds, st.sampled_from(KINDS), st.booleans(), st.integers(4, 20))
def test_insertion_agrees_with_a_list_of_intervals(seed, kind, ties, limit):
    values, weights = random_atoms(np.random.default_rng(seed), 80, kind, ties)
    sample, n, twin = np.zeros((intervals.N_ROWS, limit + 1)), 0, []
    for x, weight in zip(values, weights, strict=True):
        n, _ = intervals.insert(sample, n, limit, x, weight)
        twin = naive.with_atom(twin, x, weight)
        if len(twin) > limit:
            costs = np.array([naive.merger_cost(a, b) for a, b in pairwise(twin)])
            cheapest = np.flatnonzero(costs <= costs.min() + 1e-12 * sum(i["weight"] for i in twin))
            # Mergers that cost the same to the last digits: any of them will do.
            j = next(j for j in cheapest if j == len(twin) - 2 or sample[HIGH, j] == twin[j + 1]["high"])
            twin = [*twin[:j], naive.merged(twin[j], twin[j + 1]), *twin[j + 2 :]]
        assert_same_intervals(sample, n, twin)
    costs = [naive.merger_cost(a, b) for a, b in pairwise(twin)]
    assert_allclose(sample[COST, : n - 1], costs, atol=1e-12 * sample[WEIGHT, :n].sum())


def test_first_of_equally_cheap_mergers_is_made():
    sample, n = filled([3.0, 1.0, 2.0, 0.0, 5.0], np.ones(5), limit=4)
    assert n == 4
    assert_array_equal(sample[LOW, :n], [0, 2, 3, 5])
    assert_array_equal(sample[HIGH, :n], [1, 2, 3, 5])


@given(seeds, st.sampled_from(KINDS), st.booleans())
def test_merger_cost_is_the_largest_move_of_the_distribution_up_to_an_atom(seed, kind, ties):
    sample, n = random_sample(seed, kind, ties, limit=9)
    parts = as_dicts(sample, n)
    for i, (a, b) in enumerate(pairwise(parts)):
        before, after = naive.atoms_of([a, b]), naive.atoms_of([naive.merged(a, b)])
        places = np.union1d(before[0], after[0])
        move = max(abs(before[1][before[0] <= x].sum() - after[1][after[0] <= x].sum()) for x in places)
        cost = sample[COST, i]
        assert cost <= move + after[1][0] + 1e-9 * a["weight"]
        assert move <= cost + max(before[1].max(), after[1][0]) + 1e-9 * a["weight"]


@given(seeds, st.sampled_from(KINDS), st.booleans())
def test_no_atom_and_no_weight_is_lost(seed, kind, ties):
    values, weights = random_atoms(np.random.default_rng(seed), 60, kind, ties)
    sample, n = filled(values, weights, 6)
    assert sample[ATOMS, :n].sum() == 60
    assert_allclose(sample[WEIGHT, :n].sum(), weights.sum())
    assert (sample[LOW, 0], sample[HIGH, n - 1]) == (values.min(), values.max())
    inside = (values[:, None] >= sample[LOW, :n]) & (values[:, None] <= sample[HIGH, :n])
    assert (inside.sum(axis=1) == 1).all()


@given(seeds, st.integers(3, 40), st.booleans())
def test_dip_of_a_whole_sample_is_that_of_diptest(seed, n, ties):
    values, weights = random_atoms(np.random.default_rng(seed), n, "equal", ties)
    assume(len(np.unique(values)) > 2)
    expected = diptest.dipstat(values)
    assert_allclose(dip_of(*filled(values, weights, limit=40))[0], expected, rtol=0, atol=1e-12)
    assert_allclose(naive.dip(values, weights), expected, rtol=0, atol=1e-12)


@given(seeds, st.sampled_from(KINDS), st.booleans(), st.integers(4, 20))
def test_dip_and_level_are_those_of_the_excess_mass_of_all_atoms(seed, kind, ties, limit):
    sample, n = random_sample(seed, kind, ties, n=45, limit=limit)
    places, weights = naive.atoms_of(as_dicts(sample, n))
    half_atom = weights.max() / weights.sum() / 2
    dip, level = dip_of(sample, n)
    assert_allclose(dip, max(naive.dip(places, weights), half_atom), rtol=0, atol=1e-12)
    if dip > half_atom + 1e-12:
        assert_allclose(naive.excess_mass_difference(places, weights, [level]) / 2, dip, rtol=0, atol=1e-12)


@given(seeds, st.integers(4, 20))
def test_dip_never_exceeds_that_of_the_rows_themselves(seed, limit):
    values, weights = random_atoms(np.random.default_rng(seed), 150, "equal", ties=False)
    sample, n = filled(values, weights, limit)
    assert dip_of(sample, n)[0] <= diptest.dipstat(values) + 1e-12


def test_dip_of_two_places_is_a_quarter_and_of_one_is_nothing():
    for weights in (np.ones(8), np.r_[np.full(4, 3.0), np.full(4, 3.0)]):
        assert dip_of(*filled([0.0, 1.0] * 4, weights, 4))[0] == pytest.approx(0.25)
    assert dip_of(*filled([2.0] * 5, np.ones(5), 4)) == (0.0, 0.0)


@given(seeds, st.sampled_from(["equal", "growing"]), st.booleans(), st.integers(4, 12))
def test_dip_rises_by_no_more_than_the_weight_of_an_atom_and_what_a_merger_adds(seed, kind, ties, limit):
    values, weights = random_atoms(np.random.default_rng(seed), 60, kind, ties)
    sample, n, before = np.zeros((intervals.N_ROWS, limit + 1)), 0, 0.0
    for x, weight in zip(values, weights, strict=True):
        n, raised = intervals.insert(sample, n, limit, x, weight)
        dip = dip_of(sample, n)[0]
        assert raised >= 0
        assert kind == "growing" or raised == 0
        assert dip <= before + (weight + raised) / sample[WEIGHT, :n].sum() + 1e-12
        before = dip
