"""Fits on a cluster of two worker processes, one of which is killed."""

import logging
import os
import signal
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import clone
from sklearn.metrics import adjusted_rand_score
from tests.callbacks import TaskCallback

from ravine import MDH, IncrementalMDH, NCutH
from ravine._outofcore import _dask, _group, _node
from ravine.cluster import _base
from ravine.cuts import _chunked, _mdh, _ncut, _pursuit
from ravine.datasets import make_blobs

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

CENTERS = [[0, 0, 0], [12, 0, 3], [0, 17, -3]]
MODELS = [NCutH(3), MDH(3)]
each = pytest.mark.parametrize("model", MODELS, ids=str)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(3000, centers=CENTERS, random_state=0)


@pytest.fixture(scope="module")
def client():
    """The current client of a cluster."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with distributed.LocalCluster(processes=True, **settings) as cluster, distributed.Client(cluster) as client:
        yield client


def processes_of_two_workers(client, without=None):
    """Return the processes of the workers once there are two: the scheduler may still count one that was killed."""
    for _ in range(300):
        found = client.run(os.getpid, on_error="return").values()
        if len(found) == 2 and all(isinstance(one, int) and one != without for one in found):
            return list(found)
        time.sleep(0.1)
    raise AssertionError(f"the workers are {list(found)}")


@pytest.fixture(autouse=True)
def large(monkeypatch):
    make_large(monkeypatch)


def make_large(monkeypatch):
    """Let nodes of a few hundred rows count as large."""
    monkeypatch.setattr(_base, "FETCHED_CELLS", 0)
    for module in (_pursuit, _chunked, _mdh, _ncut):
        for name, number in (("COARSE_ABOVE", 500), ("COARSE_ROWS", 300)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, number)


def is_out_of_core(X):
    return da.from_array(X, chunks=(1100, X.shape[1]))


@pytest.fixture(scope="module")
def undisturbed(blobs, client):
    """Fits on the workers."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        make_large(monkeypatch)
        return {str(model): clone(model).fit(is_out_of_core(blobs[0])) for model in MODELS}


@each
def test_partition_is_that_of_rows_in_memory(model, blobs, undisturbed):
    X, y = blobs
    assert adjusted_rand_score(undisturbed[str(model)].labels_.compute(), y) == 1
    assert adjusted_rand_score(clone(model).fit(X).labels_, y) == 1


@each
def test_workers_give_the_tree_of_one_process(model, blobs, undisturbed, monkeypatch):
    monkeypatch.setattr("ravine._outofcore._dask._client", lambda: None)
    with dask.config.set(scheduler="synchronous"):
        here = clone(model).fit(is_out_of_core(blobs[0]))
    assert here.tree_ == undisturbed[str(model)].tree_


def test_cells_far_outside_change_no_cut_on_workers(blobs, client):
    X = blobs[0].copy()
    X[::500, 1] = 1e4
    model = NCutH(3).fit(is_out_of_core(X))
    here = NCutH(3).fit(X)
    assert adjusted_rand_score(model.labels_.compute(), here.labels_) == 1
    assert_array_equal(np.sort(model.tree_.count), np.sort(here.tree_.count))


def test_workers_draw_the_sample_of_one_process(blobs, client, monkeypatch):
    model = IncrementalMDH(3, sample_size=500)
    on_workers = clone(model).fit(is_out_of_core(blobs[0]))
    monkeypatch.setattr("ravine._outofcore._dask._client", lambda: None)
    with dask.config.set(scheduler="synchronous"):
        here = clone(model).fit(is_out_of_core(blobs[0]))
    assert here.tree_ == on_workers.tree_


@each
def test_killed_worker_changes_nothing(model, blobs, client, undisturbed):
    killed = min(processes_of_two_workers(client))
    killer = threading.Timer(0.02, os.kill, (killed, signal.SIGKILL))
    disturbed = clone(model).set_callbacks(TaskCallback(at_first=killer.start)).fit(is_out_of_core(blobs[0]))
    assert not killer.is_alive()
    processes_of_two_workers(client, without=killed)
    assert disturbed.tree_ == undisturbed[str(model)].tree_


@pytest.fixture
def rounds(monkeypatch):
    """Few rows of few columns are rounded, too."""
    monkeypatch.setattr(_node, "MANY_ROWS", 1)
    monkeypatch.setattr(_node, "MANY_COLUMNS", 1)


@each
@pytest.mark.parametrize("kills", [False, True])
def test_rounded_rows_on_workers_give_the_tree_of_one_process(model, kills, blobs, client, rounds, monkeypatch):
    killed = min(processes_of_two_workers(client))
    killer = threading.Timer(0.02, os.kill, (killed, signal.SIGKILL))
    start = TaskCallback(at_first=killer.start) if kills else TaskCallback()
    on_workers = clone(model).set_callbacks(start).fit(is_out_of_core(blobs[0]))
    if kills:
        killer.join()
        processes_of_two_workers(client, without=killed)
    monkeypatch.setattr("ravine._outofcore._dask._client", lambda: None)
    with dask.config.set(scheduler="synchronous"):
        here = clone(model).fit(da.from_array(blobs[0][::-1], chunks=(700, 3)))
    assert here.tree_ == on_workers.tree_
    assert adjusted_rand_score(here.labels_.compute(), blobs[1][::-1]) == 1


def test_rows_stay_on_their_workers(client, monkeypatch):
    processes_of_two_workers(client)
    X = da.random.default_rng(0).normal(size=(40_000, 3), chunks=(5_000, 3)).persist()
    distributed.wait(X)
    before = client.who_has()
    NCutH(3).fit(X)
    after = client.who_has()
    assert all(after[key] == workers for key, workers in before.items())


def test_workers_hold_nothing_after_a_fit(blobs, client):
    processes_of_two_workers(client)
    NCutH(3).fit(is_out_of_core(blobs[0]))
    for _ in range(100):
        held = client.run(lambda dask_worker: [*dask_worker.state.actors, *dask_worker.data])
        if not any(held.values()):
            break
        time.sleep(0.1)
    assert not any(held.values())


def test_error_names_the_partition(blobs, client):
    X = blobs[0].copy()
    X[2000, 1] = np.nan
    with pytest.raises(ValueError, match="chunk 1 has NaN or infinity"):
        NCutH(3).fit(is_out_of_core(X))


def test_workers_take_weights_and_empty_partitions(blobs, undisturbed):
    X, chunks = blobs[0], (1400, 0, 1600)
    weights = da.ones(3000, chunks=(chunks,))
    model = NCutH(3).fit(da.from_array(X, chunks=(chunks, (3,))), sample_weight=weights)
    assert model.tree_ == undisturbed[str(NCutH(3))].tree_


@each
@pytest.mark.parametrize("limits", [{"FAN_IN": 1}], ids=str)
def test_way_of_results_and_arguments_changes_nothing(model, limits, blobs, undisturbed, monkeypatch):
    for name, number in limits.items():
        monkeypatch.setattr(_dask, name, number)
    assert clone(model).fit(is_out_of_core(blobs[0])).tree_ == undisturbed[str(model)].tree_


@each
def test_many_small_partitions_change_nothing(model, blobs, undisturbed):
    order = np.random.default_rng(0).permutation(len(blobs[0]))
    many = da.from_array(blobs[0][order], chunks=(150, 3))
    assert clone(model).fit(many).tree_ == undisturbed[str(model)].tree_


@pytest.mark.parametrize("weighted", [False, True])
def test_few_rows_of_many_chunks_are_put_together_some_at_a_time(weighted, rng, monkeypatch):
    monkeypatch.setattr(_group, "FEW_ROWS", 10)
    monkeypatch.setattr(_group, "GATHERED_CELLS", 50)
    chunks = [(rng.normal(size=(20, 3)), rng.uniform(size=20) if weighted else None) for _ in range(12)]
    rows = [rng.permutation(20)[:n].astype(np.int32) for n in (0, 9, 9, 9, 10, 20, 1, 2, 3, 0, 9, 9)]
    found = list(_group.with_few_gathered(zip(chunks, rows, strict=True)))
    assert len(found) < 8
    assert all(len(mine) == len(X) <= 26 for (X, _), mine in found if len(X) != 20)

    def contents(pairs):
        columns = [np.column_stack([X, np.ones(len(X)) if w is None else w])[mine] for (X, w), mine in pairs]
        together = np.concatenate(columns)
        return together[np.lexsort(together.T)]

    np.testing.assert_array_equal(contents(found), contents(zip(chunks, rows, strict=True)))
