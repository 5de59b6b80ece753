"""Files are written whole, through links, into pipes and devices, and by one process at a time."""

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from ravine import PDDP, _files, load, report, save
from ravine._files import LockedError, Place, check_writable, is_standard_output, lock_file, locked, written_whole

NOBODY = 65534


def write(path, content="new"):
    with written_whole(path) as place:
        place.write_text(content)


def parts(folder):
    return [path.name for path in Path(folder).rglob("*.part")]


@contextmanager
def another_user():
    """Somebody without the rights of root, if this is root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture(scope="module")
def model():
    return PDDP(n_clusters=2, criterion="mean").fit(np.array([[0.0], [1.0], [9.0]]))


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "labels.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to("again.csv")
    (tmp_path / "again.csv").symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert (tmp_path / "again.csv").is_symlink()
    assert not target.is_symlink()
    assert target.read_text() == "new"


def test_a_link_to_nothing_gets_its_file(tmp_path):
    (tmp_path / "link").symlink_to("target")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "a")


def test_of_several_names_only_the_given_one_gets_the_new_content(tmp_path):
    (tmp_path / "a").write_text("old")
    os.link(tmp_path / "a", tmp_path / "b")
    write(tmp_path / "a")
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("new", "old")


@contextmanager
def reader(fifo):
    """Reads the pipe beside; a list that has the content at the end."""
    os.mkfifo(fifo)
    content = []
    thread = threading.Thread(target=lambda: content.append(fifo.read_bytes()))
    thread.start()
    try:
        yield content
    finally:
        thread.join(20)


def test_labels_models_and_pages_go_into_a_pipe(tmp_path, model):
    fifo = tmp_path / "pipe"
    with reader(fifo) as content:
        save(model, fifo)
    (tmp_path / "model").write_bytes(content[0])
    assert load(tmp_path / "model").tree_ == model.tree_
    assert stat.S_ISFIFO(os.stat(fifo).st_mode)
    fifo.unlink()
    with reader(fifo) as content:
        report.write(model, [[0.0], [1.0], [9.0]], fifo)
    assert content[0].rstrip().endswith(b"</html>")


def test_a_device_stays_a_device(tmp_path):
    """A terminal, since nothing can be renamed over it: what the tests do never harms the machine, even as root."""
    controller, terminal = os.openpty()
    with os.fdopen(controller, "rb", 0) as screen, os.fdopen(terminal):
        name = os.ttyname(terminal)
        (tmp_path / "link").symlink_to(name)
        for path in (name, tmp_path / "link"):
            write(path)
            assert screen.read(3) == b"new"
        assert stat.S_ISCHR(os.stat(name).st_mode)
        assert (tmp_path / "link").is_symlink()
    assert not Place("/dev/null").is_plain
    assert is_standard_output("/dev/stdout")


def test_standard_output_is_written_where_it_stands_also_in_a_file(capfd, tmp_path):
    print("before")
    write("/dev/fd/1", "whole\n")
    print("after")
    assert capfd.readouterr().out == "before\nwhole\nafter\n"
    with open(tmp_path / "file", "a+b") as file:
        file.write(b"before ")
        file.flush()
        write(f"/dev/fd/{file.fileno()}")
        file.write(b" after")
    assert (tmp_path / "file").read_text() == "before new after"


def test_a_socket_is_refused_and_stays():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(folder + "/socket")
        for act in (write, check_writable):
            with pytest.raises(OSError, match="this is a socket"):
                act(folder + "/socket")
        assert stat.S_ISSOCK(os.stat(folder + "/socket").st_mode)


def test_nothing_goes_into_a_pipe_after_an_error(capfd):
    with suppress(ZeroDivisionError), written_whole("/dev/fd/1") as place:
        place.write_text(f"half {1 // 0}")
    assert capfd.readouterr().out == ""
    assert not place.exists()


def test_owner_group_and_permissions_stay(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    owner = (NOBODY, NOBODY) if os.geteuid() == 0 else (os.getuid(), os.getgid())
    os.chown(path, *owner)
    write(path)
    status = path.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o640, *owner)


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "file")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.fixture
def open_folder():
    """A folder that another user can reach."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_a_file_that_may_be_written_is_also_where_its_folder_may_not(open_folder, monkeypatch):
    path, elsewhere = open_folder / "file", open_folder / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    path.write_text("old and longer")
    path.chmod(0o666)
    if os.geteuid() != 0:
        open_folder.chmod(0o555)
    inode = path.stat().st_ino
    with another_user():
        check_writable(path)
        write(path)
        with pytest.raises(PermissionError):
            write(open_folder / "other")
    open_folder.chmod(0o755)
    assert (path.read_text(), path.stat().st_ino) == ("new", inode)
    assert parts(open_folder) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
def test_a_file_of_another_user_keeps_its_owner_where_that_cannot_be_given(open_folder):
    path = open_folder / "file"
    path.write_text("old")
    path.chmod(0o666)
    open_folder.chmod(0o777)
    with another_user():
        write(path)
    assert (path.read_text(), path.stat().st_uid) == ("new", 0)
    open_folder.chmod(0o1777)
    with another_user():
        write(path, "sticky")
    assert path.read_text() == "sticky"
    assert parts(open_folder) == []


def test_a_protected_file_is_not_replaced(open_folder):
    path = open_folder / "file"
    path.write_text("old")
    path.chmod(0o444)
    open_folder.chmod(0o777)
    with another_user():
        for act in (write, check_writable):
            with pytest.raises(PermissionError):
                act(path)
    assert path.read_text() == "old"


def test_a_file_that_cannot_be_moved_over_is_written_in_place(tmp_path, monkeypatch):
    def busy(self, target):
        raise OSError(errno.EBUSY, "Device or resource busy")

    path = tmp_path / "mounted"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", busy)
    write(path)
    assert path.read_text() == "new"
    assert parts(tmp_path) == []
    with pytest.raises(OSError, match="busy"):
        write(tmp_path / "new")
    assert parts(tmp_path) == []


def test_a_long_name_can_be_written(tmp_path):
    path = tmp_path / (120 * "\u00e4" + ".csv")
    write(path)
    assert path.read_text() == "new"


def test_names_of_one_file_are_the_same_place(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "also").symlink_to("folder")
    names = [tmp_path / "folder" / "file", tmp_path / "also" / "file", tmp_path / "folder" / ".." / "also" / "file"]
    other = Place(tmp_path / "folder" / "other")
    (tmp_path / "link").symlink_to("folder/file")
    for _ in range(2):
        assert all(Place(tmp_path / "link").is_same(Place(name)) for name in names)
        assert not any(other.is_same(Place(name)) for name in names)
        names[0].touch()
    os.link(names[0], tmp_path / "hard")
    assert Place(tmp_path / "hard").is_same(Place(names[1]))
    assert not Place(tmp_path / "File").is_same(Place(tmp_path / "fil\u00e9"))


def test_case_decides_about_new_files_where_it_does_in_the_folder(tmp_path, monkeypatch):
    (tmp_path / "probe").touch()
    tells_case = not (tmp_path / "PROBE").exists()
    assert Place(tmp_path / "a.csv").is_same(Place(tmp_path / "A.csv")) is not tells_case
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self: exists(self) or exists(self.with_name(self.name.lower())))
    assert Place(tmp_path / "a.csv").is_same(Place(tmp_path / "A.csv"))


LIVES = """
import os, signal, sys
from ravine._files import written_whole
with written_whole(sys.argv[1]) as place:
    print(place, flush=True)
    sys.stdin.read()
"""


@contextmanager
def writer(path):
    """Another process that is writing the file."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", LIVES, path], **pipes) as process:
        part = Path(process.stdout.readline().strip())
        assert part.exists()
        yield process, part
        process.kill()


def test_parts_of_dead_processes_are_removed_and_those_of_living_ones_never(tmp_path):
    path = tmp_path / "labels.csv"
    foreign = tmp_path / ".labels.csv.part"
    foreign.touch()
    with writer(path) as (process, part):
        write(path, "other")
        check_writable(path)
        assert part.exists()
        process.stdin.close()
        assert process.wait(20) == 0
    assert path.read_text() == ""
    with writer(path) as (process, part):
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        assert part.exists()
        write(tmp_path / "other.csv")
        assert part.exists()
        check_writable(path)
        assert not part.exists()
    assert {file.name for file in tmp_path.iterdir()} == {"labels.csv", ".labels.csv.part", "other.csv"}


def test_where_there_are_no_locks_leftovers_stay(tmp_path, monkeypatch):
    path = tmp_path / "labels.csv"
    with writer(path) as (process, part):
        process.kill()
        process.wait(20)
        monkeypatch.setattr(_files, "lock_file", lambda file: "none")
        write(path)
        assert part.exists()


def test_a_part_that_was_taken_for_a_leftover_is_made_again(tmp_path, monkeypatch):
    places, lock = [], _files.lock_file

    def lose(file):
        if not places:
            places.extend(tmp_path.glob(".*.part"))
            places[0].unlink()
        return lock(file)

    monkeypatch.setattr(_files, "lock_file", lose)
    write(tmp_path / "labels.csv")
    assert len(places) == 1
    assert (tmp_path / "labels.csv").read_text() == "new"


def test_an_interruption_at_any_moment_leaves_no_part(tmp_path):
    """It comes before each line of the module in turn, until the file is written."""
    for n_lines in count():
        left = [n_lines]
        before = sys.gettrace()
        sys.settrace(partial(interrupt, left))
        try:
            write(tmp_path / "file")
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        _files.remove_parts()  # as the command does where an interruption came while it was cleaning up
        assert parts(tmp_path) == []
        _files._parts.clear()
    assert n_lines > 50


def interrupt(left, frame, event, arg):
    if frame.f_code.co_filename != _files.__file__:
        return None
    if event == "line":
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
    return partial(interrupt, left)


def test_a_lock_says_who_has_it_and_is_gone_with_its_process(tmp_path):
    path = tmp_path / "lock"
    program = (
        "import sys; from ravine._files import locked\n"
        "with locked(sys.argv[1], 'wait'): print(flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program, path], **pipes) as process:
        process.stdout.readline()
        who = rf"in use by process {process.pid} on {socket.gethostname()} since \d{{4}}-\d\d-\d\d .*: do something"
        with pytest.raises(LockedError, match=who), locked(path, "do something"):
            pass
        process.kill()
        process.wait(20)
    with locked(path, "wait") as is_held:
        assert is_held
        assert path.read_text().startswith(f"process {os.getpid()} on ")
    assert not path.exists()


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    path, lock, n_calls = tmp_path / "lock", _files.lock_file, []

    def lose(file):
        if not n_calls:
            path.unlink()
        n_calls.append(file)
        return lock(file)

    monkeypatch.setattr(_files, "lock_file", lose)
    with locked(path, "wait") as is_held:
        assert is_held
        assert path.exists()
    assert len(n_calls) == 2


def test_a_file_system_without_locks_is_told_from_a_lock_that_is_held(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    for number, outcome in ((errno.ENOLCK, "none"), (errno.ENOTSUP, "none"), (errno.EAGAIN, "held")):

        def fail(file, how, number=number):
            raise OSError(number, "")

        monkeypatch.setattr(fcntl, "flock", fail)
        with open(tmp_path / "file", "wb") as file:
            assert lock_file(file.fileno()) == outcome
    monkeypatch.setattr(_files, "lock_file", lambda file: "none")
    with locked(tmp_path / "lock", "wait") as is_held:
        assert not is_held
