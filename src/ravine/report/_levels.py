"""Several clusterings of the same rows, of which the page shows one at a time.

They need not be nested, so a cluster is a node of its own unless another clustering has exactly the same rows.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ravine._matrix import Ints
from ravine.report import _clusters, _nodes
from ravine.report._data import ReportData
from ravine.report._sample import LeafRanges, Sample


@dataclass(frozen=True, eq=False)
class Levels:
    """Clusterings of the rows of a report, all of which are in its sample.

    Parameters
    ----------
    labels : list of ndarray of shape (n_rows,)
        Cluster of each row, one array for each clustering.
    nodes : list of list of int
        Node of each cluster. The clusters of the fit are the nodes from 1 on.
    chosen : int
        Position of the clustering of the fit.
    """

    labels: list[Ints]
    nodes: list[list[int]]
    chosen: int

    @classmethod
    def of(cls, rows: ReportData, labels: list[Ints], chosen: int) -> "Levels":
        """Number the nodes of the clusterings. The one at `chosen` is that of the report."""
        known: dict[bytes, int] = {}
        nodes: list[list[int]] = [[] for _ in labels]
        for level in [chosen, *(i for i in range(len(labels)) if i != chosen)]:
            n_clusters = len(rows.leaf_count) if level == chosen else int(labels[level].max()) + 1
            for cluster in range(n_clusters):
                key = np.packbits(labels[level] == cluster).tobytes()
                node = len(known) + 1
                nodes[level].append(known.setdefault(key, node))
        return cls(labels, nodes, chosen)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, with the one that holds all rows."""
        return 1 + max(max(nodes) for nodes in self.nodes)

    @property
    def others(self) -> list[tuple[Ints, list[int]]]:
        """The clusterings that are not that of the fit, with the nodes of their clusters."""
        parts = zip(self.labels, self.nodes, strict=True)
        return [part for level, part in enumerate(parts) if level != self.chosen]

    def _new(self) -> list[tuple[Ints, dict[int, int]]]:
        """Return the labels of each clustering, and its clusters that are not yet nodes, with their nodes."""
        n_known, new = max(self.nodes[self.chosen]), []
        for labels, nodes in self.others:
            new.append((labels, {cluster: node for cluster, node in enumerate(nodes) if node > n_known}))
            n_known = max([n_known, *nodes])
        return new

    def describe(self, rows: ReportData) -> list[dict[str, Any]]:
        """Return the entries of the nodes after those of the fit, in order."""
        new = self._new()
        sizes = [int(np.count_nonzero(labels == cluster)) for labels, nodes in new for cluster in nodes]
        n_points, entries = iter(_nodes.points_each(sizes)), []
        for labels, nodes in new:
            if nodes:
                count = np.bincount(labels)
                part = replace(rows, cluster=labels, leaf_count=count)
                sample = Sample(part, LeafRanges.of_groups(len(count)))
            for cluster in nodes:
                typical = _clusters.typical(sample, sample.of(cluster + 1))
                picture = _nodes.leaf_picture(sample, cluster + 1, next(n_points), None)
                entries.append({"rows": int(count[cluster]), "evidence": "", "cut": False, **typical, **picture})
        return entries

    def class_counts(self, rows: ReportData) -> tuple[Ints, list[Ints]]:
        """Return the classes of the rows of the nodes after those of the fit, and the table of each clustering."""
        assert rows.classes is not None
        assert rows.contingency is not None
        n_classes = rows.contingency.shape[1]
        tables = [_contingency(labels, rows.classes, n_classes) for labels in self.labels]
        tables[self.chosen] = rows.contingency
        others = (table for level, table in enumerate(tables) if level != self.chosen)
        new = [table[list(nodes)] for table, (_, nodes) in zip(others, self._new(), strict=True)]
        return np.vstack([rows.contingency[:0], *new]), tables

    def summary(self, rows: ReportData, listed: list[int]) -> dict[str, Any]:
        """Return what the page needs: the nodes of each clustering, and to which of them each listed row belongs.

        Rows that are together in all clusterings form a part. A row has the number of its part, and a clustering has
        the node of each part.
        """
        parts, part_of = self.parts()
        place = {number: i for i, number in enumerate(rows.number.tolist())}
        return {
            "chosen": self.chosen,
            "nodes": self.nodes,
            "part_of": part_of[[place[number] for number in listed]].tolist() if listed else [],
            "parts": [[nodes[c] for c in part.tolist()] for nodes, part in zip(self.nodes, parts, strict=True)],
        }

    def parts(self) -> tuple[Ints, Ints]:
        """Return the cluster of each part in each clustering, and the part of each row."""
        parts, part_of = np.unique(np.stack(self.labels), axis=1, return_inverse=True)
        return parts, np.asarray(part_of).ravel()


def _contingency(labels: Ints, classes: Ints, n_classes: int) -> Ints:
    table = np.zeros((int(labels.max()) + 1, n_classes), dtype=np.int64)
    np.add.at(table, (labels, classes), 1)
    return table
