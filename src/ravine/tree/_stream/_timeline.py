"""The history of a stream as plots and reports draw it: with fewer bins, and with the parts of a split side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ravine._matrix import Ints


def with_fewer_bins(history: dict[str, Any], most: int) -> dict[str, Any]:
    """Merge neighboring bins of `StreamClusterer.history_`, by a power of two, until there are at most `most`.

    Examples
    --------
    >>> history = {"start": np.arange(5), "stop": np.arange(1, 6), "cluster_ids": [7], "counts": np.ones((5, 1))}
    >>> fewer = with_fewer_bins(history, 3)
    >>> fewer["start"].tolist(), fewer["stop"].tolist(), fewer["counts"].tolist()
    ([0, 2, 4], [2, 4, 5], [[2.0], [2.0], [1.0]])
    """
    n_bins, together = len(history["start"]), 1
    while -(-n_bins // together) > most:
        together *= 2
    first = np.arange(0, n_bins, together)
    return {
        **history,
        "start": history["start"][first],
        "stop": history["stop"][np.minimum(first + together, n_bins) - 1],
        "counts": np.add.reduceat(history["counts"], first, axis=0),
    }


def in_order_of_splits(cluster_ids: Ints, events: Sequence[dict[str, Any]]) -> list[int]:
    """Return the positions of clusters in an order in which the parts of a split follow the cluster that was split.

    Examples
    --------
    >>> in_order_of_splits(np.array([0, 1, 2, 3]), [{"kind": "split", "node": 0, "clusters": [2, 3]}])
    [0, 2, 3, 1]
    """
    position = {cluster: k for k, cluster in enumerate(np.asarray(cluster_ids).tolist())}
    parts: dict[int, list[int]] = {}
    for event in events:
        if event["kind"] == "split":
            parts.setdefault(event["node"], []).extend(event["clusters"])
    of_others = {part for clusters in parts.values() for part in clusters}
    first = [cluster for cluster in position if cluster not in of_others]
    order: list[int] = []
    seen: set[int] = set()
    # A cluster may be gone from the history while its parts are not: it is followed all the same.
    stack = [*position, *sorted(set(parts) - of_others - set(position), reverse=True), *first[::-1]]
    while stack:
        cluster = stack.pop()
        if cluster in seen:
            continue
        seen.add(cluster)
        if cluster in position:
            order.append(position[cluster])
        stack += parts.get(cluster, [])[::-1]
    return order
