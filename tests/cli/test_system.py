"""What the command asks of the operating system."""

import os
import signal

import pytest

from ravine.cli._system import heeded_signals, memory_of_the_machine, sync


def test_memory_is_that_of_the_machine():
    psutil = pytest.importorskip("psutil")
    assert memory_of_the_machine() == pytest.approx(psutil.virtual_memory().total, rel=0.05)


def test_signals_that_the_system_does_not_have_are_left_out():
    assert heeded_signals(["SIGINT", "SIGNONE"]) == [signal.SIGINT]


def test_ignored_signals_are_left_out_but_for_the_interruption(monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda one: signal.SIG_IGN)
    assert heeded_signals(["SIGINT", "SIGTERM"]) == [signal.SIGINT]


def test_files_and_folders_are_synced(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("content")
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    sync(tmp_path / "file")
    sync(tmp_path)
    assert len(synced) == (2 if os.name == "posix" else 1)
    for number in synced:
        with pytest.raises(OSError, match="descriptor"):
            os.fstat(number)
