import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.outofcore.test_chunks import all_of, held, make_rows, unit

from ravine._outofcore import ChunkedNode, Chunks, _group, _node, _reductions
from ravine._outofcore._group import Group, Kept, merged
from ravine.cuts import Cut

KINDS = ["normal", "integers", "copies", "single"]


class OnGroups(Chunks):
    """Rows on groups in this process."""

    def __init__(self, groups, n_features):
        self.groups, self.n_features = groups, n_features

    def everything(self, least=0.0):
        return [()], self.reduce(_reductions.extent, [()])

    def reduce(self, reduction, handles, *arguments):
        found = merged(group.reduce(reduction, handles[0], arguments) for group in self.groups)
        return found.closed() if hasattr(found, "closed") else found

    def divide(self, handles, normal, offset, by):
        cut = normal.tobytes(), float(offset)
        found = merged(group.divide(handles[0], cut, by) for group in self.groups)
        return [(*handles[0], (*cut, True))], [(*handles[0], (*cut, False))], *found.sides

    def moved_in(self, edges):
        raise AssertionError("no cell is far outside")

    def close(self):
        pass

    def at_once(self, function, items):
        return [function(item) for item in items]


class Answer:
    """What an actor returns."""

    def __init__(self, value):
        self.result = lambda: value


class Remote:
    """An actor."""

    def __init__(self, group):
        self.reduce = lambda *arguments: Answer(group.reduce(*arguments))
        self.divide = lambda *arguments: Answer(group.divide(*arguments))


def group_of(X, places, weights=None, n_jobs=1, below=()):
    of_rows = [None] * (len(places) + 1) if weights is None else np.split(weights, places)
    chunks = list(zip(np.split(X, places), of_rows, strict=True))
    return Group(chunks, list(range(len(chunks))), X.shape[1], 0.0, n_jobs, list(below))


def grouped(X, rng, weights=None):
    """The rows in another order, on two groups."""
    order = rng.permutation(len(X))
    parts = [(X[half], None if weights is None else weights[half]) for half in np.split(order, [len(X) // 3])]
    places = [np.sort(rng.integers(0, len(rows) + 1, size=3)) for rows, _ in parts]
    groups = [group_of(rows, at, w, n_jobs=2) for (rows, w), at in zip(parts, places, strict=True)]
    return OnGroups(groups, X.shape[1])


@pytest.fixture(params=[True, False], ids=["rounded", "exact"])
def rounds(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(_node, "MANY_ROWS", 1)
        monkeypatch.setattr(_node, "MANY_COLUMNS", 1)
    return request.param


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_groups_give_what_other_chunks_give(kind, weighted, rounds, rng):
    for _ in range(3):
        X, v, other = make_rows(kind, rng), unit(rng, 3), unit(rng, 3)
        weights = rng.choice([0.25, 1.0, 1 / 3], size=len(X)) if weighted else None
        nodes = [ChunkedNode.root(held(X, weights)), ChunkedNode.root(grouped(X, rng, weights))]
        assert (nodes[0].rounding is not None) == (rounds and not weighted)
        offset = float(np.median(X @ v))
        for _ in range(3):
            for mine, yours in zip(*(all_of(node, v) for node in nodes), strict=True):
                assert_array_equal(mine, yours)
            both = [node.children(other, offset) for node in nodes]
            if any(sides is None for sides in both):
                assert both == [None, None]
                break
            nodes = [sides[1] for sides in both]
            offset += 0.5


def test_new_group_finds_the_rows_of_a_node_by_the_cuts_above_it(rounds, rng):
    X, v, other = make_rows("normal", rng), unit(rng, 3), unit(rng, 3)
    chunks = grouped(X, rng)
    root = ChunkedNode.root(chunks)
    node = root.children(v, float(np.median(X @ v)))[0].children(other, float(np.median(X @ other)))[1]
    expected = [*all_of(node, v)]
    for k, group in enumerate(chunks.groups):  # both are lost, one after the other
        rows = [chunk for chunk, _ in group._chunks]
        chunks.groups[k] = group_of(np.concatenate(rows[::-1]), [7])
        node._kept.clear()
        for mine, yours in zip(expected, all_of(node, v), strict=True):
            assert_array_equal(mine, yours)


def test_node_can_be_divided_again_and_its_old_children_are_found(rounds, rng):
    X, v, other = make_rows("normal", rng), unit(rng, 3), unit(rng, 3)
    root = ChunkedNode.root(grouped(X, rng))
    left, right = root.children(v, float(np.median(X @ v)))
    expected = [node.fetch().X for node in (root, left, right)]
    assert root.children(other, float(np.median(X @ other))) is not None
    assert left.children(other, float(np.median(X @ other))) is not None
    for rows, node in zip(expected, (root, left, right), strict=True):
        assert_array_equal(node.fetch().X, rows)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_at_the_cut_are_on_the_side_that_predict_gives(n_jobs, rounds, rng):
    X = rng.integers(-20, 20, size=(4000, 3)) / 3
    v, number = unit(rng, 3), 17
    offset = float(X[number] @ v)
    for shift in (0.0, 1e-15, -1e-15, 1e-9):
        root = ChunkedNode.root(OnGroups([group_of(X, [1000, 1500], n_jobs=n_jobs)], 3))
        left, right = root.children(v, offset + shift)
        goes_left = Cut(v, offset + shift).goes_left(X)
        for node, mine in ((left, X[goes_left]), (right, X[~goes_left])):
            found = node.fetch().X
            assert_array_equal(found[np.lexsort(found.T)], mine[np.lexsort(mine.T)])


def test_memory_of_a_worker_changes_nothing(rng, monkeypatch):
    monkeypatch.setattr(_node, "MANY_ROWS", 1)
    monkeypatch.setattr(_node, "MANY_COLUMNS", 1)
    X, v = make_rows("normal", rng), unit(rng, 3)
    found = []
    for has_memory in (True, False):
        monkeypatch.setattr(_group, "_has_memory", lambda _, answer=has_memory: answer)
        chunks = grouped(X, np.random.default_rng(0))
        node = ChunkedNode.root(chunks).children(v, float(np.median(X @ v)))[0]
        found.append([*all_of(node, v)])
        kept = [isinstance(rows, Kept) for group in chunks.groups for rows in group._nodes.values()]
        assert all(kept) if has_memory else not any(kept)
    for mine, yours in zip(*found, strict=True):
        assert_array_equal(mine, yours)


def test_rows_of_inner_nodes_are_not_listed_any_more(rng):
    X, v = make_rows("normal", rng), unit(rng, 3)
    chunks = grouped(X, rng)
    node = ChunkedNode.root(chunks)
    for share in (0.5, 0.25, 0.125):
        node = node.children(v, float(np.quantile(X @ v, share)))[0]
    for group in chunks.groups:
        assert sorted(len(path) for path in group._nodes) == [0, 1, 2, 3, 3]


def test_group_merges_the_results_of_those_below(rounds, rng):
    X, v = make_rows("normal", rng), unit(rng, 3)
    parts = np.split(X, [50, 120])
    below = [Remote(group_of(rows, [20])) for rows in parts[1:]]
    node = ChunkedNode.root(OnGroups([group_of(parts[0], [], below=below)], 3))
    other, offset = ChunkedNode.root(held(X)), float(np.median(X @ v))
    for mine, yours in zip(node.children(v, offset), other.children(v, offset), strict=True):
        for one, another in zip(all_of(mine, v), all_of(yours, v), strict=True):
            assert_array_equal(one, another)
