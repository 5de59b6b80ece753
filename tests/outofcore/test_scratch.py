import os
import tempfile
from collections import namedtuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ravine._outofcore import _scratch
from ravine._outofcore._scratch import SETTING, NoSpaceError, ScratchFile, find_folder, is_switched_off

Usage = namedtuple("Usage", ["total", "used", "free"])


@pytest.fixture
def disks(monkeypatch):
    """Free bytes by folder, in place of those of this machine; other folders do not exist."""
    free = {}

    def disk_usage(folder):
        if folder not in free:
            raise FileNotFoundError(2, "No such file or directory")
        return Usage(0, 0, free[folder])

    monkeypatch.setattr("shutil.disk_usage", disk_usage)
    monkeypatch.setattr(os, "access", lambda folder, mode: True)
    monkeypatch.setattr(_scratch, "_is_in_memory", lambda folder: False)
    monkeypatch.delenv(SETTING, raising=False)
    return free


def test_folder_is_that_of_the_setting(disks, monkeypatch):
    disks.update({tempfile.gettempdir(): 1000, "/large": 1000})
    assert find_folder(10) == (tempfile.gettempdir(), 900)
    monkeypatch.setenv(SETTING, "/large")
    assert find_folder(10) == ("/large", 900)


def test_empty_setting_switches_copies_off(monkeypatch):
    monkeypatch.delenv(SETTING, raising=False)
    assert not is_switched_off()
    monkeypatch.setenv(SETTING, "")
    assert is_switched_off()


def test_folder_must_have_more_space_than_the_copy_takes(disks, monkeypatch):
    monkeypatch.setenv(SETTING, "/large")
    disks["/large"] = 10_000_000_000
    assert find_folder(9_000_000_000)[0] == "/large"
    with pytest.raises(NoSpaceError, match=r"/large has 10.0 GB free and the copy takes 9.1 GB"):
        find_folder(9_100_000_000)


@pytest.mark.skipif(os.name != "posix", reason="other systems have one folder for temporary files")
def test_second_folder_is_used_if_the_first_is_full_or_in_memory(disks, monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/first")
    disks.update({"/first": 100, "/var/tmp": 1000})
    assert find_folder(10)[0] == "/first"
    assert find_folder(500)[0] == "/var/tmp"
    monkeypatch.setattr(_scratch, "_is_in_memory", lambda folder: folder == "/first")
    assert find_folder(10)[0] == "/var/tmp"
    monkeypatch.setattr(_scratch, "_is_in_memory", lambda folder: True)
    with pytest.raises(NoSpaceError, match="held in memory"):
        find_folder(10)


def test_setting_that_is_no_folder_is_named(disks, monkeypatch):
    disks[tempfile.gettempdir()] = 1000
    monkeypatch.setenv(SETTING, "/nowhere")
    with pytest.raises(NoSpaceError, match=r"/nowhere cannot be used \(No such file or directory\)"):
        find_folder(10)


def test_read_only_folder_is_named(disks, monkeypatch):
    disks["/fixed"] = 1000
    monkeypatch.setenv(SETTING, "/fixed")
    monkeypatch.setattr(os, "access", lambda folder, mode: False)
    with pytest.raises(NoSpaceError, match="/fixed cannot be written to"):
        find_folder(10)


def test_type_of_the_innermost_mount_decides_what_is_in_memory(monkeypatch):
    text = "disk / ext4 rw 0 0\nmem /tmp tmpfs rw 0 0\ndisk /tmp/in\\040it ext4 rw 0 0\n"
    monkeypatch.setattr("pathlib.Path.read_text", lambda path: text)
    assert not _scratch._is_in_memory("/home")
    assert _scratch._is_in_memory("/tmp/some")
    assert not _scratch._is_in_memory("/tmp/in it")


@pytest.mark.parametrize("positioned", [True, False])
def test_file_returns_what_was_written_and_has_no_name(positioned, tmp_path, monkeypatch, rng):
    if not positioned:  # as on Windows
        monkeypatch.delattr(os, "preadv", raising=False)
        monkeypatch.delattr(os, "pwrite", raising=False)
    file, X = ScratchFile(str(tmp_path)), rng.normal(size=(50, 3))
    file.write(24 * 50, X)
    file.write(0, X[::-1])
    file.write(0, X[:0])
    if os.name == "posix":
        assert not list(tmp_path.iterdir())
    for start, expected in ((0, X[::-1]), (24 * 50, X), (24 * 40, np.concatenate([X[::-1], X])[40:60])):
        out = np.empty_like(expected)
        file.read(start, out)
        assert_array_equal(out, expected)
    with pytest.raises(OSError, match="shorter"):
        file.read(24 * 60, np.empty((50, 3)))
    file.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="needs reads at a position")
def test_short_reads_and_writes_are_continued(tmp_path, monkeypatch, rng):
    read, write = os.preadv, os.pwrite
    monkeypatch.setattr(os, "preadv", lambda fd, buffers, position: read(fd, [buffers[0][:7]], position))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, position: write(fd, data[:5], position))
    file, X, out = ScratchFile(str(tmp_path)), rng.normal(size=20), np.empty(20)
    file.write(3, X)
    file.read(3, out)
    file.close()
    assert_array_equal(out, X)
