from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.strategies import seeds

from ravine import matrix
from ravine.cuts import Cut, parted
from ravine.cuts.density import MAX_BINS, Line
from ravine.cuts.mdh import PenalisedDensity
from ravine.cuts.ncut import NormalisedCut
from ravine.parts import HeldParts, PartedNode, even_rows

KINDS = ["normal", "integers", "copies", "outliers", "single"]


def make_rows(kind, rng, n_rows=300, n_columns=3):
    X = rng.normal(size=(n_rows, n_columns)) + rng.integers(0, 2, size=(n_rows, 1)) * 4.0
    if kind == "integers":
        X = rng.integers(-2, 3, size=(n_rows, n_columns)).astype(float)
    elif kind == "copies":
        X = X[rng.integers(0, n_rows // 10, size=n_rows)]
    elif kind == "outliers":
        X[:2] *= [[1e7], [-3e4]]
    return X.astype(np.float32) if kind == "single" else X


def held(X, weights=None, places=()):
    """Rows in memory as parts, cut at some places."""
    rows = np.split(X, places)
    of_rows = [None] * len(rows) if weights is None else np.split(weights, places)
    return HeldParts(lambda: iter(list(zip(rows, of_rows, strict=True))), X.shape[1])


def shuffled(X, weights, rng):
    """The same rows in another order and in other parts, some of them empty."""
    order = rng.permutation(len(X))
    places = np.sort(rng.integers(0, len(X) + 1, size=rng.integers(0, 9)))
    return held(X[order], None if weights is None else weights[order], places)


def unit(rng, n_columns):
    v = rng.normal(size=n_columns)
    return v / np.linalg.norm(v)


def all_of(node, v):
    """What the searches ask of a node."""
    on = parted.along(node, v)
    coarse = node.lattice(v, on.step / 100, 50)
    slopes = np.sin(np.arange(on.n_points - 1))
    yield from (node.n_rows, node.about.count, node.about.mean, node.about.sum_sq)
    yield from (node.scatter, node.scatter_times(v), node.pull(v, on, slopes, 0.1))
    yield from (*astuple(on), *astuple(coarse), on.dense(), node.sample(v, 40, on), *astuple(node.fetch()))


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds, weighted=st.booleans())
@settings(max_examples=15)
def test_parts_and_their_order_have_no_say(kind, seed, weighted):
    rng = np.random.default_rng(seed)
    X, v = make_rows(kind, rng), unit(rng, 3)
    weights = rng.choice([0.25, 1.0, 1 / 3], size=len(X)) if weighted else None
    one, many = PartedNode.root(held(X, weights)), PartedNode.root(shuffled(X, weights, rng))
    offset = float(np.median(X @ v))
    pairs = zip([one, *one.children(v, offset)], [many, *many.children(v, offset)], strict=True)
    for node, other in pairs:
        for mine, yours in zip(all_of(node, v), all_of(other, v), strict=True):
            assert_array_equal(mine, yours)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_root_and_children_agree_with_rows_in_memory(kind, weighted, rng):
    X, v = make_rows(kind, rng), unit(rng, 3)
    weights = rng.uniform(0.1, 2, size=len(X)) if weighted else np.ones(len(X))
    root = PartedNode.root(shuffled(X, weights, rng))
    offset = float(np.median(matrix.project(X, v)))
    left, right = root.children(v, offset)
    goes_left = Cut(v, offset).goes_left(X)
    for node, mine in ((root, np.full(len(X), True)), (left, goes_left), (right, ~goes_left)):
        about = matrix.moments(X[mine], weights[mine])
        assert node.n_rows == mine.sum()
        assert_allclose(node.about.count, about.count, rtol=1e-14)
        assert_allclose(node.about.mean, about.mean, rtol=1e-9, atol=1e-9 * about.unit)
        assert_allclose(node.about.sum_sq, about.sum_sq, rtol=1e-9)
        scatter = matrix.scatter(X[mine].astype(float), weights[mine], about.mean)
        size = 1e-9 * np.abs(scatter).max()
        assert_allclose(node.scatter, scatter, atol=size)
        assert_allclose(node.scatter_times(v), scatter @ v, atol=size)


@pytest.mark.parametrize("offset", [-100.0, 100.0])
def test_cut_with_all_rows_on_one_side_has_no_children(offset, rng):
    root = PartedNode.root(held(make_rows("normal", rng), places=[100]))
    assert root.children(np.array([1.0, 0, 0]), offset) is None


@pytest.mark.parametrize("kind", KINDS)
def test_lattice_is_the_binned_line_of_rows_in_memory(kind, rng):
    X, weights, v = make_rows(kind, rng), rng.uniform(0.1, 2, size=300), unit(rng, 3)
    node = PartedNode.root(shuffled(X, weights, rng))
    values = matrix.project(X, v) - node.about.mean @ v
    step = values.std() / 50
    on, line = node.lattice(v, step, MAX_BINS), Line.around(values, step)
    assert on.step * on.first == pytest.approx(line.low)
    assert on.n_points == line.n_bins
    assert_allclose(on.dense(), line.bin(values, weights), atol=1e-9)
    assert_allclose(on.mass.sum(), weights.sum())
    assert_allclose(on.square, weights @ values**2)
    assert (on.low, on.high) == pytest.approx((values.min(), values.max()))
    assert on.places.min() >= on.low
    assert on.places.max() <= on.high


def test_lattice_that_would_be_too_long_is_coarser(rng):
    X, v = make_rows("outliers", rng), np.array([1.0, 0, 0])
    node = PartedNode.root(held(X, places=[50, 120]))
    step = (X[:, 0].max() - X[:, 0].min()) / 1e6
    on = node.lattice(v, step, MAX_BINS)
    assert on.step > step
    assert MAX_BINS - 10 < on.n_points <= MAX_BINS
    assert on.mass.sum() == pytest.approx(len(X))


def test_lattice_of_far_outliers_keeps_only_points_with_weight(rng):
    X = make_rows("outliers", rng)
    on = PartedNode.root(held(X, places=[50, 120])).lattice(np.array([1.0, 0, 0]), 100.0)
    assert on.n_points > 1 << 16
    assert len(on.index) <= 2 * len(X)
    assert (on.mass > 0).all()
    assert on.mass.sum() == pytest.approx(len(X))


@pytest.mark.parametrize(
    "objective",
    [
        NormalisedCut(8.0, 0.02),
        NormalisedCut(0.5, 0.02),
        PenalisedDensity(0.4, 0.9, 1e-6),
        PenalisedDensity(0.4, 0.0, 1e-6, unit=1.7),
        PenalisedDensity(0.4, 0.1, 1e-6),
    ],
)
def test_gradient_is_the_slope_of_the_value(objective, rng, monkeypatch):
    X, weights = make_rows("normal", rng), rng.uniform(0.1, 2, size=300)
    evaluations = []

    def only_evaluate(evaluate, start, tolerance):
        evaluations.append(evaluate)
        return start, *evaluate(start)[:2]

    monkeypatch.setattr(parted, "descend", only_evaluate)
    start = unit(rng, 3)
    found = parted.parted_search(PartedNode.root(shuffled(X, weights, rng)), objective, start)
    evaluate = evaluations[0]
    value, place, gradient = evaluate(start)
    assert (found.value, found.place) == (value, place)
    for v in (start, 2.5 * start):  # the value does not change along the direction
        slopes = [(evaluate(v + move)[0] - evaluate(v - move)[0]) / 2e-6 for move in 1e-6 * np.eye(3)]
        assert np.abs(slopes).max() > 1e-4
        assert_allclose(evaluate(v)[2](), slopes, atol=2e-4 * np.abs(slopes).max())
    assert abs(gradient() @ start) < 1e-12


@pytest.mark.parametrize("weighted", [False, True])
def test_sample_is_spread_evenly_over_the_weight(weighted, rng):
    X, v = make_rows("normal", rng, n_rows=5000), unit(rng, 3)
    weights = rng.uniform(0.1, 2, size=len(X)) if weighted else np.ones(len(X))
    node = PartedNode.root(shuffled(X, weights, rng))
    sample = node.sample(v, 200, parted.along(node, v))
    values = X @ v
    below = np.array([weights[values < value].sum() for value in sample @ v]) / weights.sum()
    assert_allclose(below, (np.arange(200) + 0.5) / 200, atol=1 / 200)
    assert {tuple(row) for row in sample} <= {tuple(row) for row in X}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_sample_is_that_of_rows_in_memory(kind, weighted, rng):
    X, v = make_rows(kind, rng), unit(rng, 3)
    weights = rng.uniform(0.1, 2, size=len(X)) if weighted else np.ones(len(X))
    node = PartedNode.root(shuffled(X, weights, rng))
    on = parted.along(node, v)
    values = matrix.project(X, v) - node.about.mean @ v
    assert_array_equal(node.sample(v, 50, on), X[even_rows(X, values, weights, on.step, 50)])


def test_sample_of_few_values_has_rows_of_all(rng):
    X = rng.integers(0, 3, size=(90, 1)).astype(float)
    node = PartedNode.root(held(X, places=[30, 60]))
    on = parted.along(node, np.ones(1))
    assert_array_equal(np.unique(node.sample(np.ones(1), 30, on)), [0, 1, 2])


def test_fetch_gives_all_rows_with_their_weights(rng):
    X, weights = make_rows("copies", rng), rng.integers(1, 4, size=300).astype(float)
    taken = PartedNode.root(shuffled(X, weights, rng)).fetch()
    expected, found = np.column_stack([X, weights]), np.column_stack([taken.X, taken.weights])
    assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])


def test_rows_without_weight_are_left_out(rng):
    X = make_rows("normal", rng)
    weights = rng.integers(0, 2, size=len(X)).astype(float)
    kept = weights > 0
    node, other = PartedNode.root(held(X, weights, [70])), PartedNode.root(held(X[kept]))
    assert node.n_rows == node.about.count == kept.sum()
    assert_allclose(node.about.mean, other.about.mean, rtol=1e-12)
    assert_array_equal(node.fetch().X, other.fetch().X)


def test_threads_change_nothing(rng):
    X, v = make_rows("normal", rng), unit(rng, 3)
    parts = np.array_split(X, 7)
    nodes = [PartedNode.root(HeldParts(lambda: ((x, None) for x in parts), 3, n_jobs=n)) for n in (1, 3)]
    for mine, yours in zip(all_of(nodes[0], v), all_of(nodes[1], v), strict=True):
        assert_array_equal(mine, yours)


def test_every_pass_is_counted_and_reads_the_parts_once(rng):
    n_reads = 0

    def read():
        nonlocal n_reads
        n_reads += 1
        yield from ((x, None) for x in np.array_split(X, 3))

    X = make_rows("normal", rng)
    parts = HeldParts(read, 3)
    root = PartedNode.root(parts)
    assert 0 < parts.n_passes == n_reads
    root.children(np.array([1.0, 0, 0]), 2.0)
    root.fetch()
    assert parts.n_passes == n_reads


def broken(X, entry):
    X = X.copy()
    X[2, 1] = entry
    return X


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: broken(X, np.nan), "part 2 has NaN or infinity"),
        (lambda X: broken(X, -np.inf), "part 2 has NaN or infinity"),
        (lambda X: X[:, :2], "part 2 has 2 columns"),
        (lambda X: X[:, 0], "part 2 has 1 dimensions"),
        (lambda X: broken(X, 1e151), "part 2 has a number whose square would overflow"),
        (lambda X: broken(X, -1e200), "part 2 has a number whose square would overflow"),
    ],
)
def test_what_is_wrong_with_rows_names_their_part(spoil, message, rng):
    parts = np.split(make_rows("normal", rng), [50, 50, 100])
    parts[2] = spoil(parts[2])
    with pytest.raises(ValueError, match=message):
        PartedNode.root(HeldParts(lambda: ((x, None) for x in parts), 3))


@pytest.mark.parametrize("bad", [np.full(50, -1.0), np.full(50, np.nan), np.full(50, np.inf), np.ones(49)])
def test_what_is_wrong_with_weights_names_their_part(bad, rng):
    parts = list(zip(np.split(make_rows("normal", rng), 6), [np.ones(50)] * 4 + [bad, np.ones(50)], strict=True))
    with pytest.raises(ValueError, match="part 4 has weights"):
        PartedNode.root(HeldParts(lambda: iter(parts), 3))


@pytest.mark.parametrize(("shape", "weight"), [((0, 3), 1.0), ((5, 3), 0.0)])
def test_no_rows_at_all_are_an_error(shape, weight):
    part = np.ones(shape), np.full(shape[0], weight)
    with pytest.raises(ValueError, match="no rows in any part"):
        PartedNode.root(HeldParts(lambda: iter([part, part]), 3))


@pytest.mark.parametrize(
    "change", [lambda parts: parts.append(parts[0]), lambda parts: parts.insert(0, parts.pop()[1:])]
)
def test_parts_that_change_between_passes_are_an_error(change, rng):
    parts = np.split(make_rows("normal", rng), [90, 190])
    root = PartedNode.root(HeldParts(lambda: ((x, None) for x in parts), 3))
    change(parts)
    with pytest.raises(RuntimeError, match="changed between two passes"):
        root.scatter_times(np.array([1.0, 0, 0]))
