"""How long the commands take that use a saved model, on a small file: nearly all of it is start.

    python -m benchmarks.startup --out results

The digits of scikit-learn (1,797 rows, 64 columns) and a table of as many rows with words, dates and gaps are written
to a folder, with models of three methods, alone and as `ravine cluster` saves them. Every command runs once to fill the
caches, and then as often as asked for, the commands in turn. A line has the median of the CPU seconds, user and system
together, and which large packages the command imports. `--before FOLDER` is the folder `src` of another version, which
is measured in the same turns. Writes startup.csv, startup.md and startup.json.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import report, stored

NAME = "startup"
N_ROWS = 1797
PACKAGES = ("sklearn", "scipy.stats", "pandas", "numba", "pyarrow", "numpy")

START = "import sys; sys.argv[0] = 'ravine'; from ravine import cli; getattr(cli, 'run', cli.main)()"
LISTED = """
import sys
sys.argv[0] = "ravine"
from ravine.cli import main
try:
    main()
finally:
    print("imported", *sys.modules, file=sys.stderr)
"""
"""The command, and the command that lists the modules it has imported."""


def write_files(folder: Path) -> None:
    """Write the tables and the models."""
    from sklearn.datasets import load_digits
    from sklearn.pipeline import Pipeline

    from ravine import MDH, IncrementalMDH, NCutH, save
    from ravine.prepare import TableEncoder

    digits = pd.DataFrame(load_digits().data, columns=[f"p{j}" for j in range(64)])
    digits.to_csv(folder / "digits.csv", index=False)
    digits.to_parquet(folder / "digits.parquet")
    table = mixed_table()
    table.to_csv(folder / "table.csv", index=False)
    for model in (NCutH(n_clusters=10), MDH(n_clusters=10), IncrementalMDH(n_clusters=10)):
        name = type(model).__name__
        save(model.fit(digits), folder / f"{name}.ravine", resume=False)
        steps = [("table", TableEncoder()), ("clusters", model)]
        save(Pipeline(steps).fit(digits), folder / f"{name}-encoded.ravine", resume=False)
        steps = [("table", TableEncoder()), ("clusters", model.set_params(n_clusters=3))]
        save(Pipeline(steps).fit(table), folder / f"{name}-table.ravine", resume=False)


def mixed_table(seed: int = 0) -> pd.DataFrame:
    """A table with two clusters, an identifier, words, dates and gaps."""
    rng = np.random.default_rng(seed)
    is_far = np.arange(N_ROWS) < N_ROWS // 2
    table = pd.DataFrame(
        {
            "id": [f"C-{i:05d}" for i in range(N_ROWS)],
            "age": np.where(is_far, 60, 30) + rng.normal(0, 3, N_ROWS).round(1),
            "spend": np.where(is_far, 300, 100) + rng.normal(0, 20, N_ROWS).round(2),
            "city": rng.choice(["Bonn", "Trier", "Ulm"], N_ROWS),
            "since": pd.date_range("2020-01-01", periods=N_ROWS, freq="7h").astype(str),
        }
    )
    table.loc[::17, "age"] = np.nan
    return table


def commands(folder: Path) -> dict[str, list[str]]:
    """The commands by what is shown of them."""
    found = {"ravine --version": ["--version"], "ravine --help": ["--help"], "ravine predict --help": ["predict", "-h"]}
    for method in ("NCutH", "MDH", "IncrementalMDH"):
        for model, data in (("", "digits.parquet"), ("-encoded", "digits.csv")):
            files = [f"{method}{model}.ravine", data]
            found[f"ravine predict {' '.join(files)}"] = ["predict", *_in(folder, files)]
    for command, options in {"predict": [], "explain": ["--row", "3"], "report": ["--out", "report.html"]}.items():
        files = ["NCutH-table.ravine", "table.csv"]
        found[f"ravine {command} {' '.join(files)}"] = [command, *_in(folder, files), *_in_folder(folder, options)]
    files = ["NCutH-encoded.ravine", "digits.csv"]
    found[f"ravine report {' '.join(files)}"] = ["report", *_in(folder, files), "--out", str(folder / "report.html")]
    found["ravine inspect NCutH-table.ravine"] = ["inspect", *_in(folder, ["NCutH-table.ravine"])]
    return found


def _in(folder: Path, names: list[str]) -> list[str]:
    return [str(folder / name) for name in names]


def _in_folder(folder: Path, options: list[str]) -> list[str]:
    return [str(folder / word) if word.endswith(".html") else word for word in options]


def cpu_seconds(args: list[str], source: Path | None) -> float:
    """Seconds of user and system time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", START, *args], check=True, capture_output=True, env=_environment(source))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def imported(args: list[str], source: Path | None) -> tuple[int, str]:
    """Number of modules that a command imports, and the large packages among them."""
    done = subprocess.run(
        [sys.executable, "-c", LISTED, *args], check=True, capture_output=True, text=True, env=_environment(source)
    )
    modules = set(done.stderr.rpartition("imported")[2].split())
    return len(modules), ", ".join(name for name in PACKAGES if name in modules)


def _environment(source: Path | None) -> Mapping[str, str]:
    return os.environ if source is None else {**os.environ, "PYTHONPATH": str(source.resolve())}


def measured(folder: Path, versions: Mapping[str, Path | None], repeats: int, only: str) -> pd.DataFrame:
    """One line for each version and command that contains `only`; commands and versions take turns."""
    found = {shown: args for shown, args in commands(folder).items() if only in shown}
    cases = [(shown, version) for shown in found for version in versions]
    about = {case: imported(found[case[0]], versions[case[1]]) for case in cases}  # also fills the caches
    seconds: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    for _ in range(repeats):
        for shown, version in cases:
            seconds[shown, version].append(cpu_seconds(found[shown], versions[version]))
    lines: list[dict[str, Any]] = []
    for shown, version in cases:
        n_modules, packages = about[shown, version]
        times = seconds[shown, version]
        record = {"command": shown, "version": version, "cpu_s": statistics.median(times), "least_cpu_s": min(times)}
        lines.append({**record, "n_modules": n_modules, "packages": packages})
    return pd.DataFrame(lines)


def page(stem: Path) -> str:
    table = stored.read_table(stem, keep_default_na=False)
    formats = {"command": "`{}`", "version": "{}", "packages": "{}", "n_modules": "{:,}", "cpu_s": "{:.2f}"}
    formats |= {"least_cpu_s": "{:.2f}"}
    about = (
        f"{N_ROWS:,} rows. `cpu_s` is the median of the user and system time, `least_cpu_s` the least of them. Caches "
        "are warm. Other work on the cores makes all of the times longer."
    )
    parts = [report.section("CPU time and imports", about, report.formatted(table, formats, text=3))]
    return stored.page("The start of the commands that use a saved model", stem, parts)


def main() -> None:
    """Measure, print and write."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--repeats", type=int, default=5, help="runs of each command (5)")
    cli.add_argument("--only", default="", metavar="TEXT", help="measure only the commands that contain this text")
    cli.add_argument("--before", type=Path, metavar="SRC", help="folder src of another version, measured as well")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:], ["numba", "pyarrow", "scipy", "pandas", "typer"])
    versions = {**({} if args.before is None else {"before": args.before}), "now": None}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_files(Path(folder))
        table = measured(Path(folder), versions, args.repeats, args.only)
    stored.record(stem, entry, anew=True)
    table.to_csv(stem.with_suffix(".csv"), index=False, float_format="%.3f", lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
