from dataclasses import astuple, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.outofcore.test_chunks import all_of, held, make_rows, shuffled, unit

from ravine._outofcore import ChunkedNode, _node, _reductions, _rounded
from ravine.cuts import Cut, _chunked
from ravine.cuts._density import MAX_BINS

KINDS = ["normal", "integers", "copies", "single"]


@pytest.fixture(autouse=True)
def rounded(monkeypatch):
    """Few rows of few columns are rounded, too."""
    monkeypatch.setattr(_node, "MANY_ROWS", 1)
    monkeypatch.setattr(_node, "MANY_COLUMNS", 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [None, 1 / 3])
def test_chunks_and_their_order_do_not_matter(kind, weight, rng):
    for _ in range(3):
        X, v = make_rows(kind, rng, n_rows=700), unit(rng, 3)
        weights = None if weight is None else np.full(len(X), weight)
        one, many = ChunkedNode.root(held(X, weights)), ChunkedNode.root(shuffled(X, weights, rng))
        assert one.rounding is not None
        offset = float(np.median(X @ v))
        pairs = zip([one, *one.children(v, offset)], [many, *many.children(v, offset)], strict=True)
        for node, other in pairs:
            assert node.rounding is one.rounding
            for mine, yours in zip(all_of(node, v), all_of(other, v), strict=True):
                assert_array_equal(mine, yours)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_rounded_rows_are_near_the_rows(kind, weight, rng, monkeypatch):
    X, v = make_rows(kind, rng, n_rows=3000), unit(rng, 3)
    weights, offset = np.full(len(X), weight), float(np.median(X @ v))
    root = ChunkedNode.root(shuffled(X, weights, rng))
    nodes = [root, *root.children(v, offset)]
    monkeypatch.setattr(_node, "MANY_COLUMNS", 10)
    exact_root = ChunkedNode.root(held(X, weights))
    assert exact_root.rounding is None
    for node, exact in zip(nodes, [exact_root, *exact_root.children(v, offset)], strict=True):
        assert node.n_rows == exact.n_rows
        spread = exact.moments.unit
        assert_allclose(node.moments.count, exact.moments.count, rtol=1e-12)
        assert_allclose(node.moments.mean, exact.moments.mean, atol=1e-6 * spread)
        assert_allclose(node.moments.sum_sq, exact.moments.sum_sq, rtol=1e-5)
        assert_allclose(node.squares, exact.squares, rtol=1e-5)
        assert (node.low <= exact.low).all()
        assert (node.high >= exact.high).all()
        assert_allclose(node.scatter, exact.scatter, atol=1e-5 * exact.moments.sum_sq)
        step = 0.1 * spread
        seen, expected = node.look(v, step, MAX_BINS, step / 3), exact.look(v, step, MAX_BINS, step / 3)
        if kind not in ("integers", "copies"):  # their rows may lie on the border of two cells
            for mine, other in zip(seen.lattices, expected.lattices, strict=True):
                assert_allclose(mine.dense(), other.dense(), atol=1e-3 * weight)
                assert_allclose(mine.square, other.square, rtol=1e-5)
        slopes = np.sin(np.arange(expected.lattices[0].n_points - 1) / 40)
        pulls = [one.pull(v, looked, slopes, 0.1) for one, looked in ((node, seen), (exact, expected))]
        assert_allclose(*pulls, atol=1e-3 * exact.moments.count * spread)


def test_integers_are_not_rounded(rng):
    X = rng.integers(-1000, 1000, size=(3000, 3)).astype(float)
    root, v = ChunkedNode.root(shuffled(X, None, rng)), np.array([0.6, 0.8, 0.0])
    left, right = root.children(v, 3.3)
    goes_left = Cut(v, 3.3).goes_left(X)
    for node, mine in ((left, X[goes_left]), (right, X[~goes_left])):
        apart = mine - mine.mean(axis=0)
        assert_allclose(node.moments.mean, mine.mean(axis=0), rtol=1e-13)
        assert_allclose(node.scatter, apart.T @ apart, rtol=1e-11, atol=1e-11 * (apart**2).sum())


@pytest.mark.parametrize("limits", [{"DENSE_SUMS": 30}, {"DENSE_SUMS": 30, "DENSE_POINTS": 20}, {"MOST_SUMS": 100}])
def test_way_of_sums_over_cells_changes_nothing(limits, rng, monkeypatch):
    X, v = make_rows("normal", rng), unit(rng, 3)
    root = ChunkedNode.root(shuffled(X, None, rng))
    slopes, step = None, root.moments.unit / 20
    found = []
    for of_limits in ({}, limits):
        for name, number in of_limits.items():
            for module in (_rounded, _reductions):
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, number)
        root._kept.pop("look", None)
        looked = root.look(v, step, MAX_BINS, step / 7)
        slopes = np.sin(np.arange(looked.lattices[0].n_points - 1))
        found.append((looked, root.pull(v, looked, slopes, 0.0)))
    for mine, other in zip(found[0][0].lattices, found[1][0].lattices, strict=True):
        for one, another in zip(astuple(mine), astuple(other), strict=True):
            assert_array_equal(one, another)
    assert (found[1][0].cells.sums is None) == ("MOST_SUMS" in limits)
    assert_allclose(found[0][1], found[1][1], atol=1e-5 * root.moments.count)


def test_child_for_which_the_rounding_is_too_coarse_gets_its_own(rng):
    X = rng.normal(size=(4000, 3))
    X[:2000, 0] += 1e6
    root = ChunkedNode.root(shuffled(X, None, rng))
    for node, mine in zip(root.children(np.array([1.0, 0, 0]), 5e5), (X[2000:], X[:2000]), strict=True):
        assert root.rounding is not None
        assert node.rounding is not None
        assert node.rounding.unit[0] < 1e-4 * root.rounding.unit[0]
        assert_allclose(node.moments.mean, mine.mean(axis=0), rtol=1e-12)
        apart = mine - mine.mean(axis=0)
        assert_allclose(node.scatter, apart.T @ apart, atol=1e-5 * (apart**2).sum())
        assert_allclose(node.deviation(unit(rng, 3)), 1, rtol=0.1)


def test_child_of_equal_rows_does_not_vary(rng):
    X = np.concatenate([rng.normal(size=(500, 3)), np.full((300, 3), 20 / 3)])
    left, right = ChunkedNode.root(shuffled(X, None, rng)).children(np.array([1.0, 0, 0]), 6.0)
    assert left.moments.varies
    assert not right.moments.varies
    assert_allclose(right.moments.mean, 20 / 3, rtol=1e-14)


def test_rows_of_different_weight_are_not_rounded(rng):
    X = make_rows("normal", rng)
    assert ChunkedNode.root(held(X, rng.uniform(0.5, 1, size=len(X)))).rounding is None


def test_scatter_of_the_smaller_side_is_found(rng, monkeypatch):
    X = rng.normal(size=(1000, 3))
    X[:200, 0] += 10.0
    asked, sums = [], _rounded.sums

    def recorded(X, weights, rows, rounding, with_scatter):
        asked.append((len(rows), with_scatter))
        return sums(X, weights, rows, rounding, with_scatter)

    monkeypatch.setattr(_rounded, "sums", recorded)
    for sign in (1, -1):
        root = ChunkedNode.root(held(X))
        assert root.children(np.array([float(sign), 0, 0]), sign * 5.0) is not None
        assert sorted(asked)[-3:] == [(200, True), (800, False), (1000, True)]
        asked.clear()


def test_sample_has_the_rows_themselves(rng):
    X, v = make_rows("normal", rng, n_rows=2000), unit(rng, 3)
    root = ChunkedNode.root(shuffled(X, None, rng))
    sample = root.sample(v, 50, _chunked.along(root, v))
    rows = {row.tobytes() for row in X}
    assert all(row.tobytes() in rows for row in sample)
    plain = ChunkedNode.root(held(X))
    plain = replace(plain, rounding=None)
    assert_allclose(sample @ v, plain.sample(v, 50, _chunked.along(plain, v)) @ v, atol=1e-3)
