"""Clusters of tables as they come, through an encoder: made-up tables with segments and without, and real tables.

    python -m benchmarks.messy_tables --out results
    python -m benchmarks.messy_tables --noise --out results
    python -m benchmarks.messy_tables DATA --out results

The tables are those of `ravine.datasets.random_messy_table`, read back from a CSV file by pandas. Three scores each:
`IncrementalMDH` on the clean numbers before any mess; on the table, through an encoder; and KMeans, given the number of
segments, on what a careless analyst makes of the table. With --noise, tables of 5,000 rows and ten columns have no
segments. --encoder numbers is a stand-in for `ravine.prepare.TableEncoder`: the columns that are mostly plain numbers,
with the median in the gaps.

DATA is a folder of Parquet files with numbers and a column `label`. `IncrementalMDH` is fitted to the numbers as they
are, which it scales itself, and to the encoded table, on the same random draws of the rows: two fits to nearly the same
rows may differ much, so one fit shows nothing. The files are split into two halves, by turns in alphabetical order, so
that a rule that was chosen on one can be confirmed on the other.

Writes messy_tables.csv, messy_tables_noise.csv or messy_tables_real.csv, .md and .json. A table, with --noise a kind of
table, and with DATA a draw of a file, is written when it is done, and a later run leaves it out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import report, stored
from benchmarks.runner import find
from benchmarks.worker import without_folders
from ravine import IncrementalMDH
from ravine.datasets import MessyTable, make_messy_table, random_messy_table

NAME = "messy_tables"
TOLERANCE = 0.03
"""A table counts as solved if its score is lower than that of the clean numbers by no more than this."""

MAX_LEVELS = 100
"""The careless analyst encodes a text column if it has at most this many levels."""

N_WORST = 10
CLEAN: dict[str, Any] = {
    "n_segments": 1,
    "n_noise": 0,
    "formatted": 0,
    "n_copies": 0,
    "n_sparse": 0,
    "n_categories": 0,
    "n_noise_categories": 0,
    "n_long_categories": 0,
    "rare_levels": 0,
    "n_booleans": 0,
    "n_codes": 0,
    "n_dates": 0,
    "n_identifiers": 0,
    "n_texts": 0,
    "n_constants": 0,
    "missing": 0,
    "errors": 0,
    "stray_spaces": 0,
}
"""Parameters of a table without segments and without any mess."""

KINDS: dict[str, dict[str, Any]] = {
    "Gaussian": {"n_informative": 10, "lognormal": 0},
    "lognormal": {"n_informative": 10, "lognormal": 1},
    "with categories": {"n_informative": 5, "n_noise_categories": 4, "n_long_categories": 1},
    "with gaps": {"n_informative": 10, "missing": 0.1},
}
SELECTIONS = ("auto", "evidence")
KEY = ["kind", "selection"]
REAL_KEY = ["half", "dataset", "draw"]

N_DRAWS, DRAWN, MOST_ROWS = 5, 0.9, 5_000
"""Number of random draws of a real table, their share of its rows, and the most rows of a draw."""

MOST_CELLS = 1_000_000
"""Draws of wide tables have fewer rows, with at most so many cells."""
WORDS = {"seeds": str, "error": str}


class PlainNumbers(TransformerMixin, BaseEstimator):
    """Keep the columns that are mostly plain numbers, with the median in the gaps: a stand-in for an encoder."""

    def fit(self, frame: pd.DataFrame, y: object = None) -> Self:
        numbers = frame.apply(pd.to_numeric, errors="coerce")
        self.names_ = [name for name in frame if numbers[name].notna().sum() > 0.5 * frame[name].notna().sum()]
        self.medians_ = numbers[self.names_].median()
        return self

    def transform(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        numbers = frame[self.names_].apply(pd.to_numeric, errors="coerce")
        found: NDArray[np.float64] = numbers.fillna(self.medians_).to_numpy(np.float64)
        return found if self.names_ else np.zeros((len(frame), 1))


def table_encoder() -> Any:
    """Return ravine's encoder of tables."""
    return import_module("ravine.prepare").TableEncoder()


ENCODERS: dict[str, Callable[[], Any]] = {"table": table_encoder, "numbers": PlainNumbers}


def read_back(table: MessyTable) -> pd.DataFrame:
    """Write a table to a file and read the file, as a user does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        table.to_csv(path)
        return pd.read_csv(path)


def careless(frame: pd.DataFrame, n_clusters: int) -> NDArray[np.int64]:
    """Return the clusters of KMeans on all that pandas reads: scaled numbers, and an indicator for each level."""
    numbers = frame.select_dtypes("number").dropna(axis="columns", how="all")
    words = frame.select_dtypes(exclude="number")
    few = [name for name in words if words[name].nunique() <= MAX_LEVELS]
    columns = [numbers.fillna(numbers.median()), *(pd.get_dummies(words[name], dtype=float) for name in few)]
    X = StandardScaler().fit_transform(pd.concat(columns, axis="columns").to_numpy(np.float64))
    return np.asarray(KMeans(n_clusters, n_init=10, random_state=0).fit_predict(X))


def measure(seed: int, encoder: str, n_samples: int | None) -> dict[str, Any]:
    """Return the scores of one table; an encoder that fails has no score, and the error is kept."""
    table = random_messy_table(seed, **({} if n_samples is None else {"n_samples": n_samples}))
    frame, parameters = read_back(table), table.parameters
    clean = IncrementalMDH(random_state=0).fit(table.truth)
    found: dict[str, Any] = {
        "table": f"{parameters['theme']} {seed}",
        "seed": seed,
        "rows": len(frame),
        "columns": len(frame.columns),
        "segments": parameters["n_segments"],
        "ari_clean": adjusted_rand_score(table.segment, clean.labels_),
        "ari_table": np.nan,
        "ari_kmeans": adjusted_rand_score(table.segment, careless(frame, parameters["n_segments"])),
        "k_clean": clean.n_clusters_,
        "k_table": 0,
        "seconds": np.nan,
        "error": "",
        "parameters": ", ".join(f"{name}={value}" for name, value in parameters.items()),
    }
    start = time.perf_counter()
    try:
        model = make_pipeline(ENCODERS[encoder](), IncrementalMDH(random_state=0)).fit(frame)[-1]
    except Exception as error:  # the next tables are still measured
        return found | {"error": without_folders(f"{type(error).__name__}: {error}").splitlines()[0]}
    found["seconds"] = round(time.perf_counter() - start, 2)
    return found | {"ari_table": adjusted_rand_score(table.segment, model.labels_), "k_table": model.n_clusters_}


def measure_noise(kind: str, selection: str, seeds: Sequence[int], encoder: str, n_samples: int) -> dict[str, Any]:
    """Return in how many tables without segments a cut is confirmed, and in how many there are several clusters."""
    confirmed, several = [], []
    for seed in seeds:
        table = make_messy_table(n_samples, **CLEAN | KINDS[kind], random_state=seed)
        model = make_pipeline(ENCODERS[encoder](), IncrementalMDH(selection=selection, random_state=0))  # type: ignore[arg-type]
        model = model.fit(read_back(table))[-1]
        confirmed += [seed] * (model.confirmed_ > 0)
        several += [seed] * (model.n_clusters_ > 1)
    counts = {"draws": len(seeds), "confirmed": len(confirmed), "several": len(several)}
    return {"kind": kind, "selection": selection, **counts, "seeds": " ".join(map(str, sorted({*confirmed, *several})))}


def measure_real(path: Path, half: str, draw: int, encoder: str, n_samples: int | None) -> dict[str, Any]:
    """Return the scores of one draw of a real table, as numbers and encoded, with k chosen automatically and given."""
    frame = pd.read_parquet(path)
    n_rows = int(min(DRAWN * len(frame), n_samples or MOST_ROWS, MOST_CELLS / frame.shape[1]))
    frame = frame.iloc[np.sort(np.random.default_rng(draw).choice(len(frame), n_rows, replace=False))]
    label = frame.pop("label").to_numpy()
    found: dict[str, Any] = {"half": half, "dataset": path.stem, "draw": draw, "rows": n_rows}
    found |= {"columns": frame.shape[1], "classes": len(np.unique(label))}
    for name, X in (("raw", frame.to_numpy(np.float64)), ("table", ENCODERS[encoder]().fit_transform(frame))):
        for suffix, k in (("", None), ("_k", found["classes"])):
            model = IncrementalMDH(k, random_state=0).fit(X)
            found[f"ari_{name}{suffix}"] = adjusted_rand_score(label, model.labels_)
            found[f"nmi_{name}{suffix}"] = normalized_mutual_info_score(label, model.labels_)
            if k is None:
                found[f"k_{name}"] = model.n_clusters_
    return found


def halves(folder: Path) -> dict[Path, str]:
    """Return the half of each file of a folder: by turns, in alphabetical order."""
    paths = find(folder, only=None, skip=()).values()
    return {path: ("first", "second")[i % 2] for i, path in enumerate(paths)}


def run(tasks: Iterable[Any], jobs: int, path: Path) -> None:
    """Add the result of each task to the file as soon as it is there."""
    for found in joblib.Parallel(jobs, return_as="generator_unordered")(tasks):
        print(*(value for name, value in found.items() if name != "parameters"), flush=True)
        pd.DataFrame([found]).to_csv(
            path, mode="a", index=False, header=not path.exists(), float_format="%.6g", lineterminator="\n"
        )


def quiet(task: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Call without warnings, such as that of a table in which no cut is confirmed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return task(*arguments)


def read(path: Path, order: list[str]) -> pd.DataFrame:
    """Return all stored rows in order."""
    results = pd.read_csv(path, dtype=WORDS).fillna(dict.fromkeys(WORDS, ""))
    if "kind" in results:
        results["kind"] = pd.Categorical(results["kind"], list(KINDS))
    return results.sort_values(order, ignore_index=True)


def page(stem: Path) -> str:
    """Return the summary, the worst tables, all tables, and the tables without segments, as far as they are stored."""
    parts = []
    if stem.with_suffix(".csv").exists():
        results = read(stem.with_suffix(".csv"), ["seed"])
        parts += [report.section("Messy tables", summary(results)), report.section("Lowest tables", worst(results))]
        parts += [report.section("All tables", _lines(results))]
    noise = Path(f"{stem}_noise.csv")
    if noise.exists():
        note = "Number of tables in which held-out rows confirm a cut, and in which there are several clusters."
        formats = dict.fromkeys([*KEY, "draws", "confirmed", "several", "seeds"], "{}")
        parts.append(
            report.section("Tables without segments", note, report.formatted(read(noise, KEY), formats, text=2))
        )
    real = Path(f"{stem}_real.csv")
    if real.exists():
        results = read(real, REAL_KEY)
        parts += [
            report.section(f"Real tables, {half} half", real_summary(some), real_lines(some))
            for half, some in results.groupby("half")
        ]
    return stored.page("Messy tables", stem, parts)


def real_summary(results: pd.DataFrame) -> str:
    """Return the means of the scores over the data sets, and how many data sets gain or lose more than by chance."""
    means = results.groupby("dataset").mean(numeric_only=True)
    lines = [
        [title, *(f"{means[f'{score}_{name}{suffix}'].mean():.3f}" for name in ("raw", "table"))]
        for suffix, given in (("", "k automatic"), ("_k", "k given"))
        for score, title in (("ari", f"ARI, {given}"), ("nmi", f"NMI, {given}"))
    ]
    gain = differences(results)
    is_clear = gain["mean"].abs() > 2 * gain["error"]
    listed = [
        f"{word}: {', '.join(gain.index[is_clear & (gain['mean'] * sign > 0)]) or 'none'}."
        for word, sign in (("Higher", 1), ("Lower", -1))
    ]
    note = f"ARI of the encoded table with k automatic, by more than two standard errors. {' '.join(listed)}"
    return "\n\n".join([report.grid(["mean", "numbers", "table"], lines), note])


def differences(results: pd.DataFrame) -> pd.DataFrame:
    """Return, for each data set, the mean difference of the ARI, encoded less raw, and its standard error."""
    draws = (results["ari_table"] - results["ari_raw"]).groupby(results["dataset"])
    return pd.DataFrame({"mean": draws.mean(), "error": draws.std() / np.sqrt(draws.size())})


def real_lines(results: pd.DataFrame) -> str:
    """Return a line for each data set, with the means over its draws."""
    means = results.groupby("dataset").mean(numeric_only=True)
    gain = differences(results)
    means["difference"] = [f"{report.signed(one.mean)} ± {one.error:.3f}" for one in gain.itertuples(index=False)]
    heads = {"rows": "{:,.0f}", "columns": "{:.0f}", "classes": "{:.0f}", "k_raw": "{:.1f}", "k_table": "{:.1f}"}
    scores = dict.fromkeys(["ari_raw", "ari_table"], "{:.3f}")
    given = dict.fromkeys(["ari_raw_k", "ari_table_k"], "{:.3f}")
    formats = {"dataset": "{}", **heads, **scores, "difference": "{}", **given}
    return report.formatted(means.reset_index(), formats)


def summary(results: pd.DataFrame) -> str:
    """Return how many tables are solved, how many are above KMeans, and the quantiles of the scores."""
    solved = results["ari_table"] >= results["ari_clean"] - TOLERANCE
    above = results["ari_table"] > results["ari_kmeans"]
    exact = results["k_table"] == results["segments"]
    sentences = [
        f"Not lower than the clean numbers by more than {TOLERANCE:g}: {_share(solved)}.",
        f"Above KMeans with the number of segments given: {_share(above)}.",
        f"As many clusters as segments: {_share(exact)}; in the clean numbers, "
        f"{_share(results['k_clean'] == results['segments'])}.",
    ]
    if (results["error"] != "").any():
        sentences.append(f"The encoder failed on {_share(results['error'] != '')}.")
    names = {"ari_clean": "clean numbers", "ari_table": "table", "ari_kmeans": "KMeans"}
    quantiles = {"minimum": 0.0, "10 %": 0.1, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "maximum": 1.0}
    lines = [
        [title, *(f"{results[name].quantile(share):.3f}" for share in quantiles.values())]
        for name, title in names.items()
    ]
    return "\n\n".join(["\n".join(f"- {one}" for one in sentences), report.grid(["ARI", *quantiles], lines)])


def worst(results: pd.DataFrame) -> str:
    """Return the tables that lose most against the clean numbers, with their parameters."""
    loss = (results["ari_table"] - results["ari_clean"]).fillna(-np.inf)
    lowest = results.assign(loss=loss).loc[loss.sort_values(kind="stable").index[:N_WORST]]
    return "\n".join(
        f"- **{row.table}**: {row.error or report.signed(row.loss)}; {row.parameters}" for row in lowest.itertuples()
    )


def _share(mask: pd.Series[bool]) -> str:
    return f"{mask.sum()} of {len(mask)} tables"


def _lines(results: pd.DataFrame) -> str:
    formats = {
        "table": "{}",
        "rows": "{:,}",
        "columns": "{}",
        "segments": "{}",
        "k_clean": "{}",
        "k_table": "{}",
        "ari_clean": "{:.3f}",
        "ari_table": "{:.3f}",
        "ari_kmeans": "{:.3f}",
        "seconds": "{:.1f}",
    }
    return report.formatted(results, formats)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, nargs="?", metavar="DATA", help="folder of Parquet files: real tables instead")
    cli.add_argument("--tables", type=int, metavar="N", help="tables, or with --noise tables of each kind (40, 100)")
    cli.add_argument("--first-seed", type=int, default=0, metavar="SEED", help="number of the first table (0)")
    cli.add_argument("--noise", action="store_true", help="tables without segments instead")
    cli.add_argument("--encoder", choices=ENCODERS, default="table", help="what makes rows of a table (table)")
    cli.add_argument(
        "--rows", type=int, metavar="N", help="rows (random; 5000 with --noise, and at most 5000 with DATA)"
    )
    cli.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (1)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:], ("pandas",))
    entry["settings"] = {"encoder": args.encoder, "rows": args.rows}
    stored.record(stem, entry)
    n_tables = args.tables or (100 if args.noise else 40)
    seeds = range(args.first_seed, args.first_seed + n_tables)
    if args.data:
        path, order = Path(f"{stem}_real.csv"), REAL_KEY
    else:
        path, order = (Path(f"{stem}_noise.csv"), KEY) if args.noise else (stem.with_suffix(".csv"), ["seed"])
    done = set(read(path, order)[order].itertuples(index=False, name=None)) if path.exists() else set()
    tasks: list[tuple[Any, ...]]
    if args.data:
        draws = [(file, half, draw) for file, half in halves(args.data).items() for draw in range(N_DRAWS)]
        left = [one for one in draws if (one[1], one[0].stem, one[2]) not in done]
        tasks = [(measure_real, *one, args.encoder, args.rows) for one in left]
    elif args.noise:
        cells = [(kind, selection) for kind in KINDS for selection in SELECTIONS if (kind, selection) not in done]
        tasks = [(measure_noise, *cell, seeds, args.encoder, args.rows or 5_000) for cell in cells]
    else:
        tasks = [(measure, seed, args.encoder, args.rows) for seed in seeds if (seed,) not in done]
    run((joblib.delayed(quiet)(*task) for task in tasks), args.jobs, path)
    read(path, order).to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
