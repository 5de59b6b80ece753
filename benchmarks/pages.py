"""Write every page of results again from the stored files, without running anything.

    python -m benchmarks.pages benchmarks/results

A page is a function of the CSV and JSON files of its script. `summary.md` has one line for each comparison
with a publication or with other software.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks import report
from benchmarks.report import Comparison

SUMMARY = "summary"
NBSP = "\u00a0"


@dataclass(frozen=True)
class Page:
    """A page of results: its name, the module that makes it, the functions there, and where the site shows it."""

    name: str
    module: str
    shown: str
    maker: str = "page"

    def exists(self, folder: Path) -> bool:
        return (folder / f"{self.name}.json").exists()

    def text(self, folder: Path) -> str:
        make: Callable[[Path], str] = getattr(import_module(f"benchmarks.{self.module}"), self.maker)
        return make(folder / self.name)

    def comparisons(self, folder: Path) -> list[Comparison]:
        find: Callable[[Path], list[Comparison]] | None
        find = getattr(import_module(f"benchmarks.{self.module}"), "comparisons", None)
        return find(folder / self.name) if find and self.maker == "page" else []


WORKS: Mapping[str, str] = {
    "hofmeyr-2020": "Hofmeyr 2020",
    "panahi": "Panahi et al. 2017",
    "pham": "Pham et al.",
    "hofmeyr-pavlidis-eckley": "Hofmeyr et al. 2016",
    "thesis-2": "Thesis, chapter 2",
    "thesis-3": "Thesis, chapter 3",
    "thesis-4": "Thesis, chapter 4",
    "thesis-6": "Thesis, chapter 6",
    "r-packages": "R packages",
    "scikit-learn": "scikit-learn",
    "hdbscan": "HDBSCAN",
    "strong-peers": "Strong peers",
}
PAGES = [
    Page("table_2", "papers.table_2", "hofmeyr-2020"),
    Page("sum_of_norms", "papers.sum_of_norms", "panahi"),
    Page("support_vectors", "papers.support_vectors", "pham"),
    Page("support_vectors_internal", "papers.support_vectors_internal", "pham"),
    Page("stream_tables", "papers.stream_tables", "hofmeyr-pavlidis-eckley"),
    Page("covtype", "papers.covtype", "hofmeyr-pavlidis-eckley"),
    Page("table_2_2", "papers.table_2_2", "thesis-2"),
    Page("tables_3", "papers.tables_3", "thesis-3"),
    Page("tables_3_times", "papers.tables_3", "thesis-3", "times_page"),
    Page("tables_4_2_and_4_3", "papers.tables_4_2_and_4_3", "thesis-4"),
    Page("tables_6", "papers.tables_6", "thesis-6"),
    Page("tables_6_5_and_6_6", "papers.tables_6_5_and_6_6", "thesis-6"),
    Page("r_packages", "peers.r_packages", "r-packages"),
    Page("r_packages_incremental", "peers.r_packages_incremental", "r-packages"),
    Page("scikit_learn", "peers.scikit_learn", "scikit-learn"),
    Page("bisecting", "peers.bisecting", "scikit-learn"),
    Page("number_of_clusters", "peers.number_of_clusters", "scikit-learn"),
    Page("predict", "peers.predict", "scikit-learn"),
    Page("cores", "peers.cores", "threads"),
    Page("gpu", "peers.gpu", "gpu"),
    Page("labels_and_clusters", "peers.labels_and_clusters", "scikit-learn"),
    Page("strong_peers", "peers.strong_peers", "strong-peers"),
    Page("false_clusters", "peers.false_clusters", "false-clusters"),
    Page("messy_tables", "messy_tables", "messy-tables"),
    Page("convex", "peers.convex", "hdbscan"),
    Page("support_vectors_peers", "peers.support_vectors", "hdbscan"),
    Page("stream_speed", "peers.stream_speed", "streams"),
    Page("drift", "peers.drift", "streams"),
    Page("stationary_streams", "peers.stationary_streams", "streams"),
    Page("known_changes", "peers.known_changes", "streams"),
    Page("real_streams", "peers.real_streams", "streams"),
    Page("out_of_core", "peers.out_of_core", "dask"),
    Page("mutations", "mutations", "files"),
    Page("startup", "startup", "startup"),
    Page("first_use", "first_use", "first-use"),
    Page("exports", "exports", "exports"),
    Page("model_selection", "clients.model_selection", "model-selection"),
    Page("serving", "clients.serving", "serving"),
    Page("scanpy", "clients.scanpy", "clients-scanpy-mlflow"),
    Page("mlflow", "clients.mlflow", "clients-scanpy-mlflow"),
    Page("bertopic", "clients.bertopic", "clients"),
    Page("embeddings", "clients.embeddings", "embeddings"),
    Page("embeddings_spread", "clients.embeddings", "embeddings", "spread_page"),
]


def summary(folder: Path) -> str:
    """Return one line per comparison: the mean difference of each column, and how many scores are not lower."""
    lines = []
    for page in PAGES:
        if page.exists(folder):
            for comparison in page.comparisons(folder):
                good, known = comparison.not_lower()
                means = "; ".join(f"{column}{NBSP}{report.signed(mean)}" for column, mean in comparison.means().items())
                work = f"[{WORKS[page.shown]}](../../docs/evidence/{page.shown}.md)"
                lines.append([f"{work}, {comparison.title}", means, f"{good}{NBSP}of{NBSP}{known}"])
    heads = ["table", "mean difference (ravine − other)", f"not lower by more than {report.MARGIN:g}"]
    return report.grid(heads, lines, text=2) + "\n"


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and text of every page whose results exist, and of the summary."""
    for page in PAGES:
        if page.exists(folder):
            yield page.name, page.text(folder)
    yield SUMMARY, summary(folder)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("results", type=Path, help="folder of the stored results")
    args = cli.parse_args()
    for name, text in texts(args.results):
        (args.results / f"{name}.md").write_text(text, encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()
