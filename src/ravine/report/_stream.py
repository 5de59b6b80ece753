"""The page of a stream: the clusters over time, what happened, and what the present clusters look like.

Everything comes from the fitted model: the counts from its history, the descriptions from the recent rows that each
cluster keeps. No rows need to be given.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ravine import __version__
from ravine._files import written_whole
from ravine._matrix import Floats
from ravine._names import shown
from ravine.cluster import StreamClusterer
from ravine.report._format import MAX_NAME, mean_and_spread, rounded
from ravine.report._page import STREAM_SCRIPTS, render
from ravine.report._summary import changed_parameters
from ravine.tree._stream import KINDS
from ravine.tree._stream._history import OTHERS
from ravine.tree._stream._present import Present, present_clusters
from ravine.tree._stream._timeline import in_order_of_splits, with_fewer_bins
from ravine.tree._text import counted, named, sets_apart, shortened

MOST_BINS = 128
"""Maximum number of bins of the timeline."""

RECENT_ROWS = 1000
"""The shares of the clusters are those of the last bins of the history that have at least this many rows."""

MOST_COLUMNS = 40
"""Number of columns that the page shows of each cluster: those in which it differs most from the others."""


def write_stream(
    model: Any,
    path: str | os.PathLike[str],
    *,
    feature_names: Sequence[str] | None = None,
    title: str | None = None,
) -> Path:
    """Write the report of a model that follows a stream to a file.

    The page shows the clusters over time, the events, and what the present clusters look like in the units of the data.

    Parameters
    ----------
    model : fitted StreamClusterer
        The model, also one that was saved with ``resume=True`` and loaded.
    path : path-like
        Path of the file. An existing file is replaced.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names that the estimator saw in `fit`, or x0, x1 and so on.
    title : str, optional
        Title of the page.

    Returns
    -------
    path : Path
        Path of the file.

    See Also
    --------
    stream_html : Return the same page as a string.
    write : Write the report of the present tree, with rows.
    ravine.plot.timeline : Plot the clusters over time.

    Examples
    --------
    >>> import tempfile
    >>> from ravine import StreamClusterer, report
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs(3000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = StreamClusterer().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.write_stream(model, folder + "/today.html", feature_names=["width", "height"]).name
    'today.html'
    """
    page = stream_html(model, feature_names=feature_names, title=title)
    with written_whole(path) as place:
        place.write_bytes(page.encode("utf-8"))
    return Path(path)


def stream_html(model: Any, *, feature_names: Sequence[str] | None = None, title: str | None = None) -> str:
    """Return the report of a model that follows a stream as an HTML page.

    Parameters
    ----------
    model : fitted StreamClusterer
        The model, also one that was saved with ``resume=True`` and loaded.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names that the estimator saw in `fit`, or x0, x1 and so on.
    title : str, optional
        Title of the page.

    Returns
    -------
    page : str
        A complete page that needs no network connection.

    See Also
    --------
    write_stream : Write the page to a file.

    Examples
    --------
    >>> from ravine import StreamClusterer, report
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs(3000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> page = report.stream_html(StreamClusterer().fit(X), title="Today")
    >>> page[:15], "<title>Today</title>" in page
    ('<!doctype html>', True)
    """
    if not isinstance(model, StreamClusterer):
        raise TypeError(
            f"this page shows a fitted StreamClusterer, not an object of type {type(model).__name__}: use report.write "
            "for other models"
        )
    check_is_fitted(model)
    return render(_summarize(model, feature_names, title), "stream.html", STREAM_SCRIPTS)


def _summarize(model: StreamClusterer, feature_names: Sequence[str] | None, title: str | None) -> dict[str, Any]:
    """Return everything that the page shows."""
    stream = model._with_stream()
    given = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    names = [shown(name) for name in named(stream.n_features, given, "model has")]
    present = present_clusters(stream)
    n_events = sum(model.n_events_.values())
    history, events = model.history_, model.events_
    finding = (
        f"{counted(len(present), 'cluster')} and {counted(n_events, 'event')} after {counted(stream.n_rows, 'row')}"
    )
    return {
        "title": shown(title or "Stream report"),
        "finding": f"{finding} × {counted(stream.n_features, 'column')}",
        "version": __version__,
        "method": {"name": type(model).__name__, "parameters": changed_parameters(model)},
        "preparation": None,
        "names": names,
        "n_rows": stream.n_rows,
        "timeline": _timeline(history, events, present),
        "kinds": [[kind, model.n_events_[kind]] for kind in KINDS if model.n_events_[kind]],
        "events": [_event(event) for event in events[::-1]],
        "clusters": _clusters(present, history, events, [shortened(name, MAX_NAME) for name in names]),
        "n_recent": int(_recent(history)["counts"].sum()),
        "window_size": int(model.window_size),
    }


def _event(event: dict[str, Any]) -> dict[str, Any]:
    more = {name: rounded(event[name], 3) for name in ("shift", "p_value") if name in event}
    return {name: event[name] for name in ("number", "kind", "row", "since", "text")} | more


def _timeline(
    history: dict[str, Any], events: Sequence[dict[str, Any]], present: Sequence[Present]
) -> dict[str, list[Any]]:
    """Return the bins, the clusters in the order of the bands, their counts, and their number after each bin."""
    drawn = with_fewer_bins(history, MOST_BINS)
    ids, counts = drawn["cluster_ids"], drawn["counts"]
    order = in_order_of_splits(ids, events)
    awake = [cluster.identity for cluster in present if not cluster.rests]
    begun = np.maximum.accumulate(counts > 0)
    has_more = np.maximum.accumulate((counts > 0)[::-1])[::-1]
    not_over = np.vstack([has_more[1:], np.zeros_like(has_more[:1])]) | np.isin(ids, awake)
    return {
        "start": drawn["start"].tolist(),
        "stop": drawn["stop"].tolist(),
        "ids": ids[order].tolist(),
        "counts": counts[:, order].T.tolist(),
        "n_clusters": (begun & not_over)[:, ids != OTHERS].sum(axis=1).tolist(),
    }


def _recent(history: dict[str, Any]) -> dict[str, Any]:
    """Return the last bins that have enough rows together."""
    first = max(int(np.searchsorted(history["start"], history["stop"][-1] - RECENT_ROWS, side="right")) - 1, 0)
    return {**history, "counts": history["counts"][first:]}


def _clusters(
    present: Sequence[Present], history: dict[str, Any], events: Sequence[dict[str, Any]], names: list[str]
) -> list[dict[str, Any]]:
    """Describe the present clusters, each in comparison with all others."""
    recent = _recent(history)
    n_recent = dict(zip(recent["cluster_ids"].tolist(), recent["counts"].sum(axis=0).tolist(), strict=True))
    n_rows = dict(zip(history["cluster_ids"].tolist(), history["counts"].sum(axis=0).tolist(), strict=True))
    means, deviations = (np.array([getattr(c, name) for c in present]) for name in ("mean", "deviation"))
    weights = np.array([n_recent.get(c.identity, 0) for c in present], dtype=np.float64)
    of_others, scale = _others(means, deviations, weights)
    described = []
    for k, cluster in enumerate(present):
        differs = len(present) > 1 and cluster.n_kept > 0
        z = (means[k] - of_others[k]) / scale if differs else np.zeros(len(names))
        columns = np.argsort(-np.abs(z), kind="stable")[:MOST_COLUMNS]
        described.append(
            {
                "id": cluster.identity,
                "share": rounded(weights[k] / max(weights.sum(), 1.0)),
                "rows": int(n_rows.get(cluster.identity, 0)),
                "since": _first_row(cluster.identity, history, events),
                "last": cluster.last,
                "rests": cluster.rests,
                "kept": cluster.n_kept,
                "words": sets_apart(z, names) if differs else "",
                "columns": [
                    {
                        "feature": int(j),
                        "text": mean_and_spread(means[k, j], deviations[k, j]),
                        "others": mean_and_spread(of_others[k, j], deviations[k, j])[0] if differs else None,
                        "difference": rounded(z[j], 3),
                    }
                    for j in columns.tolist()
                ]
                if cluster.n_kept
                else [],
            }
        )
    return described


def _others(means: Floats, deviations: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the mean of the other clusters for each cluster, and the deviation of each column over all clusters."""
    weights = weights + 1e-6 * max(weights.sum(), 1.0)  # clusters that rest still count if nothing else is there
    total = weights.sum()
    center = weights @ means / total
    apart = means - center
    variance = weights @ (deviations**2 + apart**2) / total
    scale = np.where(variance > 0, np.sqrt(variance), 1.0)
    rest = total - weights
    of_others = center - apart * (weights / np.where(rest > 0, rest, np.inf))[:, np.newaxis]
    return of_others, scale


def _first_row(cluster: int, history: dict[str, Any], events: Sequence[dict[str, Any]]) -> int:
    """Return the row since which a cluster exists: from its event, or else the first bin in which it has rows."""
    for event in events:
        if event["kind"] in ("appeared", "split") and cluster in event["clusters"]:
            return int(event["since" if event["kind"] == "appeared" else "row"])
    counts = history["counts"][:, history["cluster_ids"] == cluster].ravel()
    return int(history["start"][np.argmax(counts > 0)]) if counts.any() else int(history["stop"][-1])
