"""The commands import what they need, and no more: `benchmarks/startup.py` has the times."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ravine import MDH, IncrementalMDH, NCutH, save
from ravine.prepare import TableEncoder

HEAVY = ("sklearn", "scipy.stats", "pandas", "joblib", "matplotlib", "dask")
"""Modules that a saved tree does not need."""

LISTED = """
import sys
from ravine.cli import main
sys.argv[0] = "ravine"
try:
    main()
finally:
    print("imported", *sys.modules, file=sys.stderr)
"""


def ravine_alone(*args):
    """Run the command in a process of its own: the exit code, the output, and the imported modules."""
    done = subprocess.run([sys.executable, "-c", LISTED, *map(str, args)], capture_output=True, text=True)
    said, _, modules = done.stderr.rpartition("imported")
    return done.returncode, done.stdout, said, set(modules.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("startup")
    rng = np.random.default_rng(0)
    n_rows = 400
    is_far = np.arange(n_rows) % 2 == 0
    table = pd.DataFrame(
        {
            "age": np.where(is_far, 60, 20) + rng.normal(size=n_rows),
            "spend": np.where(is_far, 300, 100) + rng.normal(size=n_rows),
        }
    )
    mixed = table.assign(
        id=[f"C-{i:03d}" for i in range(n_rows)],
        city=rng.choice(["Bonn", "Ulm", "Trier"], n_rows),
        since=pd.date_range("2024-01-01", periods=n_rows).astype(str),
    )
    mixed.loc[::20, "age"] = np.nan
    table.to_csv(folder / "numbers.csv", index=False)
    table.to_parquet(folder / "numbers.parquet")
    mixed.to_csv(folder / "mixed.csv", index=False)
    mixed.to_parquet(folder / "mixed.parquet")
    for model in (NCutH(n_clusters=2), MDH(n_clusters=2), IncrementalMDH()):
        name = type(model).__name__
        save(model.fit(table), folder / f"{name}.ravine")
        pipe = Pipeline([("table", TableEncoder()), ("clusters", model)]).fit(mixed)
        save(pipe, folder / f"{name}-table.ravine", resume=False)
    save(make_pipeline(StandardScaler(), NCutH(n_clusters=2)).fit(table), folder / "scaled.ravine")
    return folder


FILES = [
    ("", "numbers.csv"),
    ("", "numbers.parquet"),
    ("-table", "mixed.csv"),
    ("-table", "mixed.parquet"),
]


@pytest.mark.parametrize(("suffix", "data"), FILES)
@pytest.mark.parametrize("method", ["NCutH", "MDH", "IncrementalMDH"])
def test_predict_imports_no_estimators(method, suffix, data, folder):
    code, out, _, modules = ravine_alone("predict", folder / f"{method}{suffix}.ravine", folder / data)
    assert code == 0
    assert out.count("\n") == 401
    assert "numba" in modules
    assert modules.isdisjoint(HEAVY)


@pytest.mark.parametrize(("suffix", "data"), FILES[1:3])
@pytest.mark.parametrize("method", ["NCutH", "IncrementalMDH"])
def test_report_and_explanation_import_no_estimators(method, suffix, data, folder, tmp_path):
    files = folder / f"{method}{suffix}.ravine", folder / data
    code, _, _, modules = ravine_alone("report", *files, "--out", tmp_path / "report.html")
    assert code == 0
    assert modules.isdisjoint(HEAVY)
    code, _, _, modules = ravine_alone("explain", *files, "--row", 3)
    assert code == 0
    assert modules.isdisjoint(HEAVY)


def test_fewer_clusters_and_other_options_import_no_estimators(folder, tmp_path):
    files = folder / "NCutH-table.ravine", folder / "mixed.csv"
    code, out, _, modules = ravine_alone("predict", *files, "--clusters", 1, "--out", tmp_path / "p.parquet", "--json")
    assert code == 0
    assert '"sizes": [' in out
    assert modules.isdisjoint(HEAVY)


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["predict", "--help"], ["cluster", "--help"]])
def test_help_imports_neither_numpy_nor_pyarrow(args):
    code, _, _, modules = ravine_alone(*args)
    assert code == 0
    assert modules.isdisjoint((*HEAVY, "numpy", "pyarrow", "scipy", "numba"))


def test_wrong_columns_are_reported_without_estimators(folder):
    code, _, said, modules = ravine_alone("predict", folder / "NCutH-table.ravine", folder / "numbers.csv")
    assert code == 1
    assert "there are no columns 'city', 'since'" in said or "there are no columns 'since', 'city'" in said
    assert modules.isdisjoint((*HEAVY, "numba"))


def test_pipeline_of_scikit_learn_is_read_whole(folder):
    code, out, _, modules = ravine_alone("predict", folder / "scaled.ravine", folder / "numbers.csv")
    assert code == 0
    assert out == ravine_alone("predict", folder / "NCutH.ravine", folder / "numbers.csv")[1]
    assert {"sklearn", "pandas"} <= modules


def test_pyarrow_makes_frames_after_pandas_was_kept_out():
    code = (
        "import sys, pyarrow as pa; from ravine.cli._data import keep_pandas_out\n"
        "keep_pandas_out(); keep_pandas_out(); table = pa.table({'a': pa.array([1, 2])}); table['a'].to_numpy()\n"
        "print('pandas' in sys.modules, table.to_pandas()['a'].sum(), '_NoPandas' in str(sys.meta_path))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "3", "False"]
