"""Compare ravine's scores with those of a published table: code shared by the scripts of this folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks import report
from benchmarks.report import Comparison


@dataclass(frozen=True)
class Table:
    """One published table: data set -> scores, in the order of `columns`."""

    title: str
    score: str
    columns: Sequence[str]
    scores: Mapping[str, Sequence[float]]

    @property
    def name(self) -> str:
        return f"{self.title}: {report.TITLES[self.score]}"

    def published(self) -> pd.DataFrame:
        return pd.DataFrame.from_dict(self.scores, orient="index", columns=list(self.columns))


def data_sets(tables: Sequence[Table]) -> set[str]:
    """Names in any of the tables."""
    return {data for table in tables for data in table.scores}


def comparison(
    results: pd.DataFrame, table: Table, columns: Mapping[str, str], not_in_means: Collection[str] = ()
) -> Comparison:
    """Return ravine's scores minus the paper's for `columns`, method -> published column to compare with."""
    frame = side_by_side(results, table, columns)
    methods = [method for method, part in frame.columns if part == "ours"]
    differences = pd.DataFrame({method: frame[method, "difference"] for method in methods})
    return Comparison(table.name, differences, not_in_means)


def markdown(results: pd.DataFrame, table: Table, columns: Mapping[str, str], digits: int = 4) -> str:
    """Return a table: where ravine scores lower, one line per data set, three columns per method, and the mean."""
    frame = side_by_side(results, table, columns)
    common = report.comparable(frame)
    frame.loc[f"mean of {len(common)}"] = common.mean()
    heads = [f"{method}, ravine" if part == "ours" else part for method, part in frame.columns]
    lines = [
        [name, *(_number(value, column, digits) for value, column in zip(row, frame.columns, strict=True))]
        for name, row in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    note = comparison(results, table, columns).lower()
    return report.section(table.name, note, report.grid(["data set", *heads], lines))


def side_by_side(results: pd.DataFrame, table: Table, columns: Mapping[str, str]) -> pd.DataFrame:
    """Data sets × (method, ours | paper | difference) for `columns`, method -> published column."""
    methods = [method for method, column in columns.items() if column in table.columns]
    ours, paper = report.pivot(results, table.score, methods), table.published()
    frame = pd.DataFrame(index=[data for data in paper.index if data in ours.index])
    for method in methods:
        frame[method, "ours"] = ours[method]
        frame[method, "paper"] = paper[columns[method]]
        frame[method, "difference"] = frame[method, "ours"] - frame[method, "paper"]
    return frame


def with_published(results: pd.DataFrame, table: Table, methods: Sequence[str]) -> pd.DataFrame:
    """Data sets that were run × our methods and then every published column."""
    ours, paper = report.pivot(results, table.score, methods), table.published()
    run = [data for data in paper.index if data in ours.index]
    return ours.loc[run].add_suffix(", ravine").join(paper.add_suffix(", paper"))


def _number(value: float, column: tuple[str, str], digits: int) -> str:
    if np.isnan(value):
        return "–"
    shown = round(float(value), digits) + 0.0  # no negative zero
    return f"{shown:+.{digits}f}" if column[1] == "difference" else f"{shown:.{digits}f}"
