import csv
import json
import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from benchmarks import messy_tables, methods, pages, report, runner, serial_share, stored
from benchmarks.clients import model_selection, serving
from benchmarks.papers import compare, stream_tables, support_vectors, tables_3, tables_6_5_and_6_6
from benchmarks.peers import (
    false_clusters,
    gpu,
    groups,
    known_changes,
    real_streams,
    stationary_streams,
    stream_speed,
    strong_peers,
)
from benchmarks.worker import REPEATS, DataSet, Methods, load, without_folders
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_info

from ravine import PDDP
from ravine.datasets import make_messy_table
from ravine.metrics import purity

ROWS = {"far": 300, "near": 301}  # more than the warm-up takes, so that a real fit is told from it by its rows


class Estimator(ABC):
    """The least that the runner asks of an estimator."""

    labels_: NDArray[Any]

    @abstractmethod
    def fit(self, X: NDArray[Any]) -> Self:
        """Set `labels_`."""

    def fit_predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return self.fit(X).labels_


class LoggedKMeans(Estimator):
    """Leaves a line in a file for every fit."""

    def __init__(self, n_clusters: int, log: Path) -> None:
        self.n_clusters, self.log = n_clusters, log

    def fit(self, X: NDArray[Any]) -> Self:
        with self.log.open("a") as file:
            file.write(f"{len(X)}\n")
        self.labels_ = KMeans(self.n_clusters, n_init=1, random_state=0).fit(X).labels_
        return self


class Failing(Estimator):
    def fit(self, X: NDArray[Any]) -> Self:
        raise ValueError("cannot read /home/someone/secret.txt,\nnor anything else")


class Sleeping(Estimator):
    """Sleeps on the first data set and takes its process down on the second."""

    def fit(self, X: NDArray[Any]) -> Self:
        if len(X) == ROWS["near"]:
            sys.exit(3)
        if len(X) == ROWS["far"]:
            time.sleep(60)
        return self


class Threaded(Estimator):
    """Fails, and says how many threads it may use."""

    n_jobs = -1

    def fit(self, X: NDArray[Any]) -> Self:
        raise ValueError(f"{self.n_jobs} and {max(library['num_threads'] for library in threadpool_info())}")


def logged(n_clusters: int, seed: int, log: Path) -> LoggedKMeans:
    return LoggedKMeans(n_clusters, log)


def one_cluster(n_clusters: int, seed: int) -> KMeans:
    return KMeans(1, n_init=1)


def failing(n_clusters: int, seed: int) -> Failing:
    return Failing()


def sleeping(n_clusters: int, seed: int) -> Sleeping:
    return Sleeping()


def threaded(n_clusters: int, seed: int) -> Threaded:
    return Threaded()


PAIRS = {"one cluster": "kmeans"}
OTHERS: Methods = {"one cluster": one_cluster, "failing": failing, "sleeping": sleeping}


def write_data(folder: Path) -> None:
    for name, spread in {"far": 0.1, "near": 1.0}.items():
        X, y = make_blobs(ROWS[name], 3, centers=3, cluster_std=spread, random_state=1)
        frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(x3=7.0, label=y.astype(np.uint8))
        frame.to_parquet(folder / f"{name}.parquet")
    pd.DataFrame({"split": [0], "row": [0]}).to_parquet(folder / "far_splits.parquet")


class Bench:
    """One set of results that the tests below read, and run again where they stopped."""

    def __init__(self, folder: Path) -> None:
        self.data, self.out, self.log = folder / "data", folder / "out", folder / "log"
        self.csv = self.out / "tiny.csv"
        self.data.mkdir()
        write_data(self.data)

    def run(self, *options: str) -> pd.DataFrame:
        methods: Methods = {"kmeans": partial(logged, log=self.log), **OTHERS}
        argv = [str(self.data), "--out", str(self.out), "--limit", "5", *options]
        page = partial(runner.page, title="Tiny", methods=list(methods), scores=["ari", "v"], pairs=PAIRS)
        return runner.run(methods, name="tiny", page=page, argv=argv)

    def fits(self) -> Counter[int]:
        """Number of fits by number of rows, without those on a few rows that only warm up."""
        counts = Counter(map(int, self.log.read_text().split()))
        return Counter({n: counts[n] for n in ROWS.values()})

    def rows(self) -> dict[tuple[str, str], dict[str, str]]:
        with self.csv.open(newline="") as file:
            return {(row["dataset"], row["method"]): row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("benchmarks"))
    bench.run()
    return bench


def test_every_data_set_and_method_has_a_row(bench: Bench) -> None:
    assert set(bench.rows()) == {(name, method) for name in ROWS for method in ("kmeans", *OTHERS)}
    row = bench.rows()["far", "kmeans"]
    assert tuple(row) == runner.COLUMNS
    assert [row[key] for key in ("seed", "n", "d", "n_classes", "k", "status")] == ["0", "300", "4", "3", "3", "ok"]
    assert [float(row[key]) for key in ("nmi", "ari", "v", "purity")] == [1, 1, 1, 1]
    assert 0 < float(row["fit_s"]) < 2


def test_a_method_that_raises_is_recorded_and_the_run_goes_on(bench: Bench) -> None:
    row = bench.rows()["far", "failing"]
    assert row["status"] == "error: ValueError: cannot read secret.txt, nor anything else"
    assert row["ari"] == ""
    assert bench.rows()["near", "kmeans"]["status"] == "ok"


def test_a_fit_over_the_limit_is_a_timeout_and_the_run_goes_on(bench: Bench) -> None:
    assert bench.rows()["far", "sleeping"]["status"] == "timeout"
    assert bench.rows()["near", "one cluster"]["status"] == "ok"


def test_a_process_that_dies_is_recorded(bench: Bench) -> None:
    assert bench.rows()["near", "sleeping"]["status"] == "error: the process died (exit code 3)"


def test_markdown_has_the_mean_and_the_best_in_bold(bench: Bench) -> None:
    text = (bench.out / "tiny.md").read_text()
    assert "| data set | kmeans | one cluster | failing | sleeping |" in text
    assert "| far | **1.000** | 0.000 | – | – |" in text
    near = float(bench.rows()["near", "kmeans"]["ari"])
    assert f"| mean of 2 | **{(1 + near) / 2:.3f}** | 0.000 | – | – |" in text
    assert f"| mean regret of 2 | **0.000** | {(1 + near) / 2:.3f} | – | – |" in text
    assert "## V-measure" in text
    assert f"one cluster vs. kmeans on far (−1.000), near (−{near:.3f}). Mean difference:" in text
    assert "ratio to kmeans" in text
    assert "- far, sleeping, seed 0: timeout" in text


def test_sidecar_names_versions_and_no_path(bench: Bench) -> None:
    text = (bench.out / "tiny.json").read_text()
    entry = json.loads(text)[0]
    assert set(entry) == {"date", "command", "versions", "cores", "settings"}
    assert set(entry["versions"]) == {"python", "numpy", "scikit-learn", "ravine"}
    assert entry["command"].endswith(" data --out out --limit 5")
    for file in bench.out.iterdir():
        assert str(bench.out.parent) not in file.read_text()


def test_a_second_run_fits_nothing(bench: Bench) -> None:
    before, content = bench.fits(), bench.csv.read_bytes()
    assert min(before.values()) > 0
    bench.run()
    assert bench.fits() == before
    assert bench.csv.read_bytes() == content


def test_a_half_written_line_is_cut_off_and_its_fit_done_again(bench: Bench) -> None:
    lines, before = bench.csv.read_bytes().splitlines(keepends=True), bench.fits()
    at = next(i for i, line in enumerate(lines) if line.startswith(b"near,kmeans"))
    half = lines.pop(at)
    bench.csv.write_bytes(b"".join(lines) + half[:-10])
    bench.run()
    again = bench.fits() - before
    assert set(again) == {ROWS["near"]}
    assert 1 <= again[ROWS["near"]] <= REPEATS
    assert len(bench.csv.read_bytes().splitlines()) == len(lines) + 1
    assert bench.rows()["near", "kmeans"]["status"] == "ok"


def test_results_of_other_settings_are_not_mixed(bench: Bench) -> None:
    with pytest.raises(SystemExit, match="another --out"):
        bench.run("--no-scale")


@pytest.mark.parametrize("options", [["--only", "nowhere"], ["--max-cells", "100"], ["--skip", "far", "near"]])
def test_an_empty_choice_is_refused(bench: Bench, options: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"no .*data set"):
        bench.run(*options)


def test_scaling_drops_constant_columns(tmp_path: Path) -> None:
    write_data(tmp_path)
    data = DataSet.describe(tmp_path / "far.parquet", rows=200)
    X, y = load(data, scale=True)
    assert X.shape == (200, 3)
    np.testing.assert_allclose(X.std(axis=0), 1)
    assert len(y) == 200
    assert load(data, scale=False)[0].shape == (200, 4)


def test_random_rows_are_the_same_ones_each_time_and_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "numbered.parquet"
    pd.DataFrame({"x0": np.arange(1000.0), "label": np.arange(1000)}).to_parquet(path)
    data = DataSet.describe(path, 100, sampled=True)
    assert (data.n, data.n_classes) == (100, 100)
    X, y = load(data, scale=False)
    assert 300 < np.median(y) < 700
    assert (np.diff(y) > 0).all()
    np.testing.assert_array_equal(X[:, 0], y)
    load.cache_clear()
    np.testing.assert_array_equal(load(data, scale=False)[1], y)
    assert DataSet.describe(path, 5000, sampled=True).n == 1000


def test_fits_at_the_same_time_have_their_rows_and_their_threads(tmp_path: Path) -> None:
    write_data(tmp_path)
    results = runner.run(
        {"one cluster": one_cluster, "threaded": threaded},
        name="jobs",
        page=lambda stem: "",
        sample=250,
        threads=1,
        packages=["nothing"],
        argv=[str(tmp_path), "--out", str(tmp_path / "out"), "--jobs", "2"],
    )
    found = results.set_index(["dataset", "method"])["status"].to_dict()
    assert found == {
        (name, method): status
        for name in ROWS
        for method, status in {"one cluster": "ok", "threaded": "error: ValueError: 1 and 1"}.items()
    }
    assert set(results["n"]) == {250}
    entry = json.loads((tmp_path / "out" / "jobs.json").read_text())[0]
    assert entry["settings"]["sample"] == 250
    assert entry["versions"]["nothing"] == "not installed"


def test_mean_takes_only_data_sets_that_all_finished() -> None:
    results = pd.DataFrame(
        {
            "dataset": ["a", "a", "a", "b", "b"],
            "method": ["one", "one", "two", "one", "two"],
            "status": ["ok", "ok", "ok", "ok", "timeout"],
            "ari": [0.2, 0.4, 0.5, 0.9, np.nan],
        }
    )
    table = report.pivot(results, "ari", ["one", "two"])
    np.testing.assert_allclose(table, [[0.3, 0.5], [0.9, np.nan]])
    assert list(report.comparable(table).index) == ["a"]


def test_normalized_regret_spans_our_columns_and_the_published_ones() -> None:
    results = pd.DataFrame(
        {
            "dataset": ["a", "a", "b", "b", "late"],
            "method": ["one"] * 5,
            "status": ["ok", "ok", "ok", "ok", "timeout"],
            "ari": [0.2, 0.4, 0.9, 0.9, np.nan],
        }
    )
    published = {"late": (0.1, 0.2), "b": (0.5, 0.1), "a": (0.5, 0.1), "not run": (0.3, 0.4)}
    table = compare.with_published(results, compare.Table("Table", "ari", ("one", "two"), published), ["one"])
    assert list(table.columns) == ["one, ravine", "one, paper", "two, paper"]
    assert list(table.index) == ["late", "b", "a"]
    text = report.score_lines("Table", table, normalize=True)
    assert "| late | – | 0.100 | **0.200** |" in text
    assert "| a | 0.300 | **0.500** | 0.100 |" in text
    assert "| mean of 2 | **0.600** | 0.500 | 0.100 |" in text
    # b: 0, 0.4 / 0.8, 1; a: 0.2 / 0.4, 0, 1
    assert "| mean normalized regret of 2 | **0.250** | **0.250** | 1.000 |" in text


def test_best_of_the_grid_is_taken_for_each_index_alone() -> None:
    grid = pd.DataFrame(
        {
            "dataset": ["iris"] * 3,
            "variant": ["nearest"] * 3,
            "gamma": [1.0, 2.0, 4.0],
            "C": [1.0] * 3,
            "nu": [np.nan] * 3,
            "rand": [0.9, 0.8, 0.7],
            "nmi": [0.1, 0.6, 0.5],
            "purity": [0.5, 1.0, 1.0],
            "n_clusters": [2.0, 40.0, 30.0],
            "training_s": [1.0, 2.0, 9.0],
            "clustering_s": [1.0] * 3,
        }
    )
    best = support_vectors.best_of_grid(grid)
    assert dict(zip(best["index"], best.value, strict=True)) == {"rand": 0.9, "nmi": 0.6, "purity": 1.0}
    assert dict(zip(best["index"], best.n_clusters, strict=True)) == {"rand": 2, "nmi": 40, "purity": 30}
    assert dict(zip(best["index"], best.gamma, strict=True)) == {"rand": 1, "nmi": 2, "purity": 4}
    text = support_vectors.table(best, "purity")
    assert "| iris | 1.00 | 1.00 | 0.68 | 1.00 | 1.00 | 0.99 | – | 1.000 (30) | – | – | – | – |" in text
    text = support_vectors.table(best, "training_s")
    assert "| mean of 1 | 0.02 | 0.02 | 0.04 | 0.01 | 0.01 | 0.01 | – | 2.00 | – | – | – | – |" in text


def test_published_columns_of_support_vectors_have_their_means() -> None:
    for score, mean in {"rand": 0.895, "nmi": 0.76125}.items():
        published = support_vectors.PUBLISHED[score]
        best = [row[support_vectors.COLUMNS.index("BSGD-R")] for name, row in published.items() if name != "shuttle"]
        np.testing.assert_allclose(np.mean(best), mean)


def spectral_results(shift: float) -> pd.DataFrame:
    """Two runs of each method, on either side of the paper's scores plus `shift`; voting is far off."""
    rows: dict[tuple[str, str, int], dict[str, float]] = {}
    for table in tables_3.TABLES:
        for data, scores in table.scores.items():
            for method, score in zip(table.columns, scores, strict=True):
                off = 0.5 if data == "voting" else shift
                for seed, side in enumerate((-0.01, 0.01)):
                    rows.setdefault((data, method, seed), {})[table.score] = score + off + side
    index = pd.MultiIndex.from_tuples(rows, names=["dataset", "method", "seed"])
    return pd.DataFrame(list(rows.values()), index).reset_index().assign(status="ok")


@pytest.mark.parametrize(("shift", "verdict"), [(-0.008, "yes"), (-0.012, "no")])
def test_means_of_the_spectral_tables_leave_voting_out(shift: float, verdict: str) -> None:
    results = spectral_results(shift)
    np.testing.assert_allclose(tables_3.differences(results), shift)
    assert tables_3.summary(results).count(f"| {shift:+.4f} | {shift:+.4f} | {verdict} |") == len(tables_3.METHODS)
    text = tables_3.markdown(results, tables_3.TABLES[0])
    assert f"| optdigits | {0.81 + shift:.3f} (0.010) | 0.81 | {shift:+.3f} | {0.83 + shift:.3f} (0.010) |" in text
    assert "| voting | 1.340 (0.010) | 0.84 | +0.500 |" in text
    assert f"| mean of 7 | {0.815714 + shift:.3f} | 0.816 | {shift:+.3f} |" in text


def test_published_columns_of_the_spectral_tables_have_their_means() -> None:
    means = [(0.8157, 0.8143), (0.7414, 0.7371), (0.8143, 0.8071), (0.7486, 0.7443), (0.8, 0.7757), (0.7343, 0.6986)]
    for table, mean in zip(tables_3.TABLES, means, strict=True):
        np.testing.assert_allclose(table.published().drop(index="voting").mean(), mean, atol=1e-4)


def test_times_are_compared_with_those_of_the_slower_method_of_a_laplacian_without_margin() -> None:
    fits = [("dermatology", method, 0.1 * i) for i, method in enumerate(tables_3.METHODS, start=1)]
    text = tables_3.time_table(pd.DataFrame(fits, columns=["dataset", "method", "fit_s"]))
    assert "| dermatology | 0.100 | 0.200 | 0.300 | 0.400 | 0.500 | 0.600 | 11.5 | 58 | 13.5 | 34 |" in text


def test_drawn_label_sets_have_each_class_and_depend_on_the_seed() -> None:
    y = np.repeat([0, 1], [95, 5])
    first, again, other = ([*tables_6_5_and_6_6.drawn_splits(y, 0.1, seed)] for seed in (0, 0, 1))
    assert len(first) == 10
    assert all(len(np.unique(rows)) == 10 and set(y[rows]) == {0, 1} for rows in first)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


class SemiSupervised:
    """Two far blobs under the names of data sets of both tables, and three sets of ten labels."""

    def __init__(self, folder: Path) -> None:
        X, y = make_blobs(100, 3, centers=[[0, 0, 0], [9, 9, 9]], random_state=0)
        frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(label=y + 1)
        for name in ("voting", "ssl_usps"):
            frame.to_parquet(folder / f"{name}.parquet")
        self.truth = y
        self.published = [np.r_[np.flatnonzero(y == 0)[i : i + 5], np.flatnonzero(y == 1)[i : i + 5]] for i in range(3)]
        rows = np.concatenate(self.published)
        size = np.full(len(rows), 10)
        pd.DataFrame({"n_labelled": size, "split": np.repeat(range(3), 10), "row": rows}).to_parquet(
            folder / "ssl_usps_splits.parquet"
        )
        self.sets = {name: DataSet.describe(folder / f"{name}.parquet") for name in ("voting", "ssl_usps")}


def test_published_label_sets_are_read_and_the_others_drawn(tmp_path: Path) -> None:
    semi = SemiSupervised(tmp_path)
    read = [*tables_6_5_and_6_6.splits(semi.sets["ssl_usps"], semi.truth, "10", seed=0)]
    np.testing.assert_array_equal(read, semi.published)
    drawn = [*tables_6_5_and_6_6.splits(semi.sets["voting"], semi.truth, "25 %", seed=0)]
    assert [len(rows) for rows in drawn] == [25] * 10


def test_what_was_run_is_not_run_again_and_is_compared_with_the_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    semi = SemiSupervised(tmp_path)
    fits: Counter[str] = Counter()

    def counted(name: str, X: NDArray[Any], y: NDArray[Any]) -> Any:
        fits[name] += 1
        return tables_6_5_and_6_6.linear_svm(X, y)

    counting = {name: partial(counted, name) for name in ("MDP2", "linear SVM")}
    monkeypatch.setattr(tables_6_5_and_6_6, "METHODS", counting)
    results = tables_6_5_and_6_6.fill(tmp_path / "found.csv", semi.sets, ["linear SVM"], seed=0)
    assert (results["accuracy"] == 1).all()
    assert fits == {"linear SVM": 3 * 10 + 3}
    results = tables_6_5_and_6_6.fill(tmp_path / "found.csv", semi.sets, list(counting), seed=0)
    assert fits == {"linear SVM": 3 * 10 + 3, "MDP2": 3 * 10 + 3}
    text = tables_6_5_and_6_6.markdown(results, "Table 6.6")
    assert "| labels | data set | MDP2 | paper | difference | linear SVM |" in text
    assert "| 10 | ssl_usps | 1.000 (0.000) | 0.727 | +0.273 | 1.000 (0.000) |" in text
    assert "| all | mean of 1 | 1.000 | 0.727 | +0.273 | 1.000 |" in text


@pytest.mark.parametrize("noise", [noise for noise in groups.NOISES if noise != "counts"])
def test_noise_has_unit_variance(noise: str, rng: np.random.Generator) -> None:
    stream = groups.Groups(noise, np.zeros((2, 3)), rng)
    rows = np.vstack([stream.draw(5_000)[0] for _ in range(20)])
    np.testing.assert_allclose(rows.var(axis=0), 1, atol=0.2)


def test_twice_the_root_of_a_count_has_unit_variance_and_keeps_the_distances(rng: np.random.Generator) -> None:
    X, y = groups.Groups("counts", np.array([[0.0, 10.0], [20.0, 30.0]]), rng).draw(20_000)
    roots = 2 * np.sqrt(X)
    np.testing.assert_allclose(roots[y == 1].var(axis=0), 1, atol=0.1)
    np.testing.assert_allclose(roots[y == 1].mean(axis=0) - roots[y == 0].mean(axis=0), 20, atol=0.5)


def test_centers_keep_their_distance(rng: np.random.Generator) -> None:
    first = groups.separated(20, 2, 8.0, rng)
    more = groups.separated(5, 2, 8.0, rng, first)
    assert pdist(np.vstack([first, more])).min() >= 8


def test_autoregressive_noise_goes_on_in_the_next_batch_and_sessions_last(rng: np.random.Generator) -> None:
    stream = groups.Groups("AR(1), sessions", np.zeros((2, 1)), rng)
    drawn = [stream.draw(500) for _ in range(40)]
    X, y = np.vstack([rows for rows, _ in drawn])[:, 0], np.concatenate([labels for _, labels in drawn])
    for group in (0, 1):
        rows = X[y == group]
        assert 0.85 < np.corrcoef(rows[:-1], rows[1:])[0, 1] < 0.95
    assert 0.005 < np.mean(y[:-1] != y[1:]) < 0.02


def test_a_stream_that_never_changes_has_its_groups_and_a_page(tmp_path: Path) -> None:
    found = stationary_streams.follow("gaussian", 5, 2, seed=0, n_rows=10_000)
    assert found == stationary_streams.follow("gaussian", 5, 2, seed=0, n_rows=10_000) | {"rows_s": found["rows_s"]}
    assert (found["clusters"], found["events"]) == (5, 0)
    stem = tmp_path / stationary_streams.NAME
    stored.record(stem, stored.run_details([]))
    wrong = found | {"seed": 1, "clusters": 6, "events": 2, "last_event": 9_000, "kinds": "2 split"}
    pd.DataFrame([found, wrong]).to_csv(stem.with_suffix(".csv"), index=False)
    text = stationary_streams.page(stem)
    assert "| gaussian | 5.5 |" in text
    assert "1 of 2 streams have another number of clusters than groups, or an event." in text
    assert "| 9000 | 2 split |" in text


def test_orders_of_a_real_stream_keep_all_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["x0", "x1", "x2"]).assign(label=rng.integers(5, size=300))
    frame["x0"] = frame["x0"].round()
    frame.to_parquet(tmp_path / "five.parquet")
    every = {order: real_streams.Stream("five", order).read(tmp_path, 300) for order in real_streams.ORDERS}
    for X, y in every.values():
        np.testing.assert_array_equal(np.sort(X[:, 1]), np.sort(frame["x1"]))
        assert len(y) == 300
    assert (np.diff(every["by column"][0][:, 1]) >= 0).all()
    blocks = every["class blocks"][1] // 2
    assert (np.diff(np.minimum(blocks, 1)) >= 0).all()


def test_every_model_of_a_real_stream_has_a_score(tmp_path: Path) -> None:
    X, y = make_blobs(1_400, 3, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0]], random_state=0)
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(label=y)
    frame.to_parquet(tmp_path / "satimage.parquet")
    streams = real_streams.chosen(["satimage, shuffled"])
    found = pd.DataFrame(real_streams.results(tmp_path, streams, 1_400, 1_300, with_river=False))
    assert list(found["model"]) == list(real_streams.MODELS)
    table = found.set_index("model")
    assert table.loc["StreamClusterer", "v_first"] > 0.99
    assert table.loc["StreamClusterer", "clusters_end"] == 3
    assert table.loc["one cluster", "v_measure"] == 0
    stem = tmp_path / real_streams.NAME
    stored.record(stem, stored.run_details([]) | {"river_rows": 1_300})
    found.to_csv(stem.with_suffix(".csv"), index=False)
    text = real_streams.page(stem)
    assert "## V-measure, rows 1,000 to 1,300, with River's clusterers" in text
    assert "| satimage, shuffled | 1400 | 3 | 3 |" in text


def test_clusterers_of_river_have_a_score() -> None:
    pytest.importorskip("river")
    X, y = make_blobs(1_300, 3, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0]], random_state=0)
    for make in real_streams.RIVER.values():
        assert 0 < real_streams.score(make(X, 3), X, y, 1_300)["purity_first"] <= 1


def test_groups_are_drawn_anew_only_where_asked() -> None:
    def steps(every: int | None) -> NDArray[np.float64]:
        means = np.array([rows.mean(axis=0) for rows in stream_speed.followed_rows(4_000, every)])
        return np.linalg.norm(np.diff(means, axis=0), axis=1)

    still, anew = steps(None), steps(2_000)
    assert still.max() < 0.5 * anew[1]
    assert max(anew[0], anew[2]) < 0.5 * anew[1]


def test_a_flat_stream_is_timed_in_tenths() -> None:
    lines = [*stream_speed.flat(20_000)]
    assert [line["rows"] for line in lines] == 2 * [2_000 * i for i in range(1, 11)]
    assert all(line["rows/s"] > 0 and line["resident, MiB"] > 0 for line in lines)


@pytest.mark.parametrize("change", known_changes.RIGHT)
def test_a_known_change_concerns_the_groups_that_differ(change: str, rng: np.random.Generator) -> None:
    before = known_changes.opening(6, 3, 8.0, "unequal", rng)
    assert before.weights.max() / before.weights.min() == pytest.approx(10)
    after, old, new = known_changes.changed(change, before, rng)
    assert len(np.unique(after.groups)) == len(after.centers) == len(after.weights) == len(after.spreads)
    places = {"old": dict(zip(before.groups, before.centers, strict=True))}
    places["new"] = dict(zip(after.groups, after.settled().centers, strict=True))
    same = {group for group in before.groups if np.array_equal(places["old"][group], places["new"].get(group))}
    assert set(before.groups) - same == set(old)
    assert set(after.groups) - same == set(new)
    assert len(after.groups) - len(before.groups) == {"appear": 1, "split": 1, "vanish": -1, "merge": -1}.get(change, 0)


def test_a_jump_is_reported_and_two_changes_have_two_lines(tmp_path: Path) -> None:
    found = known_changes.follow("jump+none", 3, 2, 8.0, "equal", seed=0)
    assert [line["number"] for line in found] == [1, 2]
    assert found[0]["delay"] is not None
    assert found[0]["late"] > 0.95
    stem = tmp_path / known_changes.NAME
    stored.record(stem, stored.run_details([]))
    pd.DataFrame(found).to_csv(stem.with_suffix(".csv"), index=False)
    text = known_changes.page(stem)
    assert "## 3 groups, 2 columns, distance 8, equal sizes" in text
    assert "| jump+none, 1. |" in text
    assert "| 1 of 1 |" in text


def test_events_far_from_a_change_or_about_other_clusters_are_false() -> None:
    watch = known_changes.Watch("jump", 20_000, np.array([3]), np.array([3]))
    watch.look(19_500, np.array([7, 7, 8]), np.array([3, 3, 4]))
    watch.look(40_000, np.array([9]), np.array([3]))
    assert watch.clusters == {7}
    assert watch.concerns({"row": 20_100, "clusters": [7]})
    assert not watch.concerns({"row": 19_900, "clusters": [7]})
    assert not watch.concerns({"row": 20_100, "clusters": [8]})
    assert not watch.concerns({"row": 33_000, "clusters": [7]})


def test_stream_clusterer_is_compared_with_both_published_methods() -> None:
    cell = {"table": 1, "cell": "C = 10", "d": 50}
    scores = {"HSDC": 0.80, "StreamClusterer": 0.90}
    rows = [cell | {"method": name, "seed": 0, "v_measure": v, "purity": v} for name, v in scores.items()]
    results = pd.DataFrame(rows, columns=list(stream_tables.COLUMNS))
    text = stream_tables.markdown(results, 1, "v_measure")
    assert (
        "| StreamClusterer, ravine | HSDC, paper | difference | CluStream, paper | StreamClusterer − CluStream |"
        in text
    )
    assert "| 0.900 (nan) | 0.83 (0.15) | +0.070 | 0.49 | +0.410 |" in text
    means = stream_tables.comparison(results, 1, "v_measure").means()
    assert means["StreamClusterer vs. HSDC"] == pytest.approx(0.07)
    assert means["StreamClusterer vs. CluStream"] == pytest.approx(0.41)


FAR_GROUPS = make_blobs(120, 2, centers=[[0, 0], [20, 0], [0, 20]], random_state=0)


@pytest.mark.parametrize("make", [methods.kmeans_silhouette, methods.mixture_full_bic, methods.mixture_diagonal_bic])
def test_peers_that_choose_k_find_far_groups(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "MAX_CLUSTERS", 5)
    X, y = FAR_GROUPS
    assert adjusted_rand_score(y, make(0, 0).fit_predict(X)) == 1


def test_communities_do_not_mix_far_groups() -> None:
    pytest.importorskip("leidenalg")
    X, y = FAR_GROUPS
    assert purity(y, methods.leiden(0, 0).fit_predict(X)) == 1


def test_means_of_strong_peers_are_of_common_sets_and_show_what_is_lost_and_what_did_not_finish(tmp_path: Path) -> None:
    statuses = {"Leiden": "error: ModuleNotFoundError: No module named 'igraph'", "HDBSCAN": "timeout"}
    rows = []
    for number, name in enumerate(("a", "b")):
        for method in strong_peers.METHODS:
            peer = method.removesuffix(", k automatic").removesuffix(", k given")
            status = statuses.get(peer, "ok") if number or peer == "Leiden" else "ok"
            score = 0.5 if peer == strong_peers.REFERENCE else 0.6 if peer in ("Ward", "HDBSCAN") else 0.3
            ok = {"k": 4, "nmi": score, "ari": score - 0.1, "fit_s": 2.0} if status == "ok" else {}
            rows.append({"dataset": name, "method": method, "seed": 0, "n_classes": 4, "status": status, **ok})
    stem = tmp_path / strong_peers.NAME
    stored.record(stem, stored.run_details([]))
    pd.DataFrame(rows, columns=list(runner.COLUMNS)).to_csv(stem.with_suffix(".csv"), index=False)
    text = strong_peers.page(stem)
    assert "| IncrementalMDH | 2 of 2 | 0.500 | 0.400 | – | – | – | – | 0.000 | 2.000 |" in text
    assert "| Leiden | 0 of 2, 2 not installed | – | – | – | – | 0 | 0 | – | – |" in text
    assert (
        "| HDBSCAN | 1 of 2, 1 not finished | 0.600 | 0.500 | **−0.100** | **−0.100** | 1 | 1 | 0.000 | 2.000 |" in text
    )
    assert "| Ward | 2 of 2 | 0.600 | 0.500 | **−0.100** | **−0.100** | 2 | 2 | 2.000 |" in text
    assert "| KMeans | 2 of 2 | 0.300 | 0.200 | +0.200 | +0.200 | 2 | 0 | 2.000 |" in text
    assert "| b | **0.500** | 0.300 | 0.300 | not installed | 0.300 | 0.300 | 0.300 | not finished |" in text
    assert "| b | 4 | 4 | 4 | 4 | not installed | 4 | 4 | 4 | not finished |" in text
    assert "| mean of 1 | 4 | 4 | 4 | 4 | – | 4 | 4 | 4 | 4 |" in text
    assert "- b, HDBSCAN, k automatic, seed 0: timeout" in text
    assert "- a, Leiden, k automatic, seed 0: error: ModuleNotFoundError: No module named 'igraph'" in text
    found = strong_peers.comparisons(stem)[0]
    assert found.title == "NMI (geometric), k automatic"
    assert found.means()["IncrementalMDH vs. HDBSCAN"] == pytest.approx(-0.1)


RESULTS = Path(runner.__file__).parent / "results"
STORED = [page for page in pages.PAGES if page.exists(RESULTS)]


@pytest.mark.parametrize("page", STORED, ids=lambda page: page.name)
def test_stored_pages_are_what_the_stored_tables_give(page: pages.Page) -> None:
    assert (RESULTS / f"{page.name}.md").read_text(encoding="utf-8") == page.text(RESULTS)


def test_the_stored_summary_is_what_the_stored_tables_give() -> None:
    assert (RESULTS / "summary.md").read_text(encoding="utf-8") == pages.summary(RESULTS)


def test_every_stored_file_belongs_to_a_page() -> None:
    names = {page.name for page in STORED} | {"r_packages_reference"}
    for path in RESULTS.glob("*.csv"):
        assert any(path.stem == name or path.stem.startswith(f"{name}_") for name in names), path.name
    assert {path.stem for path in RESULTS.glob("*.md")} == {page.name for page in STORED} | {pages.SUMMARY}
    assert {path.stem for path in RESULTS.glob("*.json")} == {page.name for page in STORED}


@pytest.mark.parametrize("page", STORED, ids=lambda page: page.name)
def test_every_stored_run_says_when_how_and_with_what(page: pages.Page) -> None:
    for run in stored.runs(RESULTS / page.name):
        assert {"date", "command", "versions", "cores"} <= set(run)
        assert run["command"].startswith("python -m benchmarks.")
        assert "/" not in run["command"]


def differences(**columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame(columns, index=["a", "b", "c"])


def test_what_is_lower_is_named_the_largest_difference_first() -> None:
    frame = differences(one=[-0.02, 0.3, -0.5], two=[-0.01, 0.0, np.nan])
    comparison = report.Comparison("Table", frame)
    assert comparison.lower() == (
        "**Where ravine scores lower** by more than 0.01: one on c (−0.500), a (−0.020). "
        "Mean difference: one −0.073, two −0.005."
    )
    assert comparison.not_lower() == (3, 5)


def test_nothing_lower_is_said_and_lines_can_be_left_out_of_the_means() -> None:
    comparison = report.Comparison("Table", differences(one=[0.1, 0.2, 0.9]), not_in_means={"c"})
    assert comparison.lower() == "**Where ravine scores lower** by more than 0.01: none. Mean difference: one +0.150."


def test_what_is_slower_is_named() -> None:
    text = report.slower(differences(one=[1.0, 2.0, 8.0]), differences(one=[4.0, 8.0, 4.0]))
    assert text == "**Where ravine is slower**: one on c (2 times as long). Speedup, geometric mean: one 2."


def test_runs_with_the_same_versions_share_a_paragraph(tmp_path: Path) -> None:
    stem = tmp_path / "out" / "found"
    run = {"date": "2026-01-01T00:00:00", "command": "first", "versions": {"numpy": "1"}, "cores": 2}
    stored.record(stem, run)
    stored.record(stem, run | {"date": "2026-01-02T00:00:00", "command": "second"})
    stored.record(stem, run | {"versions": {"numpy": "2"}, "command": "third"})
    assert stored.provenance(stem).splitlines() == [
        "Measured on 2026-01-01 to 2026-01-02, 2 cores, numpy 1:",
        "",
        "```text",
        "first",
        "second",
        "```",
        "",
        "Measured on 2026-01-01, 2 cores, numpy 2:",
        "",
        "```text",
        "third",
        "```",
    ]
    stored.record(stem, run, anew=True)
    assert stored.runs(stem) == [run]


@pytest.mark.parametrize(
    ("text", "left"),
    [("see /a/b/c.txt:", "see c.txt:"), ("../x/y and n/d", "y and n/d"), ("3 / 4", "3 / 4"), ("'/tmp/z'", "'z'")],
)
def test_folders_are_left_out(text: str, left: str) -> None:
    assert without_folders(text) == left


def test_false_clusters_are_counted_once_for_each_cell_and_a_later_run_adds_the_rest(tmp_path, monkeypatch, capsys):
    def run(*words):
        size = ["--rows", "60", "--columns", "2", "--draws", "2"]
        monkeypatch.setattr(sys, "argv", ["false_clusters", "PDDP", *size, *words, "--out", str(tmp_path)])
        false_clusters.main()

    run("--shapes", "counts")
    first = (tmp_path / "false_clusters.csv").read_text()
    run("--shapes", "Gaussian", "counts")
    results = stored.read_table(tmp_path / "false_clusters")
    assert results["shape"].tolist() == ["Gaussian", "counts"]
    assert results["draws"].tolist() == [2, 2]
    assert first.splitlines()[1] in (tmp_path / "false_clusters.csv").read_text()
    assert "| all |" in (tmp_path / "false_clusters.md").read_text()
    with pytest.raises(SystemExit, match="choose another --out"):
        run("--first-seed", "2")


def test_draws_without_clusters_depend_on_distribution_size_and_number_alone():
    for shape in false_clusters.SHAPES:
        X = false_clusters.draw(shape, 50, 3, 4)
        assert X.shape == (50, 3)
        np.testing.assert_array_equal(X, false_clusters.draw(shape, 50, 3, 4))
        assert (false_clusters.draw(shape, 50, 3, 5) != X).any()


def run_messy_tables(monkeypatch: pytest.MonkeyPatch, out: Path, *words: str) -> str:
    monkeypatch.setattr(
        sys, "argv", ["messy_tables", "--encoder", "numbers", "--rows", "150", *words, "--out", str(out)]
    )
    messy_tables.main()
    return (out / "messy_tables.md").read_text(encoding="utf-8")


def test_messy_tables_are_scored_once_each_beside_the_clean_numbers(tmp_path, monkeypatch, capsys):
    run_messy_tables(monkeypatch, tmp_path, "--tables", "1")
    first = (tmp_path / "messy_tables.csv").read_text(encoding="utf-8")
    text = run_messy_tables(monkeypatch, tmp_path, "--tables", "2")
    results = stored.read_table(tmp_path / "messy_tables")
    assert results["seed"].tolist() == [0, 1]
    assert first.splitlines()[1] in (tmp_path / "messy_tables.csv").read_text(encoding="utf-8")
    assert (results[["ari_clean", "ari_table", "ari_kmeans"]] <= 1).all(axis=None)
    assert "of 2 tables" in text
    assert f"**{results['table'][0]}**" in text
    with pytest.raises(SystemExit, match="choose another --out"):
        run_messy_tables(monkeypatch, tmp_path, "--rows", "200")


def test_an_encoder_that_fails_is_named_and_the_next_table_is_measured(tmp_path, monkeypatch, capsys):
    def failing(self: Any, frame: pd.DataFrame, y: object = None) -> Any:
        raise ValueError("cannot read /home/someone/table.csv")

    monkeypatch.setattr(messy_tables.PlainNumbers, "fit", failing)
    text = run_messy_tables(monkeypatch, tmp_path, "--tables", "2")
    assert "The encoder failed on 2 of 2 tables." in text
    assert "ValueError: cannot read table.csv" in text
    assert "Not lower than the clean numbers by more than 0.03: 0 of 2 tables." in text


def test_tables_without_segments_are_counted_by_kind_and_selection(tmp_path, monkeypatch, capsys):
    text = run_messy_tables(monkeypatch, tmp_path, "--noise", "--tables", "1")
    results = stored.read_table(tmp_path / "messy_tables", "noise")
    assert results[["kind", "selection"]].to_numpy().tolist() == [
        [kind, selection] for kind in messy_tables.KINDS for selection in messy_tables.SELECTIONS
    ]
    assert (results["draws"] == 1).all()
    assert "## Tables without segments" in text


@pytest.mark.parametrize("kind", messy_tables.KINDS)
def test_tables_without_segments_have_ten_columns(kind: str) -> None:
    table = make_messy_table(30, **messy_tables.CLEAN | messy_tables.KINDS[kind], random_state=0)
    assert len(table.columns) == 10
    assert not table.segment.any()


def test_plain_numbers_have_no_gaps_and_no_text() -> None:
    frame = pd.DataFrame({"a": ["1", "-", "3", "5"], "b": ["x", "y", "2", "z"], "c": [np.nan, 1.0, 2.0, 3.0]})
    found = messy_tables.PlainNumbers().fit_transform(frame)
    np.testing.assert_array_equal(found, [[1, 2], [3, 1], [3, 2], [5, 3]])
    assert messy_tables.PlainNumbers().fit_transform(frame[["b"]]).shape == (4, 1)


def test_real_tables_are_drawn_several_times_and_split_into_two_halves(tmp_path, monkeypatch, capsys):
    data = tmp_path / "data"
    data.mkdir()
    for seed, name in enumerate(("a", "b", "c")):
        X, y = make_blobs(90, centers=[[0, 0, 0], [9, 9, 9]], random_state=seed)
        pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(label=y).to_parquet(data / f"{name}.parquet")
    monkeypatch.setattr(messy_tables, "N_DRAWS", 1)
    run_messy_tables(monkeypatch, tmp_path, str(data))
    monkeypatch.setattr(messy_tables, "N_DRAWS", 2)
    text = run_messy_tables(monkeypatch, tmp_path, str(data))
    results = stored.read_table(tmp_path / "messy_tables", "real")
    assert results[["half", "dataset", "draw"]].to_numpy().tolist() == [
        [half, name, draw] for half, names in (("first", "ac"), ("second", "b")) for name in names for draw in (0, 1)
    ]
    assert (results["rows"] == 81).all()
    assert (results["ari_raw_k"] == 1).all()
    assert "## Real tables, first half" in text
    assert "## Real tables, second half" in text


def test_differences_of_real_tables_have_standard_errors() -> None:
    scores = {"ari_raw": [0.5, 0.5, 0.5, 0.5], "ari_table": [0.7, 0.5, 0.5, 0.5]}
    found = messy_tables.differences(pd.DataFrame({"dataset": [*"aabb"], **scores}))
    np.testing.assert_allclose(found.to_numpy(), [[0.1, 0.1], [0.0, 0.0]], atol=1e-12)


def test_benchmark_of_a_device_ends_with_a_sentence_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.cuda.is_available", lambda: False)
    for words in ([], ["--check"]):
        monkeypatch.setattr(sys, "argv", ["gpu", *words])
        with pytest.raises(SystemExit, match="there is no CUDA device here, so nothing was run"):
            gpu.main()


def test_page_of_a_device_has_its_tables(tmp_path: Path) -> None:
    stem = tmp_path / gpu.NAME
    line = {"what": "NCutH(10)", "rows": 1000, "columns": 4, "first_s": np.nan, "seconds": 0.5, "memory": 1.25}
    stored.write_table(stem, "times", pd.DataFrame([line]))
    stored.write_table(stem, "bytes", pd.DataFrame([{"method": "NCutH(10)", "rows": 1000, "different": 1}]))
    line = {"dataset": "shuttle", "method": "MDH()", "ari": 1.0, "k_device": 3, "k_host": 3}
    stored.write_table(stem, "clusters", pd.DataFrame([line]))
    stored.record(stem, stored.run_details([]), anew=True)
    text = gpu.page(stem)
    assert "| NCutH(10) | 1,000 | 4 | – | 0.500 | 1.25 |" in text
    assert "| shuttle |" in text


def test_the_smallest_number_within_a_standard_error_ignores_numbers_without_a_score() -> None:
    deviation = np.full(5, np.sqrt(model_selection.FOLDS))
    results = {"mean_test_score": np.array([-9.0, np.nan, -4.9, -4.0, -4.5]), "std_test_score": deviation}
    assert model_selection.within_one_standard_error(results) == 2


def test_a_search_over_numbers_has_a_line_with_all_choices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(model_selection, "NUMBERS", (1, 2, 3))
    X, y = make_blobs(120, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    line = model_selection.measured("NCutH", X, y, 0)
    assert (line["k_default"], line["k_best"], line["ari_se"], line["n_failed"]) == (3, 3, 1.0, 0)
    stem = tmp_path / "model_selection"
    about = {"kind": "real", "dataset": "blobs", "draw": 0, "n": 120, "d": 2, "classes": 3, "method": "NCutH"}
    pd.DataFrame([about | line]).to_csv(stem.with_suffix(".csv"), index=False)
    stored.record(stem, stored.run_details([]), anew=True)
    assert "| real | NCutH | 0.0 | 0.0 |" in model_selection.page(stem)


def test_the_endpoint_of_the_benchmark_is_that_of_the_page() -> None:
    compile(serving.program(), "app.py", "exec")
    assert '@app.post("/predict")' in serving.program()


def test_shared_work_counts_as_long_as_the_busiest_thread():
    assert serial_share.busiest([3.0, 1.0, 1.0, 2.0], 2) == 4.0
    assert serial_share.busiest([3.0, 1.0, 1.0], 16) == 3.0


def test_a_fit_as_if_on_more_threads_is_the_fit(rng):
    X, fits = rng.normal(size=(20_000, 50)), []
    X[:9000, 0] += 9.0

    def make(n_jobs: int) -> PDDP:
        fits.append(PDDP(2, n_jobs=n_jobs))
        return fits[-1]

    alone, shared = serial_share.fit_as_if(make, X, 4)
    assert 0 < shared <= alone
    assert fits[0].tree_ == PDDP(2, n_jobs=1).fit(X).tree_
