"""Turn stored rows into Markdown: tables, where ravine scores lower, and times as ratios to the first method."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import pandas as pd

from ravine.metrics import regret

TITLES = {
    "nmi": "NMI (geometric)",
    "ari": "Adjusted Rand index",
    "v": "V-measure",
    "purity": "Purity",
    "success_ratio": "Success ratio",
    "binary_v": "Binary V-measure",
    "accuracy": "Accuracy",
}
MARGIN = 0.01
"""A score is listed if it is lower by more than this margin."""


@dataclass(frozen=True)
class Comparison:
    """The difference between ravine's score and another, lines × columns, for a score where more is better."""

    title: str
    differences: pd.DataFrame
    not_in_means: Collection[str] = ()

    def means(self) -> pd.Series[float]:
        """Return the mean of each column over the lines that it has."""
        return self.differences.drop(index=list(self.not_in_means), errors="ignore").mean()

    def not_lower(self) -> tuple[int, int]:
        """Return how many scores are not lower by more than the margin, and how many there are."""
        known = self.differences.stack().dropna()
        return int((known >= -MARGIN).sum()), len(known)

    def lower(self) -> str:
        """Return where ravine scores lower by more than the margin, the largest difference first, and the means."""
        found = []
        for column, values in self.differences.items():
            behind = values[values < -MARGIN].sort_values(kind="stable")
            if len(behind):
                names = ", ".join(f"{line} ({signed(value)})" for line, value in behind.items())
                found.append(f"{column} on {names}")
        means = ", ".join(f"{column} {signed(value)}" for column, value in self.means().items())
        where = "; ".join(found) or "none"
        return f"**Where ravine scores lower** by more than {MARGIN:g}: {where}. Mean difference: {means}."


def signed(value: float) -> str:
    """Format with three digits and a sign, with a minus that is as wide as a plus."""
    return f"{round(float(value), 3) + 0.0:+.3f}".replace("-", "−")


def slower(ours: pd.DataFrame, theirs: pd.DataFrame) -> str:
    """For seconds, lines × columns: return where ravine takes longer, the worst first, and the mean speedup."""
    ratios = theirs / ours
    found = []
    for column, values in ratios.items():
        behind = values[values < 1].sort_values(kind="stable")
        if len(behind):
            names = ", ".join(f"{line} ({1 / value:.3g} times as long)" for line, value in behind.items())
            found.append(f"{column} on {names}")
    means = ", ".join(f"{column} {value:.3g}" for column, value in np.exp(np.log(ratios).mean()).items())
    return f"**Where ravine is slower**: {'; '.join(found) or 'none'}. Speedup, geometric mean: {means}."


def grid(heads: Sequence[str], lines: Iterable[Sequence[str]], *, text: int = 1) -> str:
    """Return a table whose first `text` columns are not numbers."""
    rule = ["---"] * text + ["---:"] * (len(heads) - text)
    return "\n".join(_line(cells) for cells in [heads, rule, *lines])


def formatted(results: pd.DataFrame, formats: Mapping[str, str], *, text: int = 1) -> str:
    """Return the columns that have a format, as a table."""
    lines = [
        ["–" if pd.isna(record[name]) else form.format(record[name]) for name, form in formats.items()]
        for record in results.to_dict("records")
    ]
    return grid(list(formats), lines, text=text)


def section(title: str, *parts: str) -> str:
    """Return the parts under a heading."""
    return "\n\n".join([f"## {title}", *filter(None, parts)])


def pivot(results: pd.DataFrame, column: str, methods: Sequence[str]) -> pd.DataFrame:
    """Return means over the seeds, data sets × methods, with NaN where a seed did not finish."""
    finished = results[column].where(results["status"] == "ok")
    means = finished.groupby([results["dataset"], results["method"]]).agg(lambda seeds: seeds.mean(skipna=False))
    return means.unstack().reindex(columns=list(methods))


def comparable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the data sets that every method finished, ignoring methods that finished none."""
    return table.dropna(axis="columns", how="all").dropna()


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _numbers(
    values: Iterable[float], best: Callable[[list[float]], float] | None, missing: Iterable[str] = repeat("–")
) -> list[str]:
    shown = [round(float(value), 3) for value in values]
    finite = [value for value in shown if np.isfinite(value)]
    top = best(finite) if best and finite else None
    return [
        word if np.isnan(v) else f"**{v:.3f}**" if v == top else f"{v:.3f}"
        for v, word in zip(shown, missing, strict=False)
    ]


def score_table(results: pd.DataFrame, score: str, methods: Sequence[str], note: str = "") -> str:
    """Return the table of one score, with its mean and the mean regret."""
    return score_lines(TITLES[score], pivot(results, score, methods), note=note)


def score_lines(
    title: str, table: pd.DataFrame, *, normalize: bool = False, note: str = "", missing: pd.DataFrame | None = None
) -> str:
    """Return data sets × methods with the mean and the mean (normalized) regret; the best of each line is bold.

    `missing` has the words to show where there is no score.
    """
    common = comparable(table)
    mean = common.mean().reindex(table.columns)
    behind = pd.DataFrame(regret(table, normalize=normalize), table.index, table.columns).loc[common.index]
    words = repeat(repeat("–")) if missing is None else missing.loc[table.index, table.columns].to_numpy()
    lines = [
        [name, *_numbers(row, max, why)] for name, row, why in zip(table.index, table.to_numpy(), words, strict=False)
    ]
    lines.append([f"mean of {len(common)}", *_numbers(mean, max)])
    kind = "normalized regret" if normalize else "regret"
    lines.append([f"mean {kind} of {len(common)}", *_numbers(behind.mean(), min)])
    return section(title, note, grid(["data set", *table.columns], lines))


def time_table(results: pd.DataFrame, methods: Sequence[str]) -> str:
    """Return the seconds of the first method and every method's ratio to it; the fastest of each line is bold."""
    seconds = pivot(results, "fit_s", methods)
    unit = seconds[methods[0]]
    ratio = seconds.div(unit, axis="index")
    common = comparable(ratio)
    mean = np.exp(np.log(common).mean()).reindex(ratio.columns)
    lines = [
        [name, *_numbers([unit[name]], None), *_numbers(row, min)]
        for name, row in zip(ratio.index, ratio.to_numpy(), strict=True)
    ]
    lines.append([f"geometric mean of {len(common)}", "", *_numbers(mean, min)])
    heads = ["data set", f"{methods[0]}, s", *ratio.columns]
    return section(f"Time to fit, as a ratio to {methods[0]}", grid(heads, lines))


def clusters_found(results: pd.DataFrame, methods: Sequence[str], *, missing: pd.DataFrame | None = None) -> str:
    """Return the table of the number of classes and the number of clusters found; `missing` as in `score_lines`."""
    table = pivot(results, "k", methods)
    classes = results.groupby("dataset")["n_classes"].first()
    shown = table.map("{:.0f}".format).where(table.notna(), "–" if missing is None else missing)
    lines = [[name, f"{classes[name]}", *row] for name, row in zip(shown.index, shown.to_numpy(), strict=True)]
    common = comparable(table)
    means = common.assign(classes=classes).mean().reindex(["classes", *methods])
    lines.append([f"mean of {len(common)}", *("–" if np.isnan(mean) else f"{mean:.0f}" for mean in means)])
    return section("Clusters found", grid(["data set", "classes", *methods], lines))


def why_missing(results: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return data sets × methods: in a word or two, why there is no score."""
    why = results["status"].map(_why).groupby([results["dataset"], results["method"]]).max()
    return why.unstack(fill_value="not run").reindex(columns=list(methods), fill_value="not run")


def _why(status: str) -> str:
    if status == "ok":
        return ""
    if status == "timeout":
        return "not finished"
    return "not installed" if status.startswith("error: ModuleNotFoundError") else "failed"


def unfinished(results: pd.DataFrame) -> str:
    """List every fit that did not finish, and why."""
    failed = results[results["status"] != "ok"]
    lines = [f"- {row.dataset}, {row.method}, seed {row.seed}: {row.status}" for row in failed.itertuples()]
    return section("Did not finish", "\n".join(lines)) if lines else ""


def against(results: pd.DataFrame, score: str, pairs: Mapping[str, str]) -> Comparison:
    """Return one score of ravine's methods minus that of the methods that they are compared with."""
    found = pivot(results, score, list(dict.fromkeys([*pairs, *pairs.values()])))
    columns = {f"{ours} vs. {theirs}": found[ours] - found[theirs] for ours, theirs in pairs.items()}
    return Comparison(TITLES[score], pd.DataFrame(columns))


def markdown(
    results: pd.DataFrame, scores: Sequence[str], methods: Sequence[str], comparisons: Sequence[Comparison] = ()
) -> str:
    """Return all tables of a run, each below the comparison with its title; a single method has no ratios."""
    known = results[results["method"].isin(methods)]
    notes = {comparison.title: comparison.lower() for comparison in comparisons}
    parts = [score_table(known, score, methods, notes.get(TITLES[score], "")) for score in scores]
    parts += [time_table(known, methods)] if len(methods) > 1 else []
    parts += [unfinished(known)]
    return "\n\n".join(part for part in parts if part)
