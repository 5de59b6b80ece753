"""Threads: how many there are, that results and errors come in order, and that work may ask for work."""

import threading
import time

import numpy as np
import pytest
from sklearn.base import is_classifier
from tests.estimators import CLASSES

from ravine import _blocks
from ravine.datasets import make_blobs


def test_there_are_never_more_threads_than_cores(four_cores):
    assert [_blocks.count_threads(n) for n in (2, 4, 5, 999, -1)] == [2, 4, 4, 4, 4]


@pytest.mark.parametrize("n_jobs", [2, 3, 999])
def test_as_many_threads_work_at_once_as_asked_for_and_no_more(n_jobs, four_cores):
    lock, now, most = threading.Lock(), [0], [0]

    def work(_):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1

    _blocks.map_items(work, range(20), n_jobs)
    assert most[0] == min(n_jobs, 4)


def test_pools_do_not_pile_up(four_cores):
    before = {thread.ident for thread in threading.enumerate()}
    for n_jobs in (2, 3, 4, 5, 50, 999, -1):
        assert _blocks.map_items(lambda i: i * i, range(60), n_jobs) == [i * i for i in range(60)]
        assert _blocks.map_items(str, [1, 2], n_jobs) == ["1", "2"]
    assert len({thread.ident for thread in threading.enumerate()} - before) <= 3


def test_results_come_in_the_order_of_the_items(four_cores):
    def work(i):
        time.sleep(0.003 * (5 - i % 5))
        return i

    assert _blocks.map_items(work, list(range(17)), 4) == list(range(17))


def test_error_of_the_first_item_is_raised_and_later_items_are_left_alone(four_cores):
    begun = []

    def work(i):
        begun.append(i)
        time.sleep(0.02 if i == 1 else 0.001)
        if i in (1, 2):
            raise ValueError(f"item {i}")
        return i

    with pytest.raises(ValueError, match="item 1"):
        _blocks.map_items(work, range(1000), 4)
    assert len(begun) < 100
    assert _blocks.map_items(lambda i: -i, range(9), 4) == [-i for i in range(9)]


def blocks_of(rows, block_rows):
    """Return where each block of a slice begins, and its number of rows."""
    starts = np.arange(rows.start, rows.stop, block_rows)
    return np.column_stack([starts, np.minimum(starts + block_rows, rows.stop) - starts])


@pytest.mark.parametrize("n_rows", [1, 5, 64, 65, 1000])
@pytest.mark.parametrize("least_cells", [1, 12])
def test_blocks_cover_all_rows_and_do_not_depend_on_the_threads(n_rows, least_cells, four_cores, monkeypatch):
    for least in ("LEAST_CELLS", "LEAST_SHARE"):
        monkeypatch.setattr(_blocks, least, least_cells)
    one, four = (_blocks.lines_of_blocks(blocks_of, (n_rows, 3), n_jobs) for n_jobs in (1, 4))
    np.testing.assert_array_equal(one, four)
    assert len(one) <= _blocks.N_BLOCKS
    assert one[:, 1].sum() == n_rows
    np.testing.assert_array_equal(one[1:, 0], np.cumsum(one[:-1, 1]))


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
@pytest.mark.parametrize("n_rows", [0, 1, 7, 100])
def test_slices_cover_all_rows_in_order(n_rows, n_jobs, four_cores, monkeypatch):
    for least in ("LEAST_CELLS", "LEAST_SHARE"):
        monkeypatch.setattr(_blocks, least, 5)
    slices = _blocks.map_rows(lambda rows: rows, (n_rows, 2), n_jobs)
    assert [i for rows in slices for i in range(n_rows)[rows]] == list(range(n_rows))
    assert len(slices) <= 2 * n_jobs


def test_work_may_ask_for_work(four_cores):
    def outer(i):
        return sum(_blocks.map_items(lambda j: inner(i, j), range(6), 4))

    def inner(i, j):
        return sum(_blocks.map_items(lambda k: i * j * k, range(5), 4))

    found = []
    thread = threading.Thread(target=lambda: found.extend(_blocks.map_items(outer, range(8), 4)), daemon=True)
    thread.start()
    thread.join(20)
    assert found == [i * 15 * 10 for i in range(8)]


@pytest.mark.parametrize("member", CLASSES)
def test_fit_with_many_jobs_starts_no_more_threads_than_cores(member, monkeypatch):
    X, y = make_blobs(60, centers=[[0, 0], [12, 0], [0, 12]], random_state=0)
    before, alive, start = threading.active_count(), [], threading.Thread.start

    def counted(thread):
        start(thread)
        alive.append(threading.active_count() - before)

    monkeypatch.setattr(threading.Thread, "start", counted)
    _blocks._helpers.cache_clear()
    model = member(n_jobs=999)
    model.fit(X, np.where(np.arange(60) % 6, -1, y)) if is_classifier(model) else model.fit(X)
    model.predict(X)
    assert max(alive, default=0) <= 2 * _blocks.count_threads(-1) + 8  # joblib has some of its own
