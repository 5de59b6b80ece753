"""Turn the rows of a run into Markdown: data sets × methods for each score, and times as ratios to the first method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from ravine.metrics import regret

TITLES = {"nmi": "NMI (geometric)", "ari": "Adjusted Rand index", "v": "V-measure", "purity": "Purity"}


def pivot(results: pd.DataFrame, column: str, methods: Sequence[str]) -> pd.DataFrame:
    """Mean over the seeds, data sets × methods; NaN where a seed did not finish."""
    finished = results[column].where(results["status"] == "ok")
    means = finished.groupby([results["dataset"], results["method"]]).agg(lambda seeds: seeds.mean(skipna=False))
    return means.unstack().reindex(columns=list(methods))


def comparable(table: pd.DataFrame) -> pd.DataFrame:
    """The data sets that every method finished, leaving aside methods that finished none."""
    return table.dropna(axis="columns", how="all").dropna()


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _numbers(values: Iterable[float], best: Callable[[list[float]], float] | None) -> list[str]:
    shown = [round(float(value), 3) for value in values]
    finite = [value for value in shown if np.isfinite(value)]
    top = best(finite) if best and finite else None
    return ["–" if np.isnan(v) else f"**{v:.3f}**" if v == top else f"{v:.3f}" for v in shown]


def _head(columns: Iterable[str]) -> list[str]:
    names = list(columns)
    return [_line(["data set", *names]), _line(["---", *["---:"] * len(names)])]


def score_table(results: pd.DataFrame, score: str, methods: Sequence[str]) -> str:
    """One score, with its mean and the mean regret."""
    return score_lines(TITLES[score], pivot(results, score, methods))


def score_lines(title: str, table: pd.DataFrame, *, normalize: bool = False) -> str:
    """Data sets × methods, with the mean and the mean (normalised) regret; the best of each line in bold."""
    common = comparable(table)
    mean = common.mean().reindex(table.columns)
    behind = pd.DataFrame(regret(table, normalize=normalize), table.index, table.columns).loc[common.index]
    lines = _head(table.columns)
    lines += [_line([name, *_numbers(row, max)]) for name, row in zip(table.index, table.to_numpy(), strict=True)]
    lines.append(_line([f"mean of {len(common)}", *_numbers(mean, max)]))
    kind = "normalised regret" if normalize else "regret"
    lines.append(_line([f"mean {kind} of {len(common)}", *_numbers(behind.mean(), min)]))
    return "\n".join([f"## {title}", "", *lines])


def time_table(results: pd.DataFrame, methods: Sequence[str]) -> str:
    """Seconds of the first method and every method's ratio to it; the fastest of each line in bold."""
    seconds = pivot(results, "fit_s", methods)
    unit = seconds[methods[0]]
    ratio = seconds.div(unit, axis="index")
    common = comparable(ratio)
    mean = np.exp(np.log(common).mean()).reindex(ratio.columns)
    lines = _head([f"{methods[0]}, s", *ratio.columns])
    for name, row in zip(ratio.index, ratio.to_numpy(), strict=True):
        lines.append(_line([name, *_numbers([unit[name]], None), *_numbers(row, min)]))
    lines.append(_line([f"geometric mean of {len(common)}", "", *_numbers(mean, min)]))
    return "\n".join([f"## Time to fit, as a ratio to {methods[0]}", "", *lines])


def unfinished(results: pd.DataFrame) -> str:
    """Every fit that did not finish and why."""
    failed = results[results["status"] != "ok"]
    lines = [f"- {row.dataset}, {row.method}, seed {row.seed}: {row.status}" for row in failed.itertuples()]
    return "\n".join(["## Did not finish", "", *lines]) if lines else ""


def markdown(results: pd.DataFrame, scores: Sequence[str], methods: Sequence[str]) -> str:
    """All tables of a run; one method alone has no ratios."""
    known = results[results["method"].isin(methods)]
    parts = [score_table(known, score, methods) for score in scores]
    parts += [time_table(known, methods)] if len(methods) > 1 else []
    parts += [unfinished(known)]
    return "\n\n".join(part for part in parts if part)
