"""Embeddings as they are: which method, which preparation, and what rows of 256 and 768 columns cost.

    python -m benchmarks.clients.embeddings CORPORA --out results
    python -m benchmarks.clients.embeddings CORPORA --spread --out results
    python -m benchmarks.clients.embeddings --size --out results

CORPORA is a folder of Parquet files, columns x0… and an integer label; `benchmarks.clients.corpora` makes such a
folder. Rows are not scaled. At most 8,000 random rows of each corpus are used, and a fit has 120 seconds, unless
--limit says otherwise. Writes embeddings.csv, .md and .json.

The advice of the documentation was chosen on the corpora of `CHOSEN_ON` and is confirmed on all others.

With --spread, it fits the methods with k chosen automatically with five seeds, which also shuffle the rows, and writes
embeddings_spread.csv, .md and .json.

With --size, it measures fits on random rows of many columns instead, each in a process of its own: the seconds, the CPU
time, and the peak of memory above that before the rows were made, as a multiple of the rows. Writes
embeddings_size.csv.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import ravine
from benchmarks import methods, report, runner, stored
from benchmarks.worker import Methods

NAME, SIZE = "embeddings", "size"
MAX_ROWS, LIMIT_S = 8_000, 120.0
N_COMPONENTS = 50
CHOSEN_ON = ("debian_tokens", "debian_minilm", "fortunes_lsa", "fortunes_minilm")
AUTOMATIC, GIVEN = "k automatic", "k given"


def reduced(model: Any, seed: int, n_components: int = N_COMPONENTS) -> Any:
    """Rows of length 1, reduced by PCA."""
    return make_pipeline(Normalizer(), PCA(n_components, random_state=seed), model)


def automatic_scaled(k: int, seed: int) -> Any:
    return ravine.IncrementalMDH(random_state=seed)


def automatic_raw(k: int, seed: int) -> Any:
    return ravine.IncrementalMDH(standardize=False, random_state=seed)


def automatic_cosine(k: int, seed: int) -> Any:
    return ravine.IncrementalMDH(metric="cosine", random_state=seed)


def automatic_reduced(k: int, seed: int) -> Any:
    return reduced(ravine.IncrementalMDH(standardize=False, random_state=seed), seed)


def automatic_whitened(k: int, seed: int) -> Any:
    return reduced(ravine.IncrementalMDH(random_state=seed), seed)


def automatic_ncuth(k: int, seed: int) -> Any:
    return make_pipeline(Normalizer(), ravine.NCutH(random_state=seed))


def automatic_mdh(k: int, seed: int) -> Any:
    return make_pipeline(Normalizer(), ravine.MDH(random_state=seed))


def automatic_hdbscan(k: int, seed: int) -> Any:
    return make_pipeline(Normalizer(), methods.PercentHDBSCAN(copy=True))


def automatic_hdbscan_reduced(k: int, seed: int) -> Any:
    return reduced(methods.PercentHDBSCAN(copy=True), seed)


def automatic_hdbscan_few(k: int, seed: int) -> Any:
    return reduced(methods.PercentHDBSCAN(copy=True), seed, 10)


def given_scaled(k: int, seed: int) -> Any:
    return ravine.IncrementalMDH(k, random_state=seed)


def given_raw(k: int, seed: int) -> Any:
    return ravine.IncrementalMDH(k, standardize=False, random_state=seed)


def given_cosine(k: int, seed: int) -> Any:
    return ravine.IncrementalMDH(k, metric="cosine", random_state=seed)


def given_reduced(k: int, seed: int) -> Any:
    return reduced(ravine.IncrementalMDH(k, standardize=False, random_state=seed), seed)


def given_ncuth(k: int, seed: int) -> Any:
    return make_pipeline(Normalizer(), ravine.NCutH(k, random_state=seed))


def given_ncuth_reduced(k: int, seed: int) -> Any:
    return reduced(ravine.NCutH(k, random_state=seed), seed)


def given_mdh(k: int, seed: int) -> Any:
    return make_pipeline(Normalizer(), ravine.MDH(k, random_state=seed))


def given_kmeans(k: int, seed: int) -> Any:
    return KMeans(k, n_init=3, random_state=seed)


def given_kmeans_unit(k: int, seed: int) -> Any:
    return make_pipeline(Normalizer(), KMeans(k, n_init=3, random_state=seed))


def given_kmeans_reduced(k: int, seed: int) -> Any:
    return reduced(KMeans(k, n_init=3, random_state=seed), seed)


COMPARED: dict[str, Methods] = {
    AUTOMATIC: {
        'IncrementalMDH(metric="cosine")': automatic_cosine,
        "IncrementalMDH()": automatic_scaled,
        "IncrementalMDH(standardize=False)": automatic_raw,
        "unit rows, PCA(50), IncrementalMDH(standardize=False)": automatic_reduced,
        "unit rows, PCA(50), IncrementalMDH()": automatic_whitened,
        "unit rows, NCutH()": automatic_ncuth,
        "unit rows, MDH()": automatic_mdh,
        "unit rows, HDBSCAN": automatic_hdbscan,
        "unit rows, PCA(50), HDBSCAN": automatic_hdbscan_reduced,
        "unit rows, PCA(10), HDBSCAN": automatic_hdbscan_few,
    },
    GIVEN: {
        'IncrementalMDH(k, metric="cosine")': given_cosine,
        "IncrementalMDH(k)": given_scaled,
        "IncrementalMDH(k, standardize=False)": given_raw,
        "unit rows, PCA(50), IncrementalMDH(k, standardize=False)": given_reduced,
        "unit rows, NCutH(k)": given_ncuth,
        "unit rows, PCA(50), NCutH(k)": given_ncuth_reduced,
        "unit rows, MDH(k)": given_mdh,
        "KMeans(k)": given_kmeans,
        "unit rows, KMeans(k)": given_kmeans_unit,
        "unit rows, PCA(50), KMeans(k)": given_kmeans_reduced,
    },
}
SPREAD, N_SEEDS = "embeddings_spread", 5
SPREAD_OF = (
    'IncrementalMDH(metric="cosine")',
    "IncrementalMDH()",
    "IncrementalMDH(standardize=False)",
    "unit rows, PCA(50), IncrementalMDH(standardize=False)",
    "unit rows, NCutH()",
)
METHODS: Methods = {name: make for makes in COMPARED.values() for name, make in makes.items()}


def spread_page(stem: Path) -> str:
    """Return means and standard deviations over seeds."""
    results = stored.read_table(stem)
    lines = []
    for name in SPREAD_OF:
        mine = results[results["method"] == name]
        for score in ("nmi", "ari"):
            each = mine.groupby("dataset")[score]
            cells = [f"{mean:.3f} ± {sd:.3f}" for mean, sd in zip(each.mean(), each.std(ddof=0), strict=True)]
            is_first = each.mean().index.isin(CHOSEN_ON)
            cells += [_mean(each.mean()[is_first]), _mean(each.mean()[~is_first])]
            lines.append([name, report.TITLES[score].partition(" (")[0], *cells])
    heads = ["method", "score", *sorted(set(results["dataset"])), "mean, chosen on", "mean, confirmed on"]
    note = f"Mean and standard deviation over {N_SEEDS} seeds. The last columns are means over the corpora."
    return stored.page("Embeddings: seeds", stem, [note, report.grid(heads, lines, text=2)])


def _means(results: pd.DataFrame, part: str) -> str:
    """Return one line per method: mean scores on the corpora of the choice and on the others, and k."""
    names = list(COMPARED[part])
    is_first = results["dataset"].isin(CHOSEN_ON)
    lines = []
    for name in names:
        mine = results[(results["method"] == name) & (results["status"] == "ok")]
        cells = [name]
        for rows in (mine[is_first.loc[mine.index]], mine[~is_first.loc[mine.index]]):
            cells += [_mean(rows["nmi"]), _mean(rows["ari"])]
        ratio = np.exp(np.log(mine["k"] / mine["n_classes"]).abs().mean()) if len(mine) else np.nan
        cells += [f"{ratio:.1f}" if np.isfinite(ratio) else "–"] if part == AUTOMATIC else []
        cells += [_mean(mine["fit_s"], "%.1f"), f"{len(mine)} of {(results['method'] == name).sum()}"]
        lines.append(cells)
    heads = ["method", "NMI, chosen on", "ARI, chosen on", "NMI, confirmed on", "ARI, confirmed on"]
    heads += ["k off by a factor of", "seconds", "finished"] if part == AUTOMATIC else ["seconds", "finished"]
    return report.section(f"Means, {part}", report.grid(heads, lines))


def _mean(values: pd.Series[float], digits: str = "%.3f") -> str:
    return digits % values.mean() if len(values) else "–"


def _each(results: pd.DataFrame, part: str) -> str:
    """Return NMI / ARI / k of each corpus."""
    corpora = list(dict.fromkeys(results["dataset"]))
    lines = []
    for name in COMPARED[part]:
        mine = results[results["method"] == name].set_index("dataset")
        lines.append([name, *(_cell(mine, corpus, part) for corpus in corpora)])
    return report.section(f"Each corpus, {part}", _CELL[part], report.grid(["method", *corpora], lines))


_CELL = {AUTOMATIC: "NMI / ARI / number of clusters.", GIVEN: "NMI / ARI."}


def _cell(mine: pd.DataFrame, corpus: str, part: str) -> str:
    if corpus not in mine.index or mine.loc[corpus, "status"] != "ok":
        return "–" if corpus not in mine.index else str(mine.loc[corpus, "status"])
    row = mine.loc[corpus]
    k = f" / {int(row['k'])}" if part == AUTOMATIC else ""
    return f"{row['nmi']:.3f} / {row['ari']:.3f}{k}"


def _corpora(results: pd.DataFrame) -> str:
    each = results.groupby("dataset", sort=False)[["n", "d", "n_classes"]].first()
    lines = [
        [name, "choice" if name in CHOSEN_ON else "confirmation", *(f"{int(value):,}" for value in row)]
        for name, row in zip(each.index, each.to_numpy(), strict=True)
    ]
    return report.section("Corpora", report.grid(["corpus", "used for", "rows", "columns", "labels"], lines, text=2))


def page(stem: Path) -> str:
    parts = []
    if stem.with_suffix(".csv").exists():
        results = stored.read_table(stem)
        parts = [_corpora(results), *(_means(results, part) for part in COMPARED)]
        parts += [_each(results, part) for part in COMPARED]
    if Path(f"{stem}_{SIZE}.csv").exists():
        parts.append(_sizes(stored.read_table(stem, SIZE)))
    return stored.page("Embeddings", stem, parts)


def _sizes(table: pd.DataFrame) -> str:
    lines = []
    for row in table.to_dict("records"):
        cells = [f"{row['seconds']:.1f}", f"{row['cpu_s']:.1f}", f"{row['memory']:.2f}", f"{row['k']:.0f}"]
        if row["status"] != "ok":
            cells = [f"more than {row['seconds']:.0f}, with making the rows", "–", "–", "–"]
        lines.append([row["method"], f"{row['n']:,} × {row['d']}", *cells])
    heads = ["method", "rows", "seconds", "CPU seconds", "peak memory / rows", "clusters"]
    return report.section("Size", _SIZE_NOTE, report.grid(heads, lines))


_SIZE_NOTE = (
    "float32 rows of length 1 around 50 directions. Memory is the peak of the process above that before the rows were "
    "made, so 1.00 is the rows alone. Each fit has a process of its own."
)
SIZED: dict[str, Callable[[], Any]] = {
    "KMeans(50, n_init=1)": lambda: KMeans(50, n_init=1, random_state=0),
    "IncrementalMDH()": lambda: ravine.IncrementalMDH(),
    'IncrementalMDH(metric="cosine")': lambda: ravine.IncrementalMDH(metric="cosine"),
    "IncrementalMDH(50)": lambda: ravine.IncrementalMDH(50),
    "NCutH(50)": lambda: ravine.NCutH(50),
    "MDH()": lambda: ravine.MDH(),
    "MDH(50)": lambda: ravine.MDH(50),
}


def embedded(n: int, d: int, n_topics: int = 50) -> NDArray[np.float32]:
    """Rows of length 1 around some directions, written block by block."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(n_topics, d)).astype(np.float32) / np.float32(d**0.5)
    X = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, 10_000):
        block = X[start : start + 10_000]
        rng.standard_normal(out=block, dtype=np.float32)
        block *= np.float32(1.2 / d**0.5)
        block += topics[rng.integers(0, n_topics, len(block))]
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return X


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def measure(name: str, n: int, d: int) -> dict[str, Any]:
    """Fit one method once, after a fit on few rows that compiles and imports what it needs."""
    warnings.simplefilter("ignore")
    SIZED[name]().fit(embedded(3_000, 16))
    before = _peak()
    X = embedded(n, d)
    model = SIZED[name]()
    start, cpu = time.perf_counter(), time.process_time()
    model.fit(X)
    seconds, cpu_s = time.perf_counter() - start, time.process_time() - cpu
    memory = (_peak() - before) / X.nbytes
    found = {"seconds": round(seconds, 2), "cpu_s": round(cpu_s, 2), "memory": round(memory, 3)}
    return {"method": name, "n": n, "d": d, **found, "k": len(np.unique(model.labels_))}


def size(words: list[str]) -> None:
    """Measure each method at each size in a new process, and write the table and the page."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--size", action="store_true")
    cli.add_argument("--one", nargs=3, metavar=("METHOD", "ROWS", "COLUMNS"), help=argparse.SUPPRESS)
    cli.add_argument("--rows", type=float, default=1e6, help="number of rows (1e6)")
    cli.add_argument("--columns", type=int, nargs="+", default=[256, 768], help="numbers of columns (256 768)")
    cli.add_argument("--methods", nargs="+", default=list(SIZED), help="methods to measure")
    cli.add_argument("--limit", type=float, default=300.0, help="seconds after which a fit is stopped (300)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args(words)
    if args.one:
        print(json.dumps(measure(args.one[0], int(args.one[1]), int(args.one[2]))))
        return
    stem, lines = args.out / NAME, []
    if Path(f"{stem}_{SIZE}.csv").exists():
        lines = stored.read_table(stem, SIZE).to_dict("records")
    for d in args.columns:
        for name in args.methods:
            one = [sys.executable, "-m", "benchmarks.clients.embeddings", "--size", "--one", name, f"{args.rows:.0f}"]
            try:
                done = subprocess.run([*one, str(d)], stdout=subprocess.PIPE, timeout=args.limit, check=True, text=True)
            except subprocess.TimeoutExpired:
                line = {"method": name, "n": int(args.rows), "d": d, "seconds": args.limit, "status": "stopped"}
            else:
                line = {**json.loads(done.stdout.splitlines()[-1]), "status": "ok"}
            print(line, flush=True)
            key = (line["method"], line["n"], line["d"])
            lines = [each for each in lines if (each["method"], each["n"], each["d"]) != key] + [line]
            stored.write_table(stem, SIZE, pd.DataFrame(lines))
    past = stored.runs(stem)
    settings = past[-1].get("settings") if past else {}
    stored.record(stem, stored.run_details(words) | {"settings": settings})
    stored.write_page(stem, page(stem))


def _seeds(words: list[str]) -> list[str]:
    return [*(word for word in words if word != "--spread"), "--seeds", str(N_SEEDS)]


def main() -> None:
    words = sys.argv[1:]
    if "--size" in words:
        size(words)
        return
    is_spread = "--spread" in words
    runner.run(
        {name: METHODS[name] for name in SPREAD_OF} if is_spread else METHODS,
        name=SPREAD if is_spread else NAME,
        page=spread_page if is_spread else page,
        description=__doc__,
        sample=MAX_ROWS,
        limit=LIMIT_S,
        argv=["--no-scale", *(_seeds(words) if is_spread else words)],
    )


if __name__ == "__main__":
    main()
