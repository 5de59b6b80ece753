"""Compare NCutH, MDH and SpectralPursuit with the authors' R packages PPCI and SCPP, all with k given.

    python -m benchmarks.peers.r_packages DATA --out results --limit 240 --max-cells 6e6

Writes r_packages.csv, .md and .json. Columns are scaled to unit variance on both sides. The scores of the packages are
in r_packages_reference.csv: each was run once, on one core of a machine with two, and those that failed or took more
than four minutes are not there. The rows of SpectralPursuit are those of tables_3.csv, ten runs against three.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from benchmarks import methods, report, runner, stored
from benchmarks.papers import tables_3
from benchmarks.report import Comparison

NAME = "r_packages"
SCORES = ("nmi", "ari")
METHODS = {"NCutH": methods.ncuth, "MDH": methods.mdh}
BESIDE = {"NCutH": "ncutdc_std", "MDH": "mddc_std"}
SPECTRAL = {
    "SCPP, standard Laplacian": {"SCP2_o": "scpp_standard", "SCP2_c": "scpp_standard"},
    "SCPP, normalized Laplacian": {"SCnP2_o": "scpp_normalised", "SCnP2_c": "scpp_normalised"},
}


def side_by_side(stem: Path, score: str, columns: Mapping[str, str]) -> pd.DataFrame:
    """Data sets that both sides finished × (method, ours | R | difference)."""
    ours = report.pivot(stored.read_table(stem), score, list(columns))
    theirs = stored.read_table(stem.with_name("r_packages_reference")).pivot(
        index="dataset", columns="method", values=score
    )
    frame = pd.DataFrame(index=ours.index)
    for method, column in columns.items():
        frame[method, "ours"], frame[method, "R"] = ours[method], theirs[column].reindex(ours.index)
        frame[method, "difference"] = frame[method, "ours"] - frame[method, "R"]
    return frame.dropna()


def comparison(stem: Path, title: str, score: str, columns: Mapping[str, str]) -> Comparison:
    frame = side_by_side(stem, score, columns)
    differences = pd.DataFrame({method: frame[method, "difference"] for method in columns})
    return Comparison(f"{title}: {report.TITLES[score]}", differences)


def table(stem: Path, title: str, score: str, columns: Mapping[str, str]) -> str:
    """One score, with the mean."""
    frame = side_by_side(stem, score, columns)
    frame.loc[f"mean of {len(frame)}"] = frame.mean()
    heads = [f"{method}, ravine" if part == "ours" else part for method, part in frame.columns]
    lines = [
        [name, *(f"{v:+.3f}" if head == "difference" else f"{v:.3f}" for v, head in zip(row, heads, strict=True))]
        for name, row in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    compared = comparison(stem, title, score, columns)
    return report.section(compared.title, compared.lower(), report.grid(["data set", *heads], lines))


Parts = list[tuple[Path, str, str, Mapping[str, str]]]


def parts(stem: Path) -> Parts:
    """Return the files of ravine's results, title, score and columns of each table."""
    found: Parts = [(stem, "PPCI", score, BESIDE) for score in SCORES]
    spectral = stem.with_name(tables_3.NAME)
    if spectral.with_suffix(".csv").exists():
        found += [(spectral, title, "v", columns) for title, columns in SPECTRAL.items()]
    return found


def comparisons(stem: Path) -> list[Comparison]:
    return [comparison(*part) for part in parts(stem)]


def page(stem: Path) -> str:
    return stored.page("Methods with k given", stem, [table(*part) for part in parts(stem)])


if __name__ == "__main__":
    runner.run(METHODS, name=NAME, description=__doc__, page=page)
