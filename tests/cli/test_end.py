"""A signal ends the command with its code and leaves no half file, at whatever moment it comes.

This file is also the program that is killed: `python test_end.py N FOLDER` imports everything once and forks a process
for each start, which costs milliseconds instead of seconds.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from ravine import IncrementalMDH, load, report
from ravine.cli import ENDINGS, _app, _cluster, main  # noqa: F401 — before the forks
from ravine.datasets import make_blobs

N_KILLS = 15

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

ENDS = {signal.SIGTERM: "terminated\n", signal.SIGHUP: "hung up\n", signal.SIGINT: "interrupted\n"}


def run(folder, before=lambda: None):
    """One start of the command in a process of its own, which says that it is ready; its number."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.dup2(os.open(folder / "err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            outputs = ["--out", folder / "labels.csv", "--model", folder / "model", "--report", folder / "page.html"]
            args = ["ravine", "cluster", folder.parent / "t.csv", *outputs, "--jobs", "1", "-q"]
            before()
            with patch.object(sys, "argv", list(map(str, args))):
                heed = signal.signal

                def say_ready(number, handler):
                    out = heed(number, handler)
                    if number == signal.SIGINT and handler not in (signal.SIG_DFL, signal.SIG_IGN):
                        os.write(writing, b".")
                    return out

                # All signals are heeded once the last one is; only then can one be sent.
                order = dict(sorted(ENDINGS.items(), key=lambda item: item[0] == "SIGINT"))
                with patch("ravine.cli.ENDINGS", order), patch("signal.signal", say_ready):
                    main()
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    return child


def ended(child):
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def check(folder, code, number):
    """What is there is whole; whether the command was ended by the signal."""
    files = {path.name for path in folder.iterdir()}
    assert files <= {"labels.csv", "model", "page.html", "err"}, files
    if "labels.csv" in files:
        assert (folder / "labels.csv").read_text().count("\n") == 601
    if "model" in files:
        load(folder / "model")
    if "page.html" in files:
        assert (folder / "page.html").read_text(encoding="utf-8").endswith("</html>")
    said = (folder / "err").read_text()
    if code == 0:
        assert len(files) == 4
        return False
    if code == -number:  # after all was done
        return False
    assert (code, said) == (128 + number, ENDS[number])
    return True


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def kill_at_random(parent, n_kills):
    """Ends at random moments; how many there were."""
    X, _ = make_blobs(600, centers=[[0, 0], [12, 0], [0, 12]], random_state=3)
    pd.DataFrame(X, columns=["a", "b"]).to_csv(parent / "t.csv", index=False)
    model = IncrementalMDH(n_jobs=1).fit(X)  # all that takes long the first time
    report.write(model, X, parent / "warm.html")
    folder = parent / "run"
    fresh(folder)
    began = time.perf_counter()
    assert ended(run(folder)) == 0
    lasts = time.perf_counter() - began
    rng = np.random.default_rng(0)
    n_killed = 0
    for start in range(4 * n_kills):
        if n_killed == n_kills:
            break
        fresh(folder)
        number = SIGNALS[start % 3]
        child = run(folder)
        time.sleep(rng.uniform(0, lasts))
        os.kill(child, number)
        n_killed += check(folder, ended(child), number)
    return n_killed


def test_a_signal_at_a_random_moment_leaves_whole_files_only(tmp_path):
    args = [sys.executable, __file__, str(N_KILLS), tmp_path]
    done = subprocess.run(args, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == N_KILLS


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i % 7 + 20 * (i % 2)},{i % 5}\n" for i in range(60)))
    return tmp_path / "t.csv"


@pytest.fixture
def handlers():
    """Those of a terminal, also where the tests run under nohup; those of this process come back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_a_file_is_written_ends_in_a_line_and_its_code(table, number, monkeypatch, capfd, handlers):
    def interrupted(*args, **options):
        assert list(table.parent.glob(".labels.csv.*.part"))
        os.kill(os.getpid(), number)
        time.sleep(10)

    monkeypatch.setattr("ravine.cli._labels.LabelWriter.add", interrupted)
    monkeypatch.setattr(sys, "argv", ["ravine", "cluster", str(table), "--out", str(table.parent / "labels.csv")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 128 + number
    assert capfd.readouterr().err == ENDS[number]
    assert [path.name for path in table.parent.iterdir()] == ["t.csv"]


def test_a_second_signal_ends_at_once_and_leaves_no_part(table):
    folder = table.parent / "run"
    folder.mkdir()
    shutil.copy(table, folder / "t.csv")
    program = f"""
import os, signal, time
import ravine.cli._labels
from pathlib import Path
from ravine.cli import main

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it

def stubborn(*args, **options):
    for number in (signal.SIGTERM, signal.SIGHUP):
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        except KeyboardInterrupt:
            print(len(list(Path({str(folder)!r}).glob(".*.part"))), flush=True)

ravine.cli._labels.LabelWriter.add = stubborn
main()
"""
    args = ["cluster", folder / "t.csv", "--out", folder / "labels.csv", "-q"]
    done = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (128 + signal.SIGHUP, "1\n")
    assert [path.name for path in folder.iterdir()] == ["t.csv"]


def test_a_hangup_that_was_ignored_stays_ignored(table, monkeypatch, handlers):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    monkeypatch.setattr("ravine.cli._labels.LabelWriter.add", lambda *args: os.kill(os.getpid(), signal.SIGHUP))
    monkeypatch.setattr(sys, "argv", ["ravine", "cluster", str(table), "--out", str(table.parent / "l.csv"), "-q"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code


def in_a_process(first, *args):
    """Run the command as its script does, after some lines of Python."""
    code = f"import atexit, sys\n{first}\nfrom ravine.cli import run\nrun()"
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=120)


def test_the_process_of_the_command_writes_all_and_calls_what_was_registered():
    done = in_a_process("atexit.register(lambda: print('bye'))", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\nbye\n")
    assert done.stdout.startswith("ravine ")


@pytest.mark.parametrize(("args", "code"), [(["--version"], 0), (["predict", "nowhere", "nowhere"], 2), (["no"], 2)])
def test_the_process_of_the_command_has_its_exit_code(args, code):
    assert in_a_process("", *args).returncode == code


def test_an_unexpected_error_has_its_traceback():
    done = in_a_process("import ravine.cli as cli\ndef main():\n    raise RuntimeError('odd')\ncli.main = main")
    assert done.returncode == 1
    assert done.stderr.endswith("RuntimeError: odd\n")
    assert "Traceback" in done.stderr


def test_the_script_is_the_process_of_the_command():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"] == {"ravine": "ravine.cli:run"}


if __name__ == "__main__":
    print(kill_at_random(Path(sys.argv[2]), int(sys.argv[1])))
