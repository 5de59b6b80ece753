"""Plot of a stream over time: the clusters as stacked bands, and what happened to them."""

from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import MaxNLocator

from ravine._matrix import Floats
from ravine.cluster import StreamClusterer
from ravine.plot._common import COLORS, LEFT, LINE, PALE, RIGHT, fitted_as, new_axes, points
from ravine.tree._stream import KINDS
from ravine.tree._stream._history import OTHERS
from ravine.tree._stream._timeline import in_order_of_splits, with_fewer_bins
from ravine.tree._text import counted

MOST_DRAWN = 96
"""Maximum number of bins in the plot. Neighboring bins of a longer history are merged."""

SHADES = (0.0, 0.45, -0.35)
"""How much lighter or darker a color becomes each time when all colors are used."""

MARKS: dict[str, tuple[str, str]] = {
    "split": ("d", LINE),
    "appeared": ("^", "#228833"),
    "vanished": ("v", "#aa3377"),
    "returned": (">", "#33bbee"),
    "moved": ("o", LEFT),
    "merged": ("s", "#774411"),
    "drift": ("X", RIGHT),
}
"""Marker and color of each kind of event."""

LANE = 11
"""Height of the line of marks of one kind, in points."""

FEW_EVENTS = 24
"""Up to this many events also have a line across the bands. A drift always has one."""

FONT = 7.5
"""Font size of the labels of the bands, in points."""


def timeline(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the clusters of a stream over time, and what happened to them.

    Each cluster is a band, and its height is the cluster's share of the rows at that time. The parts of a cluster that
    was split follow it in the order of the bands. A cluster has the same color in every plot. Marks above the bands
    show the events, at the rows after which they were reported. If there are few events, a line through the bands
    shows each of them.

    Parameters
    ----------
    model : fitted StreamClusterer
        The model that follows the stream.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: the axes of a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the plot.

    See Also
    --------
    stream : Plot the scores of a model on a stream.
    ravine.report.write_stream : Write a page with the timeline, the events and the present clusters.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: Bands of four clusters over 9,000 rows. One pauses from row 3,000 to 4,500, and one begins at row 6,000.

        >>> import numpy as np
        >>> from ravine import StreamClusterer, plot
        >>> from ravine.datasets import make_blobs
        >>> X, y = make_blobs(12000, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
        >>> row = np.arange(12000)
        >>> pauses, begins_late = (y == 1) & (row > 4000) & (row < 7000), (y == 3) & (row < 9000)
        >>> model = StreamClusterer().fit(X[~pauses & ~begins_late])
        >>> ax = plot.timeline(model)
    """
    model = fitted_as(StreamClusterer, model, "timeline")
    history, events = with_fewer_bins(model.history_, MOST_DRAWN), model.events_
    order = in_order_of_splits(history["cluster_ids"], events)
    counts = history["counts"][:, order]
    tops = np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True)
    bottoms = np.column_stack([np.zeros(len(tops)), tops[:, :-1]])
    most = (counts > 0).sum(axis=1).max()
    ax = new_axes(8, min(max(3.2 + 0.08 * most, 4.0), 7.0)) if ax is None else ax
    edges = np.append(history["start"], history["stop"][-1])
    kinds = [kind for kind in KINDS if any(event["kind"] == kind for event in events)]
    lane = LANE / max(points(ax)[1] - LANE * (len(kinds) + 0.5), LANE)
    ax.set(xlim=(0, edges[-1]), ylim=(0, 1 + lane * (len(kinds) + 0.5) * (len(kinds) > 0)))
    _mark_events(ax, events, kinds, lane)
    _name_axes(ax, len(model._with_stream().nodes.leaves()), edges[-1])
    ax.figure.canvas.figure.draw_without_rendering()  # labels need the size that the layout gives to the axes
    for k, cluster in enumerate(history["cluster_ids"][order].tolist()):
        _draw_band(ax, edges, bottoms[:, k], tops[:, k], cluster)
        _label_band(ax, edges, bottoms[:, k], tops[:, k], cluster)
    return ax


def _name_axes(ax: Axes, n_clusters: int, n_rows: int) -> None:
    text = f"{counted(n_clusters, 'cluster')} after {counted(n_rows, 'row')}"
    ax.set_title(text, loc="left", fontsize="medium")
    ax.set(xlabel="row", ylabel="share of the rows", yticks=np.linspace(0, 1, 5))
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines["left"].set_bounds(0, 1)


def color_of(cluster: int) -> tuple[float, float, float]:
    """Return the color of a cluster, which depends on its identifier only."""
    if cluster == OTHERS:
        return to_rgb(PALE)
    color, shade = np.array(to_rgb(COLORS[cluster % len(COLORS)])), SHADES[cluster // len(COLORS) % len(SHADES)]
    mixed = color * (1 + shade) if shade < 0 else color + (1 - color) * shade
    return tuple(mixed.tolist())


def _draw_band(ax: Axes, edges: Floats, bottom: Floats, top: Floats, cluster: int) -> None:
    x = np.repeat(edges, 2)[1:-1]
    low, high = np.repeat(bottom, 2), np.repeat(top, 2)
    some = np.repeat(top > bottom, 2)
    band: dict[str, Any] = {"facecolor": color_of(cluster), "edgecolor": "white", "linewidth": 0.4}
    ax.fill_between(x, low, high, where=some, zorder=2, **band)


def _label_band(ax: Axes, edges: Floats, bottom: Floats, top: Floats, cluster: int) -> None:
    """Write the name of a cluster where its band has most room for it, if there is enough."""
    width, height = points(ax)
    per_row, per_share = width / edges[-1], height / np.ptp(ax.get_ylim())
    for text in ("others",) if cluster == OTHERS else (f"cluster {cluster}", str(cluster)):
        needed = (0.62 * FONT * len(text) + 4) / per_row
        ends = np.searchsorted(edges, edges[:-1] + needed)  # the bin after the last one below a label that starts here
        rooms = [
            top[i:end].min() - bottom[i:end].max() if end < len(edges) else 0.0 for i, end in enumerate(ends.tolist())
        ]
        i = int(np.argmax(np.round(rooms, 3)))
        if rooms[i] * per_share >= FONT + 1:
            y = (top[i : ends[i]].min() + bottom[i : ends[i]].max()) / 2
            x = (edges[i] + edges[ends[i]]) / 2
            around = [patheffects.withStroke(linewidth=2.5, foreground=color_of(cluster))]  # hides lines of events
            style: dict[str, Any] = {
                "fontsize": FONT,
                "ha": "center",
                "va": "center",
                "zorder": 4,
                "path_effects": around,
            }
            ax.text(x, y, text, color="white" if _is_dark(cluster) else LINE, **style)
            return


def _is_dark(cluster: int) -> bool:
    return float(np.dot(color_of(cluster), [0.299, 0.587, 0.114])) < 0.62


def _mark_events(ax: Axes, events: list[dict[str, Any]], kinds: list[str], height: float) -> None:
    """Draw a line of marks for each kind above the bands, with its name at the right."""
    for lane, kind in enumerate(kinds):
        rows = [event["row"] for event in events if event["kind"] == kind]
        marker, color = MARKS[kind]
        y = 1 + height * (len(kinds) - lane - 0.25)
        mark: dict[str, Any] = {"marker": marker, "markersize": 5, "markerfacecolor": color, "markeredgecolor": "white"}
        ax.plot(rows, np.full(len(rows), y), linestyle="none", markeredgewidth=0.4, clip_on=False, zorder=5, **mark)
        side = ax.get_yaxis_transform()
        ax.plot([1.02], [y], transform=side, linestyle="none", markeredgewidth=0.4, clip_on=False, **mark)
        name = counted(len(rows), kind) if kind in ("split", "drift") else f"{len(rows):,} {kind}"
        ax.text(1.035, y, name, transform=side, va="center", fontsize=FONT)
        ax.axhline(y, color=PALE, linewidth=0.5, zorder=1)
        if len(events) <= FEW_EVENTS or kind == "drift":
            ax.vlines(rows, 0, y, colors=LINE, linewidth=0.7, linestyles=":", zorder=3)
