"""The command, as a user runs it: files in; labels, models and pages out; a line where something is wrong.

A process of its own takes seconds to start. It is there where the test is about one: pipes, signals, limits.
"""

import gzip
import json
import os
import resource
import signal
import subprocess
import sysconfig
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.commands import ravine_in_this_process

from ravine.datasets import make_blobs

RAVINE = Path(sysconfig.get_path("scripts")) / "ravine"


def ravine(*args, stdin=None, **options):
    """Run the command; text out, no terminal."""
    given = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    done = subprocess.run([RAVINE, *map(str, args)], capture_output=True, timeout=240, **given, **options)
    done.out, done.err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in done.err
    return done


@pytest.fixture(scope="module")
def table():
    X, y = make_blobs(600, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 0]], random_state=3)
    return pd.DataFrame(X, columns=["width", "height", "depth"]).round(3).assign(kind=np.array(["a", "b", "c"])[y])


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tour")
    table.to_csv(folder / "t.csv", index=False)
    table.to_csv(folder / "t.tsv", index=False, sep="\t")
    table.to_parquet(folder / "t.parquet")
    table.to_feather(folder / "t.feather")
    table.to_json(folder / "t.jsonl", orient="records", lines=True)
    np.save(folder / "t.npy", table[["width", "height", "depth"]].to_numpy())
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    (folder / "parts").mkdir()
    table[:200].to_csv(folder / "parts" / "1.csv", index=False)
    table[200:].to_parquet(folder / "parts" / "2.parquet")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    path = folder / "model.ravine"
    assert ravine_in_this_process("cluster", folder / "t.csv", "--model", path, "-q") == 0
    return path


@pytest.fixture(scope="module")
def labels(folder):
    """Labels of the table by the default method."""
    path = folder / "first.csv"
    assert ravine_in_this_process("cluster", folder / "t.csv", "--label", "kind", "--out", path, "-q") == 0
    return pd.read_csv(path)["cluster"].to_numpy()


def test_clusters_are_those_of_the_label_and_the_command_says_so(folder, table, labels, ravine_here):
    done = ravine_here("cluster", folder / "t.csv", "--label", "kind")
    assert done.returncode == 0
    assert done.out.startswith("3 clusters in 600 rows × 3 columns by imdh")
    assert "agreement with the labels: nmi 1.000, ari 1.000" in done.out
    assert (pd.crosstab(table["kind"], labels) > 0).sum().sum() == 3


@pytest.mark.parametrize(
    "name", ["t.tsv", "t.parquet", "t.feather", "t.jsonl", "t.npy", "t.csv.gz", "parts", "parts/*"]
)
def test_every_format_gives_the_same_labels(folder, labels, tmp_path, name, ravine_here):
    out = tmp_path / "labels.parquet"
    done = ravine_here("cluster", folder / name, "--out", out, *([] if name == "t.npy" else ["--drop", "kind"]))
    assert (done.returncode, done.err) == (0, "")
    np.testing.assert_array_equal(pd.read_parquet(out)["cluster"], labels)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_standard_input_to_standard_output(folder, labels, name, ravine_here):
    run = ravine if name == "t.csv" else ravine_here  # of the three, one comes through a pipe
    done = run("cluster", "-", "--label", "kind", "--out", "-", stdin=(folder / name).read_bytes())
    assert done.returncode == 0
    lines = done.out.splitlines()
    assert lines[0] == "row,cluster"
    np.testing.assert_array_equal([int(line.split(",")[1]) for line in lines[1:]], labels)
    assert "3 clusters in 600 rows" in done.err


@pytest.mark.parametrize("method", ["ncuth", "mdh", "pddp"])
def test_other_methods_find_the_same_groups_and_models_predict_their_labels(
    folder, labels, tmp_path, method, ravine_here
):
    out, model, again = tmp_path / "l.csv", tmp_path / "m.ravine", tmp_path / "again.csv"
    done = ravine_here(
        "cluster", folder / "t.csv", "--method", method, "--out", out, "--model", model, "--label", "kind"
    )
    assert done.returncode == 0
    found = pd.read_csv(out)["cluster"]
    assert len(set(zip(found, labels, strict=True))) == 3
    assert ravine_here("predict", model, folder / "t.parquet", "--out", again).returncode == 0
    assert out.read_bytes() == again.read_bytes()


def test_result_for_machines_is_one_json_object(folder, ravine_here):
    done = ravine_here("cluster", folder / "t.csv", "--label", "kind", "--clusters", 2, "--json")
    result = json.loads(done.out)
    assert result["n_clusters"] == 2
    assert sum(cluster["rows"] for cluster in result["clusters"]) == 600
    assert 0.5 < result["scores"]["nmi"] < 0.8


def test_quiet_prints_nothing(folder, ravine_here):
    done = ravine_here("cluster", folder / "t.csv", "-q")
    assert (done.returncode, done.out, done.err) == (0, "", "")


def test_words_left_out_are_named_and_can_be_encoded(folder, tmp_path, ravine_here):
    assert (
        "warning: columns left out because they are not numbers: kind; use --encode"
        in ravine_here("cluster", folder / "t.csv", "--scale").err
    )
    model = tmp_path / "m.ravine"
    assert ravine_here("cluster", folder / "t.csv", "--encode", "--model", model, "-q").returncode == 0
    assert json.loads(ravine_here("inspect", model, "--json").out)["columns"][-3:] == ["kind=a", "kind=b", "kind=c"]
    assert ravine_here("predict", model, folder / "t.parquet").out.count("\n") == 601
    new = tmp_path / "new.csv"
    new.write_text("width,height,depth,kind\n0,0,0,a\n0,0,0,new\n")
    done = ravine_here("predict", model, new)
    assert done.returncode == 1
    assert "a missing or unknown value in column 'kind=a'" in done.err
    assert ravine_here("predict", model, new, "--missing", "drop").out.splitlines()[2] == "1,"


def test_the_page_says_what_was_done_to_the_table(folder, tmp_path, ravine_here):
    page = tmp_path / "page.html"
    told = ["--method", "pddp", "--missing", "mean", "--report", page, "-q"]
    assert ravine_here("cluster", folder / "t.csv", *told).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "scaled to unit variance. Missing values, if any, were replaced" in text
    assert "Columns left out: kind." in text


def test_a_model_is_shown_cut_and_drawn(folder, model, tmp_path, ravine_here):
    shown = ravine_here("inspect", model)
    assert "IncrementalMDH" in shown.out
    assert "HyperplaneTree: 3 clusters, 2 cuts" in shown.out
    assert "width (" in shown.out
    coarse = tmp_path / "coarse.ravine"
    assert ravine_here("cut", model, "--clusters", 2, "--out", coarse).returncode == 0
    assert json.loads(ravine_here("inspect", coarse, "--json").out)["n_clusters"] == 2
    assert "HyperplaneTree: 2 clusters" in ravine_here("cut", model, "--clusters", 2).out
    both = [
        ravine_here("predict", m, folder / "t.csv", *more).out for m, more in ((coarse, ()), (model, ("--clusters", 2)))
    ]
    assert both[0] == both[1]
    page = tmp_path / "page.html"
    assert ravine_here("report", model, folder / "t.csv", "--label", "kind", "--out", page).returncode == 0
    assert page.read_text(encoding="utf-8").count("<html") == 1


def test_methods_are_compared_in_one_table_and_one_page(folder, tmp_path, ravine_here):
    page = tmp_path / "compare.html"
    options = ("--clusters", 3, "--label", "kind", "--report", page, "--json")
    done = ravine_here("compare", folder / "t.csv", "--methods", "imdh,pddp,kmeans", *options)
    found = json.loads(done.out)["methods"]
    assert [record["method"] for record in found] == ["imdh", "pddp", "kmeans"]
    assert all(record["n_clusters"] == 3 and record["ari"] == 1 and record["silhouette"] > 0.5 for record in found)
    text = page.read_text(encoding="utf-8")
    assert all(method in text for method in ("imdh", "pddp", "kmeans"))


def test_demo_writes_what_it_says(tmp_path, ravine_here, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = ravine_here("demo")
    assert done.returncode == 0
    assert "$ ravine cluster demo/digits.csv" in done.out
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "digits.csv",
        "labels.csv",
        "model.ravine",
        "report.html",
    }


def test_one_row_is_one_cluster(tmp_path, ravine_here):
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    done = ravine_here("cluster", tmp_path / "one.csv", "--out", "-", "--scale")
    assert (done.returncode, done.out) == (0, "row,cluster\n0,0\n")
    assert "no column is left to cluster" in ravine_here("cluster", tmp_path / "one.csv").err


def test_version_is_that_of_the_library():
    from ravine import __version__

    assert ravine("--version").out == f"ravine {__version__}\n"


GOOD = b"a,b\n" + b"".join(b"%d,%d\n" % (i % 7, i % 5) for i in range(60))

BAD_DATA = {
    "empty": (b"", (), "{file}: the file is empty"),
    "header only": (b"a,b\n", (), "{file}: there are no rows"),
    "ragged": (
        GOOD + b"1\n",
        (),
        "{file}: line 62: Expected 2 columns, got 1: 1: correct that line, or give the right --delimiter",
    ),
    "delimiter": (
        GOOD,
        ("--delimiter", ";"),
        "{file}: there is only one column, a,b: check --delimiter",
    ),
    "delimiter, by hand": (
        GOOD,
        ("--delimiter", ";", "--scale"),
        "{file}: none of the columns a,b contains numbers: check --delimiter and --decimal",
    ),
    "not UTF-8": (
        b"\xe4,b\n1,2\n",
        (),
        "{file}: the text is not utf-8: give its encoding with --encoding, for instance latin-1",
    ),
    "NaN": (
        GOOD + b"1,NaN\n2,\n",
        ("--scale",),
        "2 rows have missing or infinite values, first in row 60 (counted from 0) of {file}, a missing or "
        "unknown value in column 'b': use --missing drop to leave out such rows, or --missing mean to fill in "
        "column means",
    ),
    "infinity": (
        GOOD + b"inf,3\n",
        ("--scale",),
        "1 row has missing or infinite values, first in row 60 (counted from 0) of {file}, an infinite value in column "
        "'a': use --missing drop to leave out such rows, or --missing mean to fill in column means",
    ),
    "duplicate names": (b"a,a\n1,2\n", (), "{file}: the column name 'a' occurs twice: give each column its own name"),
    "too many clusters": (GOOD, ("--clusters", 100), "fewer than n_clusters=100: set n_clusters to at most 60"),
    "huge": (GOOD + b"1e300,1\n", ("--no-scale",), "the largest absolute value in X is 1e+300"),
}


@pytest.mark.parametrize("what", BAD_DATA)
def test_bad_data_end_in_one_line_and_exit_code_1(tmp_path, what, ravine_here):
    content, options, line = BAD_DATA[what]
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    done = ravine_here("cluster", file, *options, "--out", tmp_path / "labels.csv")
    assert done.returncode == 1
    last = done.err.splitlines()[-1]
    assert last.startswith("error: ")
    assert line.format(file=file) in last
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


BAD_USAGE = {
    "no such file": (("cluster", "nowhere.csv"), "nowhere.csv: there is no such file"),
    "no such column": (("cluster", "t.csv", "--columns", "a,z"), "t.csv: there is no column 'z'; choose from a, b"),
    "no such method": (("cluster", "t.csv", "--method", "magic"), "'magic' is not one of"),
    "no such option": (("cluster", "t.csv", "--fast"), "No such option: --fast"),
    "no command": (("clusters", "t.csv"), "No such command 'clusters'"),
    "no clusters": (("cluster", "t.csv", "--clusters", "0"), "greater than or equal to 1"),
    "kind of labels": (("cluster", "t.csv", "--out", "labels.xlsx"), "give the name of a .csv or .parquet file"),
    "no such model": (("predict", "nowhere.ravine", "t.csv"), "nowhere.ravine: there is no such file"),
    "k-means undecided": (("compare", "t.csv", "--methods", "kmeans"), "give it with --clusters"),
    "no such peer": (("compare", "t.csv", "--methods", "magic"), "there is no such method"),
    "folder missing": (("cluster", "t.csv", "--out", "nowhere/l.csv"), "nowhere: there is no such file or folder"),
}


@pytest.mark.parametrize("what", BAD_USAGE)
def test_bad_usage_ends_in_one_line_and_exit_code_2(tmp_path, what, ravine_here, monkeypatch):
    args, line = BAD_USAGE[what]
    (tmp_path / "t.csv").write_bytes(GOOD)
    monkeypatch.chdir(tmp_path)
    done = ravine_here(*args)
    assert done.returncode == 2
    assert done.out == ""
    (last,) = done.err.splitlines()
    assert last.startswith("error: ")
    assert line in last


def test_too_many_clusters_of_a_model_are_bad_usage(model, ravine_here):
    done = ravine_here("cut", model, "--clusters", 9)
    assert (done.returncode, done.err) == (
        2,
        "error: --clusters 9: the model has only 3; give a smaller number or fit a new model\n",
    )


def test_a_column_missing_at_predict_is_named(folder, model, table, ravine_here):
    done = ravine_here("predict", model, "-", stdin=table.drop(columns="height").to_csv(index=False).encode())
    assert (done.returncode, done.out) == (1, "")
    assert done.err == "error: standard input: there is no column 'height'; the columns are width, depth, kind\n"


def test_a_file_that_is_no_model_is_named(folder, ravine_here):
    done = ravine_here("predict", folder / "t.csv", folder / "t.csv")
    assert done.returncode == 1
    assert done.err.startswith(f"error: {folder / 't.csv'}")


def test_a_folder_without_permission_is_named_before_the_work_begins(folder, tmp_path, ravine_here):
    place = Path("/sys") if os.geteuid() == 0 else tmp_path
    tmp_path.chmod(0o500)
    done = ravine_here("cluster", folder / "t.csv", "--out", place / "labels.csv")
    assert done.returncode == 1
    assert done.err == f"error: {place}: no permission: choose another path or change the permissions\n"


def test_a_full_disk_leaves_no_file_behind(folder, tmp_path):
    def small_files_only():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = ravine("cluster", folder / "t.csv", "--out", tmp_path / "labels.csv", preexec_fn=small_files_only)
    assert done.returncode == 1
    assert done.err.splitlines()[-1].startswith("error: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_device_on_standard_output_is_told(folder):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [RAVINE, "cluster", folder / "t.csv", "--out", "-", "-q"], stdout=full, stderr=subprocess.PIPE, timeout=240
        )
    assert done.returncode == 1
    assert done.stderr.decode() == "error: the disk is full: free some space or write to another disk\n"


def test_an_interruption_leaves_no_half_file_behind(folder, tmp_path):
    some = pd.DataFrame(np.random.default_rng(0).normal(size=(20_000, 5))).to_csv(index=False, header=False)
    (tmp_path / "long.csv").write_text("a,b,c,d,e\n" + 20 * some)
    codes = []
    for pause in (1.0, 4.0):
        out = tmp_path / "labels.csv"
        args = [RAVINE, "cluster", tmp_path / "long.csv", "--out", out, "--report", tmp_path / "r.html"]
        with subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            time.sleep(pause)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=240)
        codes.append(process.returncode)
        if process.returncode != 0:
            assert process.returncode in (130, -signal.SIGINT)  # the latter before Python listens
            assert "Traceback" not in err.decode()
            assert {path.name for path in tmp_path.iterdir()} <= {"long.csv", "labels.csv", "r.html"}
            if out.exists():  # what is there was whole by then
                assert len(out.read_text().splitlines()) == 20 * 20_000 + 1
            if (tmp_path / "r.html").exists():
                assert (tmp_path / "r.html").read_text().rstrip().endswith("</html>")
        for path in tmp_path.glob("[!l]*"):
            path.unlink()
        out.unlink(missing_ok=True)
    assert any(codes)
