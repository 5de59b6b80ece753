"""Count in how many rows an exported model differs from `predict`, and how large and how fast the exports are.

    python -m benchmarks.exports DATA --out results

DATA is a folder of Parquet files with numbers and a column `label`. Three models are fitted to up to 2,000 random rows
of each file, and exported to ONNX, Python and SQL, which runs in SQLite and in DuckDB. Their labels are compared with
those of `predict` on rows of three kinds: these rows; rows on the cuts, projected onto them and one float beside; and
rows of 0, 1 and ±1e150. A difference is explained if `ravine.export.within_rounding` finds the row. Long SQL is slow:
it labels fewer of the rows.

The rows are also rounded to float32 and labeled by a graph that takes float32. Writes exports.csv, exports_float32.csv,
exports.md and exports.json. A file is written when it is done, and a later run leaves it out.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import report, stored
from benchmarks.runner import find
from benchmarks.worker import DataSet, load
from ravine import PDDP, IncrementalMDH, NCutH
from ravine.export import to_json, to_onnx, to_python, to_sql, within_rounding
from ravine.tree import HyperplaneTree

NAME = "exports"
PACKAGES = ("onnx", "onnxruntime", "duckdb")

N_ODD = 200
"""Number of rows of each kind but those of the file, at most."""

MOST_WORK = 1e8
"""SQL labels so many rows that their number times the length of the query is at most this."""

FEWEST_ROWS = 30
"""SQL labels at least this many rows of each kind."""

KINDS = ("data", "cuts", "1e150")

Rows = NDArray[np.float64]
Labels = NDArray[np.int64]

MODELS: dict[str, Callable[[int], Any]] = {
    "IncrementalMDH": lambda n_clusters: IncrementalMDH(),
    "NCutH, scaled": lambda n_clusters: make_pipeline(StandardScaler(), NCutH(n_clusters, outliers="label")),
    "PDDP": lambda n_clusters: PDDP(n_clusters, criterion="mean"),
}
"""Functions of the number of classes. The first two fit a mixture, which decides about labels or about outliers."""


def rows_of(model: Any, X: Rows, rng: np.random.Generator) -> dict[str, Rows]:
    """Rows of each kind."""
    tree: HyperplaneTree = model[-1].tree_ if hasattr(model, "steps") else model.tree_
    Z = model[0].transform(X) if hasattr(model, "steps") else X
    on_cuts = [np.empty((0, X.shape[1]))]
    for node in rng.permutation(tree.cuts):
        some = Z[rng.choice(len(Z), min(len(Z), 20), replace=False)]
        on_cuts.append(some - np.outer(some @ tree.normal[node] - tree.offset[node], tree.normal[node]))
    beside = np.vstack(on_cuts)[: N_ODD // 2]
    if hasattr(model, "steps"):
        beside = model[0].inverse_transform(beside) if len(beside) else beside
    huge = rng.choice([-1e150, 0.0, 1.0, 1e150], size=(N_ODD, X.shape[1]))
    return {"data": X, "cuts": np.vstack([beside, np.nextafter(beside, np.inf)]), "1e150": huge}


# A reader takes what was written and returns the labels of rows


def in_onnx(graph: Any, X: NDArray[Any]) -> Labels:
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"X": X})[0])


def in_python(source: str, X: Rows) -> Labels:
    scope: dict[str, Any] = {}
    exec(source, scope)
    return np.array([scope["cluster_of"](row) for row in X.tolist()])


def in_sqlite(sql: str, X: Rows) -> Labels:
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE rows ({', '.join(f'x{j} REAL' for j in range(X.shape[1]))})")
        connection.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * X.shape[1])})", X.tolist())
        return np.array([row[-1] for row in connection.execute(sql)])


def in_duckdb(sql: str, X: Rows) -> Labels:
    with duckdb.connect() as connection:
        connection.register("rows", pa.table(list(map(pa.array, X.T)), [f"x{j}" for j in range(X.shape[1])]))
        return np.array([row[-1] for row in connection.execute(sql).fetchall()])


EXPORTS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Rows], Labels] | None]] = {
    "ONNX": (to_onnx, in_onnx),
    "Python": (to_python, in_python),
    "SQL, SQLite": (lambda model: to_sql(model, "rows", "sqlite"), in_sqlite),
    "SQL, DuckDB": (lambda model: to_sql(model, "rows", "duckdb"), in_duckdb),
    "JSON": (to_json, None),
}
"""How a model is written and read. JSON is only written: its labels are those of Python, which a test confirms."""


def measured(model: Any, export: str, kinds: Mapping[str, Rows]) -> dict[str, Any]:
    """One line of the table: differences by kind of row, size and time."""
    write, read = EXPORTS[export]
    try:
        written = write(model)
    except ValueError as error:
        return {"status": str(error)[:80]}
    size = len(written.SerializeToString() if export == "ONNX" else written.encode())
    record: dict[str, Any] = {"status": "ok", "kib": size / 1024}
    if read is None:
        return record
    seconds, n_rows, unexplained = 0.0, 0, 0
    for kind, X in kinds.items():
        some = X[: max(int(MOST_WORK / size / len(kinds)), FEWEST_ROWS)] if export.startswith("SQL") else X
        if not len(some):
            record |= {f"rows {kind}": 0, f"different {kind}": 0}
            continue
        start = time.perf_counter()
        found = read(written, some)
        seconds, n_rows = seconds + time.perf_counter() - start, n_rows + len(some)
        is_different = found != model.predict(some)
        unexplained += int((is_different & ~within_rounding(model, some)).sum())
        record |= {f"rows {kind}": len(some), f"different {kind}": int(is_different.sum())}
    return {**record, "unexplained": unexplained, "ms per 1,000 rows": 1e6 * seconds / n_rows}


def in_single(model: Any, X: Rows) -> dict[str, Any]:
    """What changes if the rows are rounded to float32."""
    single = X.astype(np.float32)
    is_new = model.predict(single.astype(np.float64)) != model.predict(X)
    is_near = within_rounding(model, X, dtype="float32")
    is_different = in_onnx(to_onnx(model, input_type="float32"), single) != model.predict(single)
    return {
        "rows": len(X),
        "near": int(is_near.sum()),
        "changed by rounding": int(is_new.sum()),
        "changed, not near": int((is_new & ~is_near).sum()),
        "graph and predict": int(is_different.sum()),
        "graph and predict, not near": int((is_different & ~is_near).sum()),
    }


def lines_of(path: Path, n_rows: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All lines of one file."""
    data = DataSet.describe(path, n_rows, sampled=True)
    X, _ = load(data, scale=False)
    X = np.ascontiguousarray(X, dtype=np.float64)
    lines, singles = [], []
    for name, make in MODELS.items():
        model = make(data.n_classes).fit(X)
        kinds = rows_of(model, X, np.random.default_rng(0))
        n_clusters = len(np.unique(model.predict(X)))
        about = {"dataset": data.name, "model": name, "columns": X.shape[1], "clusters": n_clusters}
        lines += [{**about, "export": export, **measured(model, export, kinds)} for export in EXPORTS]
        singles.append({**about, **in_single(model, X)})
    return lines, singles


def page(stem: Path) -> str:
    table = stored.read_table(stem)
    done = table[table["status"] == "ok"]
    records = []
    for export in EXPORTS:
        if export == "JSON":
            continue
        own = done[done["export"] == export]
        n_refused = int((table["export"] == export).sum()) - len(own)
        record: dict[str, Any] = {"export": export, "models": len(own), "refused": n_refused}
        for kind in KINDS:
            n_different, n_rows = int(own[f"different {kind}"].sum()), int(own[f"rows {kind}"].sum())
            record[kind] = f"{n_different:,} of {n_rows:,}"
        records.append({**record, "unexplained": int(own["unexplained"].sum())})
    text = dict.fromkeys(("export", *KINDS), "{}")
    formats = {**text, "models": "{:,}", "refused": "{:,}", "unexplained": "{:,}"}
    sizes = [
        {
            "export": export,
            "median KiB": own["kib"].median(),
            "largest KiB": own["kib"].max(),
            "median ms per 1,000 rows": own["ms per 1,000 rows"].median(),
        }
        for export in EXPORTS
        if len(own := done[done["export"] == export])
    ]
    size_formats = {"export": "{}", "median KiB": "{:,.0f}", "largest KiB": "{:,.0f}"}
    size_formats["median ms per 1,000 rows"] = "{:,.1f}"
    single = stored.read_table(stem, "float32")
    names = ["rows", "near", "changed by rounding", "changed, not near"]
    names += ["graph and predict", "graph and predict, not near"]
    by_model = single.groupby("model", sort=False)[names].sum().reset_index()
    n_sets = table["dataset"].nunique()
    parts = [
        report.section(
            "Rows that differ from predict",
            f"{n_sets} data sets, three models each. `data` are the rows of the fit, `cuts` rows on and one float "
            "beside a cut, `1e150` rows of 0, 1 and ±1e150. `unexplained` are differences farther from a cut or a "
            "boundary than rounding reaches. `refused` are queries that would be longer than databases accept.",
            report.formatted(pd.DataFrame(records), formats, text=1),
        ),
        report.section(
            "Rows of float32",
            "`near` are rows that rounding to float32 may move across a cut, by the largest possible error. "
            "`graph and predict` compares a graph that takes float32 with `predict` on the same rows.",
            report.formatted(by_model, {"model": "{}", **dict.fromkeys(names, "{:,}")}),
        ),
        report.section(
            "Size and time",
            "Times include the start of onnxruntime, the parsing of the source or the query, and, for SQL, the table.",
            report.formatted(pd.DataFrame(sizes), size_formats),
        ),
    ]
    return stored.page("Exported models compared with predict", stem, parts)


def main() -> None:
    """Measure, print and write."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, help="folder of Parquet files: columns x0…, integer label")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    cli.add_argument("--only", nargs="+", metavar="NAME", help="data sets to use")
    cli.add_argument("--skip", nargs="+", default=[], metavar="NAME", help="data sets to leave out")
    cli.add_argument("--rows", type=int, default=2000, help="largest number of rows of a data set (2000)")
    args = cli.parse_args()
    stem = args.out / NAME
    stored.record(stem, stored.run_details(sys.argv[1:], PACKAGES) | {"settings": {"rows": args.rows}})
    past = stored.read_table(stem) if stem.with_suffix(".csv").exists() else pd.DataFrame({"dataset": []})
    singles = stored.read_table(stem, "float32") if len(past) else pd.DataFrame()
    for name, path in find(args.data, only=args.only, skip=args.skip).items():
        if name in set(past["dataset"]):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            more, more_singles = lines_of(path, args.rows)
        past, singles = pd.concat([past, pd.DataFrame(more)]), pd.concat([singles, pd.DataFrame(more_singles)])
        past.to_csv(stem.with_suffix(".csv"), index=False, float_format="%.6g", lineterminator="\n")
        stored.write_table(stem, "float32", singles, "%.6g")
        print(name, flush=True)
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
