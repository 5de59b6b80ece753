"""Plot of evaluations on a stream: scores over the rows, of one model or several, and the events of one model."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ravine._names import shown
from ravine.plot._common import COLORS, FAINT, LEFT, LINE, MARKERS, RIGHT, new_axes, refusal, written
from ravine.tree._text import counted, shortened

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
"""Colors and dashes of the metrics of one model. In a comparison, metrics have the dashes, and models have colors and
markers."""

BETWEEN_MARKERS = 0.12
"""Distance of the markers on the line of a model, as a share of the diagonal of the axes."""

LONGEST = 30
"""Largest number of letters of a model's name in the legend."""

MARKS: dict[str, dict[str, Any]] = {
    "drift": {"ymax": 1.0, "colors": FAINT, "linewidth": 1.0},
    "withdrawal": {"ymax": 1.0, "colors": FAINT, "linewidth": 0.6, "linestyles": ":"},
    "split": {"ymax": 0.04, "colors": LINE, "linewidth": 0.8},
}
"""Lines of the events; heights are shares of the axes. Lines of splits are short because there may be hundreds."""

OTHER_MARK: dict[str, Any] = {"ymin": 0.94, "ymax": 1.0, "colors": LINE, "linewidth": 0.8}
"""Line of any other kind of event, for instance of a cluster that moved."""


def stream(
    evaluation: Any, *, metrics: Sequence[str] | None = None, events: str | None = None, ax: Axes | None = None
) -> Axes:
    """Plot the scores of the segments of a stream over its rows, of one model or of several.

    A gray line marks each drift that the model detected, a dotted line each cut that it withdrew, a short line at the
    bottom each new split, and a short line at the top any other event.

    Parameters
    ----------
    evaluation : ravine.evaluation.Evaluation or ravine.evaluation.Comparison
        Result of `ravine.evaluation.evaluate` or of `ravine.evaluation.compare`. A comparison has one line for each
        model and metric.
    metrics : sequence of str, optional
        Columns of ``evaluation.records`` to draw. Default: purity and V-measure for one model, V-measure for several,
        or the number of clusters if the classes are not known.
    events : str, optional
        Name of the model of a comparison whose events are drawn. Default: no events are drawn in a comparison.
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

    Three models on the same stream.

    .. plot::
        :include-source:
        :alt: V-measure of three models over 4,000 rows: all fall where a cluster moves, and rise at different rows.

        >>> import numpy as np
        >>> from ravine import HSDC, StreamClusterer, plot
        >>> from ravine.datasets import make_blobs
        >>> from ravine.evaluation import compare
        >>> from sklearn.cluster import MiniBatchKMeans
        >>> X, y = make_blobs(4000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
        >>> X[2000:] += np.where(y[2000:, None] == 0, [4.5, 0], 0)
        >>> models = {"StreamClusterer": StreamClusterer(), "HSDC": HSDC()}
        >>> models["k-means, k = 3"] = MiniBatchKMeans(3, random_state=0)
        >>> ax = plot.stream(compare(models, X, y), events="StreamClusterer")
    """
    found = _by_model(evaluation)
    if not all(each.records for each in found.values()):
        raise ValueError(
            "no segment was scored: the stream is shorter than two segments and the rows between them; use more rows"
        )
    if events not in (None, *found):
        names = ", ".join(repr(name) for name in found if name is not None) or "no name, since this is one model"
        raise ValueError(f"events={events!r} is not the name of a compared model: choose from {names}")
    is_comparison = None not in found
    metrics = _checked_metrics(found, metrics, is_comparison)
    if ax is None:
        ax = new_axes(8.5 if is_comparison else 7, 3.2)
    for each, name, style in _lines(found, metrics):
        rows, values = zip(*((record["row"], record[name]) for record in each.records), strict=True)
        ax.plot(rows, values, linewidth=1.3, **style)
    if is_comparison and len(metrics) > 1:
        for name, (_, dashes) in zip(metrics, cycle(STYLES), strict=False):
            ax.plot([], [], color=LINE, linestyle=dashes, linewidth=1.3, label=_in_words(name))  # for the legend
    if events in found:
        _mark_events(ax, found[events].events, "" if events is None else f"{_name_of(events)}: ")
    _label_axes(ax, metrics, is_comparison)
    return ax


def _by_model(evaluation: Any) -> Mapping[str | None, Any]:
    """Return the evaluations by the names of the models; the only one of an `Evaluation` has the name None."""
    if hasattr(evaluation, "evaluations"):
        found: Mapping[str | None, Any] = evaluation.evaluations
        return found
    if not (hasattr(evaluation, "records") and hasattr(evaluation, "events")):
        raise TypeError(refusal(evaluation, "stream", "the result of ravine.evaluation.evaluate(model, X, y)"))
    return {None: evaluation}


def _checked_metrics(
    found: Mapping[str | None, Any], metrics: Sequence[str] | None, is_comparison: bool
) -> Sequence[str]:
    """Return the columns to draw: those that are given if a model has them, or else the default."""
    columns = list(dict.fromkeys(name for each in found.values() for name in each.records[0]))
    if metrics is None:
        scores = [name for name in columns if name in SCORES]
        wanted = [name for name in ("purity", "v_measure") if name in scores]
        if is_comparison:  # one line for each model
            wanted = ["v_measure"] if "v_measure" in scores else scores[:1]
        return wanted or ["n_clusters"]
    unknown = [name for name in metrics if name not in columns]
    if unknown:
        raise ValueError(f"the evaluation has no {unknown[0]!r}: choose from {', '.join(columns)}")
    return metrics


def _lines(found: Mapping[str | None, Any], metrics: Sequence[str]) -> Iterator[tuple[Any, str, dict[str, Any]]]:
    """Yield evaluation, metric and style of each line; a model has no line for a metric that it does not have."""
    for k, (model, each) in enumerate(found.items()):
        of_model = {
            "color": COLORS[k % len(COLORS)],
            "marker": MARKERS[k % len(MARKERS)],
            "markersize": 4,
            "markevery": (BETWEEN_MARKERS * k / len(found), BETWEEN_MARKERS),  # side by side if lines coincide
        }
        label = None if model is None else _name_of(model)
        for name, (color, dashes) in zip(metrics, cycle(STYLES), strict=False):
            if model is None:
                yield each, name, {"color": color, "linestyle": dashes, "label": _in_words(name)}
            elif not all(math.isnan(record.get(name, math.nan)) for record in each.records):
                yield each, name, {**of_model, "linestyle": dashes, "label": label}
                label = None  # one entry of the legend for all metrics


def _mark_events(ax: Axes, events: Sequence[dict[str, Any]], whose: str) -> None:
    marks = [(kind, line, [event["row"] for event in events if event["kind"] == kind]) for kind, line in MARKS.items()]
    marks.append(("other event", OTHER_MARK, [event["row"] for event in events if event["kind"] not in MARKS]))
    for kind, line, rows in marks:
        if rows:
            label = whose + counted(len(rows), kind)
            ax.vlines(rows, label=label, transform=ax.get_xaxis_transform(), zorder=1, **{"ymin": 0, **line})


def _label_axes(ax: Axes, metrics: Sequence[str], is_comparison: bool) -> None:
    """Name the axes, and put the legend above them, or beside them if there are several models."""
    are_scores = all(name in SCORES for name in metrics)
    ax.set_ylim(0, 1.02 if are_scores else None)
    has_name = not are_scores or (is_comparison and len(metrics) == 1)
    ax.set(xlabel="row", ylabel=", ".join(map(_in_words, metrics)) if has_name else "score")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.spines[["top", "right"]].set_visible(False)
    n_entries = len(ax.get_legend_handles_labels()[0])  # none if no model of a comparison has the metric
    style: dict[str, Any] = {"frameon": False, "borderaxespad": 0}
    if n_entries and is_comparison:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), **style)
    elif n_entries:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=n_entries, **style)


def _name_of(model: str) -> str:
    return written(shortened(shown(model), LONGEST))


def _in_words(name: str) -> str:
    return NAMES.get(name) or written(shown(name))
