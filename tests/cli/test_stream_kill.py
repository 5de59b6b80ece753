"""A stream that is killed again and again ends with the files of one that never was.

This file is also the program that is killed: `python test_stream_kill.py HOW METHOD FOLDER` imports everything once and
forks a process for each start, which costs milliseconds instead of seconds.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ravine._io import TextFormat
from ravine.cli._lines import Sink
from ravine.cli._rows import StreamOptions
from ravine.cli._screen import Screen
from ravine.cli._stream import Plan, stream
from ravine.datasets import make_blobs

N_KILLS = 30

METHOD = sys.argv[2] if __name__ == "__main__" else ""


def write_rows(path, n_rows):
    X, y = make_blobs(n_rows, centers=[[0, 0], [12, 0], [0, 12]], random_state=3)
    lines = [f"{a},{b},class {kind}\n" for (a, b), kind in zip(X.round(3), y, strict=True)]
    for bad in range(7, n_rows, 60):
        lines[bad] = f"{bad},oops,class 0\n"
    path.write_text("a,b,kind\n" + "".join(lines))


def run(folder, every):
    """One start of the command; the files are beside the folder of the checkpoint."""
    out, events = folder / "out", folder / "events"
    plan = Plan(METHOD, 50, n_jobs=1, out=out, events=events, checkpoint=folder / "kept", every=every)
    options = StreamOptions(TextFormat(), skip_bad=True, label="kind")
    stream(str(folder.parent / "t.csv"), options, plan, Screen(quiet=True))


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def start(folder, every, before=lambda: None):
    """A process of its own that runs the command."""
    child = os.fork()
    if child == 0:
        before()
        run(folder, every)
        os._exit(0)
    return child


def ended(child):
    """Whether the process came to its end; False if it was killed."""
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), code
    return code == 0


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def kill_at_random(parent):
    """Kill at moments between the start and the end; returns how often a run was killed, and how often it ended."""
    write_rows(parent / "t.csv", 600)
    whole, parts = parent / "whole", parent / "parts"
    fresh(whole)
    run(whole, 100)
    fresh(parts)
    began = time.perf_counter()
    assert ended(start(parts, 100))
    lasts = time.perf_counter() - began
    fresh(parts)
    rng = np.random.default_rng(0)
    n_killed = n_ended = 0
    while n_killed < N_KILLS or not n_ended:
        child = start(parts, 100)
        time.sleep(rng.uniform(0, 0.7 * lasts if n_killed < N_KILLS else 2 * lasts))
        os.kill(child, signal.SIGKILL)
        if ended(child):
            assert files(parts) == files(whole)
            fresh(parts)
            n_ended += 1
        else:
            n_killed += 1
    return n_killed, n_ended


def kill_at_every_step(parent):
    """Kill before each write, sync, renaming and removal in turn; returns the number of steps."""
    write_rows(parent / "t.csv", 160)
    whole, parts = parent / "whole", parent / "parts"
    fresh(whole)
    run(whole, 100)
    n_steps = 0
    while True:
        fresh(parts)
        if ended(start(parts, 100, partial(die_at_step, n_steps))):
            return n_steps
        assert ended(start(parts, 100))
        assert files(parts) == files(whole)
        n_steps += 1


def die_at_step(number):
    left = [number]

    def deadly(function):
        def step(*args, **options):
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return function(*args, **options)

        return step

    for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "write_text"), (Sink, "write")):
        setattr(owner, name, deadly(getattr(owner, name)))


def program(how, method, folder):
    done = subprocess.run([sys.executable, __file__, how, method, folder], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [int(number) for number in done.stdout.split()]


@pytest.mark.parametrize("method", ["stream", "hsdc"])
def test_files_and_model_are_the_same_after_kills_at_random_moments(tmp_path, method):
    n_killed, n_ended = program("random", method, tmp_path)
    assert n_killed >= N_KILLS
    assert n_ended >= 1


@pytest.mark.parametrize("method", ["stream", "imdh"])
def test_files_and_model_are_the_same_after_a_kill_at_any_step(tmp_path, method):
    (n_steps,) = program("steps", method, tmp_path)
    assert n_steps > 30


if __name__ == "__main__":
    how, _, folder = sys.argv[1:]
    found = kill_at_random(Path(folder)) if how == "random" else (kill_at_every_step(Path(folder)),)
    print(*found)
