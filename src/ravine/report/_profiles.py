"""What the rows of every node look like, in the columns and units of the user's table.

The leaves of a tree are disjoint, and so are the other nodes of one depth. So one call of `ravine.explain.profile` for
the leaves, and one for each depth, describes all nodes. For a model without a tree, a single call does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ravine._matrix import Floats, Ints
from ravine._names import shown
from ravine.explain import ColumnProfile, Profiles, cluster_names, profile, sentence
from ravine.explain._format import name_text, share_text
from ravine.explain._profiles import typical_level
from ravine.explain._sentences import value_text
from ravine.report._data import ReportData
from ravine.report._format import MAX_NAME
from ravine.report._levels import Levels
from ravine.report._sample import LeafRanges
from ravine.report._table import Table, Units, profiled
from ravine.tree import HyperplaneTree
from ravine.tree._text import shortened

MOST_COLUMNS, FEWEST_COLUMNS, MOST_CELLS = 64, 6, 6000
"""The page has profiles of at most `MOST_COLUMNS` columns, and of fewer if nodes times columns exceed `MOST_CELLS`."""

MOST_COMPARED, MOST_TOLD = 256, 24
"""Of more columns than the first, those whose means differ most between clusters are compared. The sentence about a
node that is not a leaf chooses from the second number of columns, or from those on the page if these are more."""

MOST_WORK, FEWEST_ROWS = 4_000_000, 2000
"""A profile reads rows times columns times depths. If this exceeds `MOST_WORK`, it reads fewer rows."""

N_LEVELS, MOST_LEVELS = 6, 10
"""Levels of a category on the page: the most frequent ones, and up to the second number with those of a cluster."""

N_TOP = 6
"""Number of columns in which a node differs most, for the values of single rows."""

LONGEST_NAME, LONGEST_TEXT = 40, 400
"""Longest name of a column in a sentence, and longest sentence and name of a cluster, in characters."""

MISSING = 0.01
"""A share of gaps below this is not mentioned."""


@dataclass(frozen=True, eq=False)
class NodeProfiles:
    """Profiles of all nodes but the root.

    Parameters
    ----------
    names : list of str
        Columns of the table that the page shows.
    used : set of str
        Columns that the model uses.
    n_left_out : int
        Number of columns that the page does not show.
    n_rows : int
        Number of rows of the sample that were read.
    units : dict of str to (str, str)
        Text before and after numbers.
    leaves : Profiles
        Profiles of the leaves or groups, by their number.
    parts : list of tuple of Profiles and dict
        Profiles of disjoint nodes, and the node of each of their labels.
    """

    names: list[str]
    used: set[str]
    n_left_out: int
    n_rows: int
    units: Units
    leaves: Profiles
    parts: list[tuple[Profiles, dict[int, int]]]

    @classmethod
    def of(
        cls,
        rows: ReportData,
        table: Table,
        tree: HyperplaneTree | None,
        ranges: LeafRanges,
        levels: Levels | None = None,
    ) -> "NodeProfiles | None":
        """Profiles of the nodes of a tree, or of the groups of a model without one; None if there is nothing to say.

        With levels, these are the clusters of all of them.
        """
        used, others = profiled(table, rows.columns)
        n_nodes = len(ranges.first) if levels is None else levels.n_nodes
        (label, node_of), *more = _clusterings(rows, tree, ranges, levels)
        n_leaves = len(node_of)
        if n_leaves < 2 or not (label >= 0).any() or not used:
            return None
        n_depths = 1 + len(more) if tree is None else 1 + int(tree.depth[~tree.is_leaf].max())
        compared = _telling_means(table, used, others, label)
        part = _first(len(label), MOST_WORK // (len(compared) * n_depths))
        label, some = label[part], {name: table[name][part] for name in compared}
        leaves = profile(some, label)
        if not len(leaves.clusters):
            return None
        ranked = _ranked(leaves, set(used))
        n_kept = min(max(MOST_CELLS // n_nodes, FEWEST_COLUMNS), MOST_COLUMNS)
        kept = sorted(ranked[:n_kept], key=compared.index)
        told = {name: some[name] for name in sorted(ranked[: max(n_kept, MOST_TOLD)], key=compared.index)}
        parts = [(leaves, dict(enumerate(node_of)))]
        parts += [(profile(told, labels[part]), dict(enumerate(nodes))) for labels, nodes in more]
        if tree is not None:
            for depth in range(1, n_depths):
                inside = np.flatnonzero(~tree.is_leaf & (tree.depth == depth))
                of_leaf = np.full(n_leaves + 1, -1)
                for number, node in enumerate(inside):
                    of_leaf[ranges.first[node] : ranges.end[node]] = number
                parts.append((profile(told, of_leaf[label]), dict(enumerate(inside.tolist()))))
        n_all = len(used) + len(others)
        return cls(kept, set(used), n_all - len(kept), len(part), rows.units, leaves, parts)

    @cached_property
    def columns(self) -> list[ColumnProfile]:
        """Profiles of the columns on the page, in the leaves."""
        return [self.leaves.column(name) for name in self.names]

    @cached_property
    def _levels(self) -> dict[str, list[int]]:
        """Positions of the levels on the page, for each category."""
        return {column.name: _shown_levels(column) for column in self.columns if not column.is_ordered}

    def node_words(self) -> dict[int, dict[str, Any]]:
        """Return the name and the sentence of each node that has rows in the sample."""
        found = {}
        units = {_short(name): unit for name, unit in self.units.items()}
        for profiles, node_of in self.parts:
            own = _with_short_names(_only(profiles, self.used))
            for label, name in cluster_names(own).items():
                found[node_of[label]] = {
                    # The page tells twins apart, for any number of clusters.
                    "name": shortened(name.removesuffix(f" (cluster {label})"), LONGEST_TEXT),
                    "sentence": shortened(sentence(own, label, units=units), LONGEST_TEXT),
                }
        return found

    def node_cells(self) -> dict[int, list[list[Any]]]:
        """Return the cells of each node: text, signed difference in percent, and shares in tenths of percent."""
        found: dict[int, list[list[Any]]] = {}
        for profiles, node_of in self.parts:
            at_column = {column.name: column for column in profiles.columns}
            for at, label in enumerate(profiles.clusters.tolist()):
                found[node_of[label]] = [self._cell(at_column[name], at) for name in self.names]
        return found

    def top_columns(self) -> dict[int, list[int]]:
        """Return the columns on the page in which each node differs most, those that the model uses first."""
        found = {}
        place = {name: j for j, name in enumerate(self.names)}
        for profiles, node_of in self.parts:
            for label in profiles.clusters.tolist():
                ranked = [profiles.columns[j].name for j in profiles.ranked_columns(label)]
                on_page = [name for name in ranked if name in place]
                on_page.sort(key=lambda name: name not in self.used)
                found[node_of[label]] = [place[name] for name in on_page[:N_TOP]]
        return found

    def summary(self) -> dict[str, Any]:
        """Return what the page shows about the columns; the nodes have their own entries."""
        shown_leaves = _only(self.leaves, set(self.names))
        order = shown_leaves.column_order
        telling = shown_leaves.difference.mean(axis=0)[order].round(6)
        half = len(order) // 2
        if telling[:half].sum() < telling[len(order) - half :].sum():
            order = order[::-1]  # what tells most comes first
        by_name = [column.name for column in self.leaves.columns if column.name in set(self.names)]
        place = {name: j for j, name in enumerate(self.names)}
        return {
            "columns": [self._described(column) for column in self.columns],
            "order": [place[by_name[j]] for j in order.tolist()],
            "nodes": [self.parts[0][1][leaf] for leaf in self.leaves.clusters[self.leaves.cluster_order].tolist()],
            "left_out": self.n_left_out,
            "n_rows": self.n_rows,
        }

    def _described(self, column: ColumnProfile) -> dict[str, Any]:
        text, _, bins = self._cell(column, len(self.leaves.clusters))
        about: dict[str, Any] = {
            "name": shown(column.name),
            "kind": column.kind,
            "used": column.name in self.used,
            "all": text,
            "bins": bins,
        }
        if column.is_ordered:
            unit = self.units.get(column.name, ("", ""))
            return about | {
                "edges": [value_text(column, edge, unit) for edge in column.edges],
                "beyond": [bool(side > 0) for side in column.beyond[-1]],
            }
        levels = [shortened(name_text(column.levels[j]), MAX_NAME) for j in self._levels[column.name]]
        return about | {"levels": [*levels, "other", "missing"]}

    def _cell(self, column: ColumnProfile, at: int) -> list[Any]:
        signed = 0
        if at < len(column.difference):
            signed = round(100 * float(column.difference[at]) * (-1 if column.direction[at] < 0 else 1))
        return [self.cell_text(column, at), signed, self._bins(column, at)]

    def cell_text(self, column: ColumnProfile, at: int) -> str:
        """Return a column of a node in words: median and quartiles, or the most frequent levels with their shares."""
        gap_share = float(column.gap_share[at])
        if not column.count[at] > 0:
            return "all missing"
        if column.is_ordered:
            unit = self.units.get(column.name, ("", ""))
            first, median, third = (value_text(column, value, unit) for value in column.quartiles[at])
            text = median if first == third else f"{median} ({first} to {third})"
        else:
            text = _shares_text(column, at)
        return text if gap_share < MISSING else f"{text}; {share_text(gap_share)} missing"

    def _bins(self, column: ColumnProfile, at: int) -> list[int]:
        """Return the share of each bin, or of each level on the page, other levels and gaps, in tenths of percent."""
        if column.is_ordered:
            return _permille(column.histogram[at] / max(float(column.count[at]), 1e-300))
        levels = self._levels[column.name]
        shares = column.shares[at]
        others = shares[:-1].sum() - shares[levels].sum()
        return _permille(np.array([*shares[levels], others, shares[-1]]))


def _clusterings(
    rows: ReportData, tree: HyperplaneTree | None, ranges: LeafRanges, levels: Levels | None
) -> list[tuple[Ints, list[int]]]:
    """Return the clusters of the rows, and the node of each cluster: first those of the fit, then those of the levels.

    One cluster has no profile. If the fit has only one, the finest of the levels comes first.
    """
    n_leaves = int(ranges.end[0])
    is_leaf = ranges.end - ranges.first == 1
    is_leaf[0] &= tree is not None  # a model without a tree has a node for its only cluster
    fit = np.where(rows.cluster < n_leaves, rows.cluster, -1), np.flatnonzero(is_leaf).tolist()
    others = [] if levels is None else [other for other in levels.others if len(other[1]) > 1]
    if n_leaves > 1 or not others:
        return [fit, *others]
    return sorted(others, key=lambda other: -len(other[1]))


def _permille(shares: Floats) -> list[int]:
    return [int(value) for value in np.round(1000 * np.maximum(shares, 0.0))]


def _shares_text(column: ColumnProfile, at: int) -> str:
    """Return the two most frequent levels with their shares; of truth values, "yes"."""
    shares = column.shares[at, : len(column.levels)]
    if column.kind == "boolean" and "yes" in column.levels:
        return f"yes {share_text(float(shares[column.levels.index('yes')]))}"
    frequent = [j for j in np.argsort(-shares.round(9), kind="stable")[:2].tolist() if shares[j] > 0]
    return ", ".join(
        f"{shortened(name_text(column.levels[j]), MAX_NAME)} {share_text(float(shares[j]))}" for j in frequent
    )


def _shown_levels(column: ColumnProfile) -> list[int]:
    """Return the most frequent levels, and those that are typical of a cluster, in the order of their frequency."""
    shown = list(range(min(N_LEVELS, len(column.levels))))
    by_difference = np.argsort(-column.difference.round(9), kind="stable").tolist()
    for at in by_difference:
        level = typical_level(column, at)
        if level is not None and level not in shown and len(shown) < MOST_LEVELS:
            shown.append(level)
    return sorted(shown)


def _only(profiles: Profiles, names: set[str]) -> Profiles:
    """Return the profiles of some columns."""
    columns = tuple(column for column in profiles.columns if column.name in names)
    return Profiles(profiles.clusters, profiles.sizes, columns)


def _short(name: str) -> str:
    return shortened(shown(name), LONGEST_NAME)


def _with_short_names(profiles: Profiles) -> Profiles:
    columns = tuple(replace(column, name=_short(column.name)) for column in profiles.columns)
    return Profiles(profiles.clusters, profiles.sizes, columns)


def _ranked(leaves: Profiles, used: set[str]) -> list[str]:
    """Return the columns, those that tell the clusters apart most first, and those that the model ignores last."""
    weight = np.sqrt(leaves.sizes[:-1])
    score = (weight @ leaves.difference / weight.sum()).round(6)
    is_ignored = np.array([column.name not in used for column in leaves.columns])
    order = np.lexsort([np.arange(len(score)), -score, is_ignored])
    return [leaves.columns[j].name for j in order]


def _first(n_rows: int, most: int) -> Ints:
    """Return the rows to read: the sample is in random order, so its first rows are a sample, too."""
    return np.arange(min(n_rows, max(most, FEWEST_ROWS)))


def _telling_means(table: Table, used: Sequence[str], others: Sequence[str], label: Ints) -> list[str]:
    """Return the columns to compare, in the order of the table: all of them, or those whose means differ most."""
    names = [name for name in table if name in {*used, *others}]
    if len(names) <= MOST_COMPARED:
        return names
    known = label >= 0
    n_rows = np.bincount(label[known])
    score = {}
    for name in names:
        values = table[name]
        if values.dtype.kind != "f":
            score[name] = 1.0
            continue
        values = np.where(np.isfinite(values), values, 0.0)[known]
        spread = float(values.std())
        mean = np.bincount(label[known], values) / np.maximum(n_rows, 1)
        apart = (mean - values.mean()) / spread if spread > 0 else np.zeros(len(n_rows))
        score[name] = round(float(n_rows @ apart**2) / max(len(values), 1), 6) if spread > 0 else -1.0
    kept = set(sorted(names, key=lambda name: -score[name])[:MOST_COMPARED])
    return [name for name in names if name in kept]
