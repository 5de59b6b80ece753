"""Plot of the evaluation of a stream: scores over the rows, and the events of the model."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ravine._names import shown
from ravine.plot._common import FAINT, LEFT, LINE, RIGHT, new_axes, refusal, written
from ravine.tree._text import counted

NAMES = {
    "v_measure": "V-measure",
    "nmi": "NMI",
    "ari": "ARI",
    "n_clusters": "number of clusters",
    "rows_per_second": "rows per second",
    "n_splits": "splits so far",
    "n_drifts": "drifts so far",
    "n_withdrawals": "withdrawals so far",
}
"""Labels of the columns whose names are not plain words."""

SCORES = ("purity", "v_measure", "nmi", "ari", "homogeneity", "completeness")
"""Columns whose best value is 1."""

STYLES = ((LEFT, "-"), (RIGHT, "--"), (LINE, ":"), (FAINT, "-."))

MARKS: dict[str, dict[str, Any]] = {
    "drift": {"ymax": 1.0, "colors": FAINT, "linewidth": 1.0},
    "withdrawal": {"ymax": 1.0, "colors": FAINT, "linewidth": 0.6, "linestyles": ":"},
    "split": {"ymax": 0.04, "colors": LINE, "linewidth": 0.8},
}
"""Lines of the events; heights are shares of the axes. Lines of splits are short because there may be hundreds."""


def stream(evaluation: Any, *, metrics: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Plot the scores of the segments of a stream over its rows.

    A gray line marks each drift that the model detected, a dotted line each cut that it withdrew, and a short line at
    the bottom each new split.

    Parameters
    ----------
    evaluation : ravine.evaluation.Evaluation
        Result of `ravine.evaluation.evaluate`.
    metrics : sequence of str, optional
        Columns of ``evaluation.records`` to draw. Default: purity and V-measure, or the number of clusters if the
        classes are not known.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: the axes of a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the plot.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: Purity and V-measure over 4,000 rows: both fall where a cluster moves, and recover after a drift.

        >>> import numpy as np
        >>> from ravine import HSDC, plot
        >>> from ravine.datasets import make_blobs
        >>> from ravine.evaluation import evaluate
        >>> X, y = make_blobs(4000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
        >>> X[2000:] += np.where(y[2000:, None] == 0, [4.5, 0], 0)
        >>> ax = plot.stream(evaluate(HSDC(), X, y))
    """
    if not (hasattr(evaluation, "records") and hasattr(evaluation, "events")):
        raise TypeError(refusal(evaluation, "stream", "the result of ravine.evaluation.evaluate(model, X, y)"))
    records = evaluation.records
    if not records:
        raise ValueError(
            "no segment was scored: the stream is shorter than two segments and the rows between them; use more rows"
        )
    if metrics is None:
        metrics = [name for name in ("purity", "v_measure") if name in records[0]] or ["n_clusters"]
    unknown = [name for name in metrics if name not in records[0]]
    if unknown:
        raise ValueError(f"the evaluation has no {unknown[0]!r}: choose from {', '.join(records[0])}")
    ax = new_axes(7, 3.2) if ax is None else ax
    rows = [record["row"] for record in records]
    for place, name in enumerate(metrics):
        color, dashes = STYLES[place % len(STYLES)]
        values = [record[name] for record in records]
        ax.plot(rows, values, color=color, linestyle=dashes, linewidth=1.3, label=_in_words(name))
    are_scores = all(name in SCORES for name in metrics)
    ax.set_ylim(0, 1.02 if are_scores else None)
    _mark_events(ax, evaluation.events)
    ax.set(xlabel="row", ylabel="score" if are_scores else ", ".join(map(_in_words, metrics)))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(metrics) + 2, frameon=False, borderaxespad=0)
    return ax


def _mark_events(ax: Axes, events: Sequence[dict[str, Any]]) -> None:
    for kind, line in MARKS.items():
        rows = [event["row"] for event in events if event["kind"] == kind]
        if rows:
            label = counted(len(rows), kind)
            ax.vlines(rows, 0, transform=ax.get_xaxis_transform(), label=label, zorder=1, **line)


def _in_words(name: str) -> str:
    return NAMES.get(name) or written(shown(name))
