"""The stability of a clustering in words: how often each number of clusters came out, and which clusters to trust."""

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ravine.tree._text import counted

if TYPE_CHECKING:
    from ravine.evaluation._stability import Stability

VERDICTS = ("stable", "uncertain", "not found again")
"""The verdicts about a cluster, the best first."""

MOST_NAMED = 12
"""Maximum number of clusters, or numbers of clusters, that a line lists."""

TOGETHER = 0.3
"""Two clusters are often together if rows of both are in the same cluster of a resample with at least this
probability."""

LONGEST = 200
"""Maximum number of letters of an error message."""


def in_words(found: "Stability") -> list[str]:
    """Return the lines that `print` shows."""
    lines = [number_of_clusters(found)]
    verdicts = np.array(found.verdicts)
    for verdict in VERDICTS:
        here = np.flatnonzero(verdicts == verdict)
        if len(here):
            lines.append(f"{verdict.capitalize()}: {_listed(found, here, verdict)}.")
    if found.errors:
        message = found.errors[0] if len(found.errors[0]) <= LONGEST else f"{found.errors[0][:LONGEST]}…"
        lines.append(f"{counted(len(found.errors), 'refit')} failed; the first error: {message}")
    return lines


def number_of_clusters(found: "Stability") -> str:
    """Return the sentence about the number of clusters."""
    n_resamples, counts = len(found.n_clusters), list(found.counts.items())
    parts = [f"{number} in {count}" for number, count in counts[1:MOST_NAMED]]
    if len(counts) > MOST_NAMED:
        parts.append(f"other numbers in {sum(count for _, count in counts[MOST_NAMED:])}")
    number, count = counts[0]
    first = f"{counted(number, 'cluster')} in {count} of {counted(n_resamples, 'resample')}"
    return f"{', '.join([first, *parts])}. The model has {counted(len(found.clusters), 'cluster')}."


def _listed(found: "Stability", here: np.ndarray, verdict: str) -> str:
    """Return the labels of some clusters, and how often each was found again unless they are stable."""
    labels = [str(found.clusters[i]) for i in here[:MOST_NAMED]]
    if verdict != "stable":
        labels = [f"{label} ({_details(found, i)})" for label, i in zip(labels, here, strict=False)]
    more = len(here) - len(labels)
    separator = ", " if verdict == "stable" else "; "
    noun = "cluster" if len(here) == 1 else "clusters"
    return f"{noun} {separator.join(labels)}" + (f"{separator}and {more} more" if more else "")


def _details(found: "Stability", i: int) -> str:
    n_compared = int((~np.isnan(found.jaccard[:, i])).sum())
    words = f"found again in {found.n_found_again[i]} of {n_compared}"
    if np.isnan(found.mean_jaccard[i]):
        return words
    words += f", mean overlap {found.mean_jaccard[i]:.2f}"
    others = [str(found.clusters[j]) for j in together_with(found, i)]
    return words + (f", often together with {', '.join(others)}" if others else "")


def together_with(found: "Stability", i: int) -> Iterator[int]:
    """Yield up to three clusters whose rows are often together with those of cluster i, the most frequent first."""
    together = np.round(found.co_membership[i], 6)  # so that the order does not depend on the last bit
    order = [j for j in np.argsort(-together, kind="stable") if j != i and together[j] >= TOGETHER]
    yield from order[:3]


def as_html(found: "Stability") -> str:
    """Return the lines and a table of the clusters for a notebook, with inline styles only."""
    head = ("cluster", "rows", "verdict", "found again", "mean overlap")
    n_resamples = len(found.n_clusters)
    shown = range(min(len(found.clusters), 30))
    cells = [
        (
            f"{found.clusters[i]}",
            f"{found.sizes[i]:,}",
            found.verdicts[i],
            f"{found.n_found_again[i]} of {n_resamples}",
            f"{found.mean_jaccard[i]:.2f}",
        )
        for i in shown
    ]
    style = 'style="padding:.15em .8em;text-align:right"'
    rows = "".join("<tr>" + "".join(f"<td {style}>{cell}</td>" for cell in row) + "</tr>" for row in cells)
    titles = "".join(f"<th {style}>{title}</th>" for title in head)
    lines = "".join(f"<div>{html.escape(line)}</div>" for line in in_words(found))
    more = len(found.clusters) - len(shown)
    rest = f"<div>and {more} more clusters, see to_frame()</div>" if more else ""
    return (
        f'<div style="margin:.5em 0;line-height:1.4">{lines}'
        f'<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:.5em 0">'
        f"<thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table></div>{rest}</div>"
    )
