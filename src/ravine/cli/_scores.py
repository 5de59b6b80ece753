"""Prequential scores: do the clusters agree with known classes, on rows that were labeled before they were learned?

A table counts the rows by cluster and class. It is all that the scores need, and it is part of a checkpoint.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ravine._io import DataError
from ravine.metrics import contingency_scores
from ravine.tree._text import counted

MOST_CLASSES = 1000
"""Maximum number of classes. A column with more values does not hold classes."""

MOST_CLUSTERS = 1000
"""Number of clusters in the table. Beyond it, the rows of the cluster that got no row for longest no longer count."""

Table = dict[int, dict[str, int]]


class Scores:
    """Scores of the clusters of a stream.

    Parameters
    ----------
    label : str
        Name of the column with the classes.
    counts : sequence of pairs
        Clusters, in the order of their last rows, each with a dict of its number of rows by class.
    """

    def __init__(self, label: str, counts: Iterable[tuple[int, dict[str, int]]] = ()) -> None:
        self._label = label
        self._table: Table = {cluster: dict(classes) for cluster, classes in counts}
        self._classes = {name for classes in self._table.values() for name in classes}

    @property
    def counts(self) -> list[tuple[int, dict[str, int]]]:
        """The table, for a checkpoint."""
        return list(self._table.items())

    def add(self, clusters: Sequence[int], classes: Sequence[str | None]) -> None:
        """Count the rows of a batch. Rows without a class do not count."""
        for cluster, named in _tabulated(clusters, classes).items():
            before = Counter(self._table.pop(cluster, {}))
            self._table[cluster] = dict(before + Counter(named))
            self._classes |= named.keys()
        if len(self._classes) > MOST_CLASSES:
            raise DataError(
                f"--label: the column {self._label!r} has more than {MOST_CLASSES:,} different values: give a column "
                "of classes"
            )
        for cluster in list(self._table)[: max(len(self._table) - MOST_CLUSTERS, 0)]:
            del self._table[cluster]

    def __str__(self) -> str:
        n_rows = sum(sum(classes.values()) for classes in self._table.values())
        if not n_rows:
            return f"no scores: no row with a class in {self._label!r} was labeled"
        scores = _scores(self._table)
        return (
            f"purity {scores['purity']:.3f}, V-measure {scores['v_measure']:.3f} on {counted(n_rows, 'row')} that were "
            "labeled before they were learned"
        )


def batch_scores(clusters: Sequence[int], classes: Sequence[str | None]) -> dict[str, float | None]:
    """Return the scores of one batch; None if none of its rows has a cluster and a class."""
    table = _tabulated(clusters, classes)
    return {"purity": None, "v_measure": None, **(_scores(table) if table else {})}


def _tabulated(clusters: Sequence[int], classes: Sequence[str | None]) -> Table:
    table: Table = {}
    pairs = [(cluster, name) for cluster, name in zip(clusters, classes, strict=True) if name is not None]
    for (cluster, name), count in sorted(Counter(pairs).items()):
        table.setdefault(cluster, {})[name] = count
    return table


def _scores(table: Table) -> dict[str, Any]:
    """Return the scores of a table. They do not depend on its order."""
    names = sorted({name for classes in table.values() for name in classes})
    counts = np.array([[table[cluster].get(name, 0) for name in names] for cluster in sorted(table)])
    scores = contingency_scores(counts)
    return {"purity": scores["purity"], "v_measure": scores["nmi"]}
