"""Our scores beside those of a published table: what the scripts of this folder share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks import report, runner
from benchmarks.worker import Methods


@dataclass(frozen=True)
class Table:
    """One published table: data set -> scores, in the order of `columns`."""

    title: str
    score: str
    columns: Sequence[str]
    scores: Mapping[str, Sequence[float]]

    def published(self) -> pd.DataFrame:
        return pd.DataFrame.from_dict(self.scores, orient="index", columns=list(self.columns))


def run(
    methods: Methods,
    tables: Sequence[Table],
    *,
    name: str,
    description: str | None,
    rows: Mapping[str, int] | None = None,
    same_as: Mapping[str, str] | None = None,
    argv: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Fit the methods on the data sets of the tables and write ours, the paper's and the difference.

    `same_as` has the methods that are another form of a published one: they are set beside its column. The other
    arguments are those of :func:`benchmarks.runner.run`.
    """
    columns = {method: (same_as or {}).get(method, method) for method in methods}
    return runner.run(
        methods,
        name=name,
        description=description,
        scores=[],
        among={data for table in tables for data in table.scores},
        rows=rows,
        appendix=lambda results: "\n\n".join(markdown(results, table, columns) for table in tables),
        argv=argv,
    )


def markdown(results: pd.DataFrame, table: Table, columns: Mapping[str, str]) -> str:
    """One table: a line a data set that was run, three columns a method, and the mean."""
    frame = beside(results, table, columns)
    common = report.comparable(frame)
    frame.loc[f"mean of {len(common)}"] = common.mean()
    heads = [f"{method}, {part}" if part == "ours" else part for method, part in frame.columns]
    lines = [[name, *map(_number, row, frame.columns)] for name, row in zip(frame.index, frame.to_numpy(), strict=True)]
    body = [["data set", *heads], ["---", *["---:"] * len(heads)], *lines]
    title = f"## {table.title}: {report.TITLES[table.score]}"
    return "\n".join([title, "", *(f"| {' | '.join(cells)} |" for cells in body)])


def beside(results: pd.DataFrame, table: Table, columns: Mapping[str, str]) -> pd.DataFrame:
    """Data sets × (method, ours | paper | difference) for `columns`, method -> published column it stands beside."""
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
    return ours.loc[run].add_suffix(", ours").join(paper.add_suffix(", paper"))


def _number(value: float, column: tuple[str, str]) -> str:
    if np.isnan(value):
        return "–"
    shown = round(float(value), 4) + 0.0  # no negative zero
    return f"{shown:+.4f}" if column[1] == "difference" else f"{shown:.4f}"
