"""When a stream is warned of values that repeat: where they were measured to part clusters, and nowhere else."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import ravine
from ravine import HSDC, SPDC
from ravine.tree._repeats import COLLECTING, DONE, WINDOW, RepeatWatch


def four_blobs(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(4, n_columns))
    centers *= 10 / np.linalg.norm(centers, axis=1)[:, np.newaxis]
    return centers[rng.integers(0, 4, n_rows)] + rng.normal(size=(n_rows, n_columns))


def rounded(X, step):
    return np.round(X / step) * step


def with_zeros(X, share):
    return np.where(np.random.default_rng(1).uniform(size=X.shape) < share, 0.0, X)


def warned(learn):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learn()
    assert all(issubclass(warning.category, UserWarning) for warning in caught)
    return [str(warning.message) for warning in caught]


HARMFUL = {
    "one column, step 0.1": rounded(four_blobs(3000, 1), 0.1),
    "two columns, step 0.7": rounded(four_blobs(3000, 2), 0.7),
    "three columns, step 1": rounded(four_blobs(3000, 3), 1.0),
    "a tenth zeros": with_zeros(four_blobs(3000, 3), 0.1),
    "a fifth zeros in ten columns": with_zeros(four_blobs(3000, 10), 0.2),
    "copies of 60 rows": four_blobs(60, 2)[np.random.default_rng(2).integers(0, 60, 3000)],
}
HARMLESS = {
    "normal": four_blobs(3000, 3),
    "float32": four_blobs(3000, 3).astype(np.float32),
    "heavy tails": np.random.default_rng(0).standard_t(1, size=(3000, 2)),
    "three decimals": four_blobs(3000, 2).round(3),
    "two columns, step 0.1": rounded(four_blobs(3000, 2), 0.1),
    "ten columns, step 1": rounded(four_blobs(3000, 10), 1.0),
    "fifty columns, step 2": rounded(four_blobs(3000, 50), 2.0),
    "two values": np.tile([[0.0], [1.0]], (500, 1)),
    "a constant column": np.c_[four_blobs(3000, 2), np.ones(3000)],
    "a column of two kinds": np.c_[four_blobs(3000, 2), np.arange(3000) % 2],
    "equal rows": np.ones((3000, 2)),
    "few rows": rounded(four_blobs(100, 1), 1.0),
    "equal rows first": np.concatenate([np.zeros((600, 2)), four_blobs(3000, 2)]),
}


@pytest.mark.parametrize("model", [HSDC, SPDC])
@pytest.mark.parametrize("name", HARMFUL)
def test_stream_whose_values_repeat_is_warned_of_once(name, model):
    X = HARMFUL[name]
    fitted = model()
    (message,) = warned(lambda: fitted.fit(X))
    assert message.startswith("values repeat in column")
    assert f"{model.__name__} takes repeated values for clusters" in message
    assert "Add noise of half the step" in message
    assert "drop the column" in message
    assert not warned(lambda: fitted.partial_fit(X))


@pytest.mark.parametrize("name", HARMLESS)
def test_other_streams_are_not_warned_of(name):
    assert not warned(lambda: HSDC().fit(HARMLESS[name]))


@pytest.mark.parametrize("step", [0.5, 0.7, 1.0])
def test_warning_foretells_too_many_clusters_and_its_remedy_helps(step):
    X = rounded(four_blobs(20_000, 2), step)
    with pytest.warns(UserWarning, match="values repeat"):
        assert HSDC().fit(X).n_clusters_ > 30
    noise = np.random.default_rng(0).uniform(-step / 2, step / 2, X.shape)
    assert HSDC().fit(X + noise).n_clusters_ < 10


def test_warning_names_the_columns_and_what_is_in_them():
    X = pd.DataFrame(four_blobs(3000, 3), columns=["width", "height", "depth"])
    X["height"] = with_zeros(X["height"], 0.3)
    with pytest.warns(UserWarning, match=r"in column 'height' \(0 in \d\d% of 512 rows\): HSDC") as caught:
        HSDC().fit(X)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"columns 0 \(\d+ distinct values in 512 rows, 0.7 apart\), 1 \("):
        HSDC().partial_fit(rounded(four_blobs(3000, 2), 0.7))
    many = np.tile(rounded(four_blobs(3000, 2), 1.0), (1, 4))
    with pytest.warns(UserWarning, match=r"columns 0 .* 4 \([^)]*\), and 3 more: "):
        HSDC().fit(many)


@pytest.mark.parametrize("sizes", [[1], [7, 200, 1], [3000]])
@pytest.mark.parametrize("name", ["two columns, step 0.7", "a tenth zeros", "three columns, step 1"])
def test_batches_have_no_say_in_the_warning(name, sizes):
    X, model, start, i, at = HARMFUL[name], HSDC(), 0, 0, []
    whole = HSDC()
    (expected,) = warned(lambda: whole.fit(X))
    while start < len(X):
        stop = start + sizes[i % len(sizes)]
        found = warned(lambda batch=X[start:stop]: model.partial_fit(batch))
        at += [(start, stop, message) for message in found]
        start, i = stop, i + 1
    ((start, stop, message),) = at
    assert message == expected
    due = row_of_the_warning(X)
    assert start < due <= stop
    assert (model._stream.repeats.due, len(model._stream.repeats.rows)) == (DONE, 0)


def row_of_the_warning(X):
    """Number of rows with which the watch speaks, one row at a time."""
    watch = RepeatWatch(X.shape[1])
    return next(n for n in range(1, len(X) + 1) if watch.look(X[n - 1 : n], n, False))


def test_memory_of_the_watch_is_bounded():
    watch = RepeatWatch(3)
    X = rounded(four_blobs(5000, 3), 0.35)  # so few copies that the warning comes late
    for start in range(0, 5000, 100):
        watch.look(X[start : start + 100], start + 100, False)
        assert len(watch.rows) <= WINDOW
    assert watch.due > 5000
    assert RepeatWatch(100_000).window == 128


def test_window_begins_where_rows_begin_to_differ():
    watch = RepeatWatch(2)
    assert not watch.look(np.zeros((2000, 2)), 2000, False)
    assert (len(watch.rows), watch.due) == (1, COLLECTING)
    assert watch.look(rounded(four_blobs(600, 2), 1.0), 2600, False)


@pytest.mark.parametrize("at", [100, 600])
def test_saved_stream_warns_as_if_never_interrupted(at, tmp_path):
    X = rounded(four_blobs(10_000, 2), 0.3)
    assert row_of_the_warning(X) > 600
    model = HSDC().partial_fit(X[:at])
    ravine.save(model, tmp_path / "model", resume=True)
    loaded = ravine.load(tmp_path / "model")
    assert_array_equal(loaded._stream.repeats.rows, model._stream.repeats.rows)
    assert len(warned(lambda: loaded.partial_fit(X[at:]))) == 1
    ravine.save(loaded, tmp_path / "model", resume=True)
    again = ravine.load(tmp_path / "model")
    assert not warned(lambda: again.partial_fit(X))
