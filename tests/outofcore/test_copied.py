"""The copy of rows on disk: the same numbers as without it, what is read, and how it ends."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from tests.outofcore.test_chunks import KINDS, all_of, held, make_rows, unit
from tests.strategies import seeds

from ravine import MDH, PDDP, NCutH
from ravine._outofcore import ChunkedNode, LocalChunks, _chunks, _copied, _reductions
from ravine._outofcore._copied import CopiedRows, Part
from ravine._outofcore._scratch import SETTING
from ravine.cluster import _base
from ravine.cuts import _chunked, _mdh, _ncut, _pursuit
from ravine.datasets import make_blobs
from ravine.tree import _scout

CENTERS = [[0, 0, 0], [12, 0, 3], [0, 14, -3], [16, 17, 0]]


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """A folder for copies; all rows are copied, in small blocks."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv(SETTING, str(folder))
    monkeypatch.setattr(_chunks, "LEAST_COPIED", 0)
    monkeypatch.setattr(_copied, "BLOCK_CELLS", 60)
    return folder


def copied(X, weights=None, places=(), n_jobs=None):
    chunks = held(X, weights, places).copied()
    chunks._n_jobs = n_jobs
    return chunks


def whole_of(copy):
    """All rows of a copy, in their order there."""
    found = [copy._read(i, 1, copy._buffer(1)) for i in range(copy.n_rows)]
    return np.concatenate([rows for rows, _ in found])


def sorted_rows(X):
    return X[np.lexsort(X.T)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_jobs", [1, 2])
@given(seed=seeds, weighted=st.booleans(), with_scatter=st.booleans())
@settings(max_examples=5)
def test_copy_changes_no_digit(kind, n_jobs, seed, weighted, with_scatter):
    rng = np.random.default_rng(seed)
    X, v, other = make_rows(kind, rng), unit(rng, 3), unit(rng, 3)
    weights = rng.choice([0.0, 0.25, 1.0, 1 / 3], size=len(X)) if weighted else None
    places = [0, 90, 90, 200]
    with copied(X, weights, places, n_jobs) as chunks:
        nodes = [ChunkedNode.root(held(X, weights, places)), ChunkedNode.root(chunks)]
        assert chunks._copy is not None
        if with_scatter:
            assert_array_equal(nodes[0].scatter, nodes[1].scatter)
        for direction in (v, other):  # the left side is divided once more
            offset = float(np.median(nodes[0].fetch().X @ direction))
            both = [node.children(direction, offset) for node in nodes]
            if both[0] is None:
                break
            for pair in zip(nodes, *both, strict=True):
                assert len(pair) == 3
            for plain, from_copy in zip([nodes[0], *both[0]], [nodes[1], *both[1]], strict=True):
                for mine, yours in zip(all_of(plain, v), all_of(from_copy, v), strict=True):
                    assert_array_equal(mine, yours)
            nodes = [both[0][0], both[1][0]]
        assert chunks._copy is not None


@given(seed=seeds, n_rows=st.integers(1, 200), share=st.floats(0, 1), n_jobs=st.sampled_from([1, 2]))
def test_division_moves_the_rows_of_a_part_and_no_others(seed, n_rows, share, n_jobs):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    copy = CopiedRows(2, X.dtype, False, n_rows)
    copy.append(X, None)
    start, stop = np.sort(rng.choice(n_rows + 1, size=2, replace=False)) if n_rows > 1 else (0, 1)
    is_left = rng.random(n_rows) < share
    side_of = {row.tobytes(): left for row, left in zip(X, is_left, strict=True)}

    def divide(rows, _):
        left = np.array([side_of[row.tobytes()] for row in rows])
        sums = [_reductions.Sums((int(side.sum()),)) for side in (left, ~left)]
        return np.flatnonzero(left), np.flatnonzero(~left), *sums

    cut = np.ones(2), 0.0
    left, right, on_left, on_right = copy.divide(Part(int(start), int(stop)), divide, cut, n_jobs)
    found = whole_of(copy)
    copy.close()
    assert (left.start, left.stop, right.stop) == (start, right.start, stop)
    assert (len(left), len(right)) == (on_left.sums[0], on_right.sums[0])
    mine = X[start:stop]
    assert_array_equal(sorted_rows(found[left.start : left.stop]), sorted_rows(mine[is_left[start:stop]]))
    assert_array_equal(sorted_rows(found[right.start : right.stop]), sorted_rows(mine[~is_left[start:stop]]))
    assert_array_equal(found[:start], X[:start])
    assert_array_equal(found[stop:], X[stop:])


def test_pass_over_a_node_reads_only_its_rows(rng):
    X, v = make_rows("normal", rng), unit(rng, 3)
    with copied(X, places=[50, 170]) as chunks:
        root = ChunkedNode.root(chunks)
        assert chunks.n_rows_read == 2 * len(X)
        left, right = root.children(v, float(np.quantile(X @ v, 0.3)))
        for node in (left, right):
            before = chunks.n_rows_read
            node.scatter_times(v)
            assert chunks.n_rows_read - before == node.n_rows < len(X)
        before = chunks.n_rows_read
        chunks.at_once(lambda node: node.scatter_times(v), [left, right])
        assert chunks.n_rows_read - before == len(X)


def test_files_are_read_once_for_the_passes_and_once_for_a_draw(rng):
    n_reads = 0

    def read():
        nonlocal n_reads
        n_reads += 1
        yield from ((x, None) for x in np.array_split(X, 3))

    X = make_rows("normal", rng)
    with LocalChunks(read, 3, copied=True) as chunks:
        root = ChunkedNode.root(chunks)
        for node in root.children(np.array([1.0, 0, 0]), 2.0):
            node.fetch()
        assert n_reads == 1
        root.draw(10, 0)
        assert n_reads == 2


def test_few_rows_are_not_copied(rng, monkeypatch):
    X = make_rows("normal", rng)
    monkeypatch.setattr(_chunks, "LEAST_COPIED", X.size)
    with copied(X, places=[20, 100]) as chunks:
        ChunkedNode.root(chunks)
        assert chunks._copy is None
    more = np.vstack([X, X[:1]])
    with copied(more, places=[20, 100]) as chunks:
        assert ChunkedNode.root(chunks).n_rows == chunks._copy.n_rows == len(more)


def test_empty_setting_makes_no_copy_and_no_warning(rng, monkeypatch):
    monkeypatch.setenv(SETTING, "")
    chunks = copied(make_rows("normal", rng))
    assert ChunkedNode.root(chunks).n_rows == 300
    assert chunks._copy is None


def test_chunks_of_two_types_are_not_copied(rng):
    X = make_rows("normal", rng)
    parts = [X[:100], X[100:].astype(np.float32)]
    chunks = LocalChunks(lambda: ((x, None) for x in parts), 3, copied=True)
    with pytest.warns(RuntimeWarning, match="no copy of the rows on disk.*different types"):
        assert ChunkedNode.root(chunks).n_rows == len(X)
    assert chunks._copy is None


def test_copy_of_float32_takes_four_bytes_a_number(rng):
    X = make_rows("single", rng)
    with copied(X) as chunks:
        ChunkedNode.root(chunks)
        assert os.fstat(chunks._copy._rows._file.fileno()).st_size == 4 * X.size


@pytest.mark.parametrize("after", [0, 2])
def test_full_disk_falls_back_to_the_chunks(after, rng, monkeypatch):
    X, v = make_rows("normal", rng), unit(rng, 3)
    fail_after(monkeypatch, after)
    chunks = copied(X, places=[50, 100, 150, 200])
    with pytest.warns(RuntimeWarning, match=f"No space left on device.*{SETTING}"):
        root = ChunkedNode.root(chunks)
    assert chunks._copy is None
    for mine, yours in zip(all_of(root, v), all_of(ChunkedNode.root(held(X)), v), strict=True):
        assert_array_equal(mine, yours)


def fail_after(monkeypatch, n_writes):
    """From the given number of writes on, the disk is full."""
    write, n_written = _copied.ScratchFile.write, 0

    def write_or_fail(*arguments):
        nonlocal n_written
        n_written += 1
        if n_written > n_writes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(*arguments)

    monkeypatch.setattr(_copied.ScratchFile, "write", write_or_fail)


def test_copy_that_would_take_too_much_space_is_not_begun(rng, monkeypatch):
    X = make_rows("normal", rng)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: (0, 0, X.nbytes))
    monkeypatch.setattr(_copied.ScratchFile, "write", lambda *arguments: pytest.fail("written"))
    monkeypatch.setattr("ravine._outofcore._scratch._free", lambda folder: X.nbytes)
    chunks = LocalChunks(lambda: iter([(X, None)]), 3, copied=True, n_rows=len(X))
    with pytest.warns(RuntimeWarning, match="GB free and the copy takes"):
        ChunkedNode.root(chunks)


def test_copy_of_unknown_size_leaves_a_tenth_of_the_disk(rng, monkeypatch):
    X = make_rows("normal", rng)
    monkeypatch.setattr("ravine._outofcore._scratch._free", lambda folder: X.nbytes)
    with pytest.warns(RuntimeWarning, match="no more space"):
        assert ChunkedNode.root(copied(X, places=range(10, 300, 10))).n_rows == len(X)


@pytest.mark.parametrize("what", ["read", "write"])
@pytest.mark.parametrize("weighted", [False, True])
def test_disk_that_fails_later_costs_passes_but_no_digit(what, weighted, rng, monkeypatch):
    X, v, other = make_rows("normal", rng), unit(rng, 3), unit(rng, 3)
    weights = rng.choice([0.0, 0.5, 1.0], size=len(X)) if weighted else None
    offsets = float(np.median(X @ v)), float(np.median(X @ other))
    chunks, plain = copied(X, weights, [50, 170]), ChunkedNode.root(held(X, weights))
    left, right = ChunkedNode.root(chunks).children(v, offsets[0])

    def fail(*arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(_copied.ScratchFile, what, fail)
    with pytest.warns(RuntimeWarning, match="Input/output error"):
        below = left.children(other, offsets[1])
    assert chunks._copy is None
    of_left, of_right = plain.children(v, offsets[0])
    pairs = zip([*below, left, right], [*of_left.children(other, offsets[1]), of_left, of_right], strict=True)
    for mine, yours in pairs:
        for found, expected in zip(all_of(mine, v), all_of(yours, v), strict=True):
            assert_array_equal(found, expected)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("no rows today")])
def test_copy_is_closed_if_the_first_pass_fails(error, rng, monkeypatch):
    X, closed = make_rows("normal", rng), []
    close = CopiedRows.close
    monkeypatch.setattr(CopiedRows, "close", lambda copy: (closed.append(copy), close(copy)))

    def read():
        yield X, None
        raise error

    with pytest.raises(error if isinstance(error, type) else ValueError):
        ChunkedNode.root(LocalChunks(read, 3, copied=True))
    assert len(closed) == 1


@pytest.fixture
def large(monkeypatch):
    """Nodes of a few hundred rows count as large."""
    monkeypatch.setattr(_base, "FETCHED_CELLS", 0)
    for module in (_pursuit, _chunked, _mdh, _ncut):
        for name, number in (("COARSE_ABOVE", 300), ("COARSE_ROWS", 200)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, number)
    monkeypatch.setattr(_scout, "TESTED_ROWS", 500)


@pytest.fixture(scope="module")
def blobs():
    X, _ = make_blobs(2400, centers=CENTERS, random_state=0)
    return X[np.random.default_rng(1).permutation(len(X))]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [NCutH(4), MDH(4), PDDP(4), NCutH()], ids=str)
def test_tree_is_the_same_with_and_without_a_copy(model, dtype, blobs, monkeypatch):
    made = []
    close = LocalChunks.close

    def recorded(chunks):
        made.append(chunks._copy)
        close(chunks)

    monkeypatch.setattr(LocalChunks, "close", recorded)
    rows = held(blobs.astype(dtype), places=range(200, 2400, 200))
    with_copy = model.fit(rows).tree_
    assert any(copy is not None for copy in made)
    made.clear()
    monkeypatch.setenv(SETTING, "")
    assert model.fit(rows).tree_ == with_copy
    assert all(copy is None for copy in made)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_failed_fit_leaves_no_open_copy(error, blobs, monkeypatch):
    files, n_passes = [], 0
    make, divide = _copied.ScratchFile.__init__, _reductions.divide

    def recorded(file, folder):
        make(file, folder)
        files.append(file._file)

    def fail_at_the_second(*arguments):
        nonlocal n_passes
        n_passes += 1
        if n_passes > 1:
            raise error
        return divide(*arguments)

    monkeypatch.setattr(_copied.ScratchFile, "__init__", recorded)
    monkeypatch.setattr(_reductions, "divide", fail_at_the_second)
    with pytest.raises(error):
        NCutH(4).fit(held(blobs, places=[1000]))
    assert files
    assert all(file.closed for file in files)


FIT = """
import numpy as np
from ravine import NCutH
from ravine._outofcore import LocalChunks

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(120_000, 10)) + 9 * k for k in range(3)])[rng.permutation(360_000)]

def read():
    for part in np.array_split(X, 6):
        yield part, None
    print("read", flush=True)

model = NCutH(3, n_jobs=2).fit(LocalChunks(read, 10))
print(repr(model.tree_.normal.tobytes()), flush=True)
"""


def started(folder, extra=""):
    environment = {**os.environ, SETTING: str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(extra) + FIT],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", ["SIGKILL", "SIGINT", "SIGTERM"])
def test_process_that_is_ended_leaves_nothing(number, scratch):
    # A shell lets the programs that it starts in the background ignore an interrupt.
    process = started(scratch, "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n")
    assert process.stdout.readline() == "read\n"  # the copy is written
    if sys.platform == "linux":
        links = [os.readlink(link) for link in Path(f"/proc/{process.pid}/fd").iterdir()]
        assert any(str(scratch) in link for link in links)
    process.send_signal(getattr(signal, number))
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not list(scratch.iterdir())


def test_two_processes_at_once_have_copies_of_their_own(scratch):
    processes = [started(scratch) for _ in range(2)]
    found = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], found
    assert found[0][0] == found[1][0]
    assert found[0][0].count("read\n") == 2  # to copy the rows, and to draw the sample of the mixture
    assert not list(scratch.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="limits of processes")
def test_real_limit_on_files_falls_back_to_the_chunks(scratch):
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
    plain, limited = started(scratch), started(scratch, limit)
    expected, _ = plain.communicate(timeout=120)
    found, messages = limited.communicate(timeout=120)
    assert limited.returncode == 0, messages
    assert "File too large" in messages
    assert found.count("read\n") > expected.count("read\n")
    assert found.splitlines()[-1] == expected.splitlines()[-1]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not hold for root")
def test_read_only_folder_falls_back_to_the_chunks(scratch, rng):
    scratch.chmod(0o500)
    with pytest.warns(RuntimeWarning, match="cannot be written to"):
        assert ChunkedNode.root(copied(make_rows("normal", rng))).n_rows == 300
    scratch.chmod(0o700)


def test_folder_in_which_no_file_can_be_made_falls_back_to_the_chunks(rng, monkeypatch):
    def refuse(**options):
        raise PermissionError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    chunks = copied(make_rows("normal", rng))
    with pytest.warns(RuntimeWarning, match="Read-only file system"):
        assert ChunkedNode.root(chunks).n_rows == 300
    assert chunks._copy is None
