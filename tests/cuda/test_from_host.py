"""Rows of the host that a device reads chunk by chunk, beside the same rows on the device."""

from dataclasses import astuple

import numpy as np
import pytest
from numba import cuda
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone
from tests.cuda.test_device import on_device, rows_of, same_moments, unit, weights_for
from tests.cuda.test_estimators import blobs, large, made  # noqa: F401 — fixtures

from ravine import MDH, PDDP, IncrementalMDH, NCutH, SumOfNorms, gpu
from ravine._outofcore import ChunkedNode, ChunksFromHost, is_on_device, to_host
from ravine.cluster import _base
from ravine.cuts import _chunked

ROWS = [7, 1000]
MODELS = [NCutH(2), MDH(2), PDDP(3), IncrementalMDH()]

each_size = pytest.mark.parametrize("n_rows", ROWS)


def from_host(X, n_rows):
    """Rows of the host in chunks of so many rows."""
    return gpu.from_host(X, chunk_bytes=n_rows * X.shape[1] * X.itemsize)


def both_of(X, n_rows, weights=None):
    """The node of all rows that a device reads from the host, and on the device."""
    return ChunkedNode.root(ChunksFromHost(from_host(X, n_rows), weights)), ChunkedNode.root(on_device(X, weights))


@each_size
@pytest.mark.parametrize("kind", ["normal", "copies", "one row"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_and_sides_are_those_on_the_device_to_the_last_bit(kind, n_rows, weighted, rng):
    X = rows_of(kind, rng)
    nodes = both_of(X, n_rows, weights_for(X, weighted, rng))
    same_moments(*nodes)
    assert_array_equal(nodes[0].scatter, nodes[1].scatter)
    assert_array_equal(astuple(nodes[0].fetch().sorted())[0], astuple(nodes[1].fetch().sorted())[0])
    v = unit(rng, X.shape[1])
    mine, theirs = (node.children(v, float(np.median(X @ v)) + 1e-9) for node in nodes)
    assert (mine is None) == (theirs is None)
    for node, other in zip(mine or (), theirs or (), strict=True):
        same_moments(node, other)
        below = node.children(v, float(v @ node.moments.mean) + 1e-9)
        beside = other.children(v, float(v @ other.moments.mean) + 1e-9)
        for leaf, same in zip(below or (), beside or (), strict=True):
            same_moments(leaf, same)


@each_size
@pytest.mark.parametrize("weighted", [False, True])
def test_looks_and_samples_are_those_on_the_device(n_rows, weighted, rng):
    X = rows_of("normal", rng)
    v, weights = unit(rng, X.shape[1]), weights_for(X, weighted, rng)
    node, other = both_of(X, n_rows, weights)
    on = _chunked.along(other, v)
    assert_array_equal(node.sample(v, 10, on), other.sample(v, 10, on))
    mine, theirs = node.draw(9, 5), other.draw(9, 5)
    assert_array_equal(np.sort(mine.number), np.sort(theirs.number))
    step = other.moments.unit / 10
    looks = [place.look(v, step, 1000) for place in (node, other)]
    assert_array_equal(looks[0].lattices[0].dense(), looks[1].lattices[0].dense())
    slopes = np.sin(np.arange(looks[0].lattices[0].n_points - 1))
    pulls = [place.pull(v, seen, slopes, 0.1) for place, seen in zip((node, other), looks, strict=True)]
    assert_array_equal(*pulls)


@pytest.mark.filterwarnings("ignore:held-out rows confirmed no single cut")
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_models_are_those_of_rows_on_the_device(model, blobs, large):  # noqa: F811
    X = from_host(blobs, 70)
    mine, theirs = made(model).fit(X), made(model).fit(cuda.to_device(blobs))
    assert mine.tree_ == theirs.tree_
    for name in ("predict", "transform", "predict_proba"):
        if hasattr(mine, name):
            found = getattr(mine, name)(X)
            assert isinstance(found, np.ndarray)
            assert_allclose(found, to_host(getattr(theirs, name)(cuda.to_device(blobs))), atol=1e-12)
    assert not is_on_device(mine.labels_)
    assert_array_equal(mine.labels_, to_host(theirs.labels_))
    assert_array_equal(mine.predict(X), mine.labels_)


def test_weights_count_and_a_cell_far_outside_is_moved_in(blobs, large, rng):  # noqa: F811
    X, w = blobs.copy(), rng.integers(0, 3, size=len(blobs)).astype(float)
    X[7, 1], w[7] = 1e6, 1.0
    mine = NCutH(2).fit(from_host(X, 70), sample_weight=w)
    theirs = NCutH(2).fit(cuda.to_device(X), sample_weight=w)
    assert mine.tree_ == theirs.tree_
    assert mine.tree_.count[0] == w.sum()


def test_few_rows_and_batches_are_learned_on_the_host(blobs):  # noqa: F811
    X = from_host(blobs, 50)
    assert NCutH(3).fit(X).tree_ == NCutH(3).fit(blobs).tree_
    assert IncrementalMDH().partial_fit(X).tree_ == IncrementalMDH().partial_fit(blobs).tree_


def test_nodes_below_the_root_send_only_their_rows(blobs):  # noqa: F811
    chunks = ChunksFromHost(from_host(blobs, 50))
    root = ChunkedNode.root(chunks)
    before = chunks.n_rows_read
    left, _ = root.children(np.array([1.0, 0.0, 0.0]), 5.0)
    read = chunks.n_rows_read - before
    assert read == len(blobs)
    left.scatter_times(np.array([1.0, 0.0, 0.0]))
    assert chunks.n_rows_read - before - read == left.n_rows < len(blobs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[0], "has 1 dimensions"),
        (lambda X: X.astype(np.float16), "has float16: convert it"),
        (lambda X: X.astype(int), "has int64: convert it"),
        (np.asfortranarray, "not contiguous"),
        (lambda X: np.zeros((2, 5000)), "has 5000 columns"),
    ],
)
def test_rows_that_a_device_cannot_read_are_refused(change, message, blobs):  # noqa: F811
    with pytest.raises(ValueError, match=message):
        gpu.from_host(change(blobs))


@pytest.mark.parametrize(
    ("cell", "message"), [(np.nan, "NaN or infinity"), (np.inf, "NaN or infinity"), (1e200, "would overflow")]
)
def test_bad_cells_are_refused(cell, message, blobs, large):  # noqa: F811
    model, X = clone(PDDP(2)), blobs.astype(np.float64)
    X[70, 1] = cell
    with pytest.raises(ValueError, match=message):
        model.fit(from_host(X, 30))
    model.fit(from_host(blobs, 30))
    with pytest.raises(ValueError, match=message):
        model.predict(from_host(X, 30))


@pytest.mark.parametrize(("weight", "message"), [(-1.0, "negative"), (np.nan, "negative or not finite")])
def test_bad_weights_are_refused(weight, message, blobs, large):  # noqa: F811
    w = np.ones(len(blobs))
    w[80] = weight
    with pytest.raises(ValueError, match=message):
        NCutH(2).fit(from_host(blobs, 50), sample_weight=w)
    with pytest.raises(ValueError, match="sample_weight has shape"):
        NCutH(2).fit(from_host(blobs, 50), sample_weight=w[:5])


def test_other_estimators_refuse_rows_for_a_device(blobs):  # noqa: F811
    with pytest.raises(TypeError, match="SumOfNorms does not read rows"):
        SumOfNorms().fit(from_host(blobs, 50))


def test_too_little_memory_says_what_to_do(blobs, monkeypatch):  # noqa: F811
    monkeypatch.setattr(_base, "FETCHED_CELLS", 0)
    context = type("Context", (), {"get_memory_info": lambda self: type("Info", (), {"free": 10})()})
    monkeypatch.setattr(cuda, "current_context", context)
    with pytest.raises(MemoryError, match="smaller chunk_bytes"):
        NCutH(2).fit(from_host(blobs, 50))
