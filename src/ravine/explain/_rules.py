"""The shortest description of each cluster by a few conditions, as text, SQL, Python or a frame.

The search runs on a sample of the rows and leaves others out, so that precision and coverage are also known on rows
that the search has not seen.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ravine.explain._conditions import Bools, Condition, mask_of
from ravine.explain._format import share_text
from ravine.explain._search import Search, part_of
from ravine.explain._sql import identifier, table_identifier, text_literal
from ravine.explain._table import Column, Ints, columns_of, labels_of

MOST_ROWS = 20_000
"""The search uses at most this many rows."""

SEARCHED, LEAST_ROWS = 0.75, 100
"""The search uses at most this share of the rows of a cluster, and all rows of a table that has fewer than this."""

SEED = 0
"""Seed of the sample: the same table gives the same rules."""


@dataclass(frozen=True)
class Rule:
    """Conditions that describe a cluster: a row satisfies the rule if it satisfies all of them.

    Parameters
    ----------
    cluster : int
        Label of the cluster.
    conditions : tuple of Condition
        The conditions; none if no condition tells the cluster from the other rows.
    size : int
        Number of rows of the cluster.
    precision : float
        Of the rows that satisfy the rule, the share that is in the cluster.
    coverage : float
        Of the rows in the cluster, the share that satisfies the rule.
    held_out_precision, held_out_coverage : float
        The same on rows that the search has not seen; NaN if there are none.

    See Also
    --------
    rules : Finds the rules of all clusters.

    Examples
    --------
    >>> from ravine.explain import rules
    >>> table = {"spend": [240, 310, 280, 1180, 1240, 1420]}
    >>> rule = rules(table, [0, 0, 0, 1, 1, 1]).rules[0]
    >>> rule.to_text(), rule.precision, rule.coverage
    ('spend < 1000', 1.0, 1.0)
    """

    cluster: int
    conditions: tuple[Condition, ...]
    size: int
    precision: float
    coverage: float
    held_out_precision: float
    held_out_coverage: float

    def to_text(self) -> str:
        """Return the conditions as text.

        Returns
        -------
        text : str
            Such as ``spend >= 820 and channel = 'app'``.
        """
        return " and ".join(condition.to_text() for condition in self.conditions) or "no rule found"

    def to_sql(self) -> str:
        """Return the conditions as SQL.

        Returns
        -------
        sql : str
            An expression for a WHERE clause, for instance.
        """
        return " AND ".join(condition.to_sql() for condition in self.conditions) or "1 = 0"


@dataclass(frozen=True)
class Rules:
    """A rule for each cluster, in the order in which they are applied.

    A row has the label of the first rule that it satisfies, and -1 if it satisfies none. The rules with the highest
    precision come first.

    Parameters
    ----------
    rules : tuple of Rule
        The rules.
    agreement : float
        Share of all rows whose label by the rules is their label.

    See Also
    --------
    rules : Finds the rules.
    tree_sql : Writes the exact tree of a model as SQL.

    Examples
    --------
    >>> from ravine.explain import rules
    >>> table = {
    ...     "spend": [240, 310, 280, 1180, 1240, 1420],
    ...     "channel": ["web", None, "web", "app", "app", "web"],
    ... }
    >>> found = rules(table, [0, 0, 0, 1, 1, 1])
    >>> print(found.to_text())
    cluster 0: spend < 1000 (precision 100 %, coverage 100 %)
    cluster 1: spend >= 1000 (precision 100 %, coverage 100 %)
    >>> found.predict({"spend": [100, None, 5000]})
    array([ 0, -1,  1])
    """

    rules: tuple[Rule, ...]
    agreement: float

    def of(self, cluster: int) -> Rule:
        """Return the rule of a cluster.

        Parameters
        ----------
        cluster : int
            Label of the cluster.

        Returns
        -------
        rule : Rule
            Its rule.
        """
        for rule in self.rules:
            if rule.cluster == cluster:
                return rule
        raise ValueError(f"there is no cluster {cluster!r}; the clusters are {sorted(r.cluster for r in self.rules)}")

    def predict(self, table: Any, feature_names: Sequence[str] | None = None) -> Ints:
        """Return the label of each row by the rules.

        Parameters
        ----------
        table : dict of arrays, frame of pandas or Polars, table of pyarrow, or matrix
            A table with the columns that the rules use.
        feature_names : sequence of str, optional
            Names of the columns, if the table is a matrix.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Label of the first rule that a row satisfies; -1 if it satisfies none.
        """
        columns = {column.name: column for column in columns_of(table, feature_names)}
        n_rows = len(next(iter(columns.values()))) if columns else 0
        return _first_label(self.rules, columns, n_rows)

    def to_text(self, cluster_names: Mapping[int, str] | None = None) -> str:
        """Return the rules as text.

        Parameters
        ----------
        cluster_names : dict of int to str, optional
            Names of the clusters.

        Returns
        -------
        text : str
            One line for each cluster, in the order of their labels.
        """
        lines = []
        for rule in sorted(self.rules, key=lambda rule: rule.cluster):
            name = f"cluster {rule.cluster}" if cluster_names is None else cluster_names[rule.cluster]
            figures = f"precision {share_text(rule.precision)}, coverage {share_text(rule.coverage)}"
            lines.append(f"{name}: {rule.to_text()}" + (f" ({figures})" if rule.conditions else ""))
        return "\n".join(lines)

    def to_sql(
        self,
        table_name: str | Sequence[str],
        cluster_names: Mapping[int, str] | None = None,
        *,
        column_name: str = "cluster",
    ) -> str:
        """Return the rules as a query in standard SQL, which adds the cluster to all columns of a table.

        Parameters
        ----------
        table_name : str or sequence of str
            Name of the table; a sequence has the name of its schema first.
        cluster_names : dict of int to str, optional
            Names of the clusters. The query returns these, and NULL for rows that satisfy no rule. Without names, it
            returns labels and -1.
        column_name : str, default="cluster"
            Name of the new column.

        Returns
        -------
        sql : str
            A SELECT statement without a semicolon. Dates are compared with texts such as ``'2024-03-01'``, and truth
            values with TRUE and FALSE. A gap must be NULL.

        Examples
        --------
        >>> from ravine.explain import rules
        >>> found = rules({"spend": [240, 310, 280, 1180, 1240, 1420]}, [0, 0, 0, 1, 1, 1])
        >>> print(found.to_sql("customers", {0: "low spend", 1: "high spend"}))
        SELECT *,
          CASE
            WHEN "spend" < 1000 THEN 'low spend'
            WHEN "spend" >= 1000 THEN 'high spend'
            ELSE NULL
          END AS "cluster"
        FROM "customers"
        """
        label = {rule.cluster: _label_sql(rule.cluster, cluster_names) for rule in self.rules}
        nothing = "-1" if cluster_names is None else "NULL"
        whens = [f"    WHEN {rule.to_sql()} THEN {label[rule.cluster]}" for rule in self.rules if rule.conditions]
        case = ["  CASE", *whens, f"    ELSE {nothing}", "  END"] if whens else [f"  {nothing}"]
        case[-1] += f" AS {identifier(column_name)}"
        return "\n".join(["SELECT *,", *case, f"FROM {table_identifier(table_name)}"])

    def to_python(self, function_name: str = "cluster_of") -> str:
        """Return the rules as the source text of a function of one row.

        Parameters
        ----------
        function_name : str, default="cluster_of"
            Name of the function.

        Returns
        -------
        source : str
            A function of a dict of values by column name, or of a row of a frame: ``frame.apply(cluster_of, axis=1)``.
            It needs no package.

        Examples
        --------
        >>> from ravine.explain import rules
        >>> found = rules({"spend": [240, 310, 280, 1180, 1240, 1420]}, [0, 0, 0, 1, 1, 1])
        >>> scope = {}
        >>> exec(found.to_python(), scope)
        >>> scope["cluster_of"]({"spend": 1300})
        1
        """
        if not function_name.isidentifier():
            raise ValueError(f"function_name={function_name!r} is no name of a function in Python")
        body = []
        for rule in self.rules:
            if rule.conditions:
                conditions = " and ".join(condition.to_python() for condition in rule.conditions)
                body += [f"    if {conditions}:", f"        return {rule.cluster}"]
        is_date = any(condition.kind == "date" for rule in self.rules for condition in rule.conditions)
        lines = _PYTHON_HEAD.format(name=function_name).splitlines() + (_MOMENT if is_date else [])
        return "\n".join([*lines, "", *body, "    return -1", ""])

    def to_frame(self) -> Any:
        """Return the rules as a frame of pandas.

        Returns
        -------
        frame : pandas.DataFrame
            One row for each cluster, with the text of its rule and its figures.
        """
        import pandas as pd

        names = ("size", "precision", "coverage", "held_out_precision", "held_out_coverage")
        records = [
            {
                "cluster": rule.cluster,
                "rule": rule.to_text(),
                "n_conditions": len(rule.conditions),
                **{name: getattr(rule, name) for name in names},
            }
            for rule in sorted(self.rules, key=lambda rule: rule.cluster)
        ]
        return pd.DataFrame.from_records(records, columns=["cluster", "rule", "n_conditions", *names])


_PYTHON_HEAD = '''\
def {name}(row):
    """Return the cluster of a row, given as a dict of values by column name; -1 if no rule applies."""

    def missing(value):
        return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
'''

_MOMENT = [
    "",
    "    def moment(value):",
    '        return str(value).replace("T", " ")',
]


def _label_sql(cluster: int, cluster_names: Mapping[int, str] | None) -> str:
    return str(cluster) if cluster_names is None else text_literal(cluster_names[cluster])


def _mask(conditions: Sequence[Condition], columns: Mapping[str, Column], rows: Ints) -> Ints:
    """Return those of some rows that satisfy all conditions."""
    for condition in conditions:
        if condition.column not in columns:
            raise ValueError(f"the table has no column {condition.column!r}, which a rule uses")
        rows = rows[mask_of(condition, part_of(columns[condition.column], rows))]
    return rows


def _first_label(rules: Sequence[Rule], columns: Mapping[str, Column], n_rows: int) -> Ints:
    labels, rest = np.full(n_rows, -1), np.arange(n_rows)
    for rule in rules:
        if rule.conditions:
            found = _mask(rule.conditions, columns, rest)
            labels[found] = rule.cluster
            rest = rest[labels[rest] == -1]
    return labels


def rules(
    table: Any, labels: ArrayLike, *, max_conditions: int = 3, feature_names: Sequence[str] | None = None
) -> Rules:
    """Find the shortest description of each cluster by conditions on single columns.

    Parameters
    ----------
    table : dict of arrays, frame of pandas or Polars, table of pyarrow, or matrix
        Values of all rows, in the units in which people know them. Gaps are NaN, NaT or None.
    labels : array-like of shape (n_samples,)
        Cluster of each row; -1 for a row that belongs to no cluster.
    max_conditions : int, default=3
        Maximum number of conditions of a rule. A range, ``18 <= age < 31``, is one condition.
    feature_names : sequence of str, optional
        Names of the columns, if the table is a matrix.

    Returns
    -------
    Rules
        A rule for each cluster, with its precision and coverage.

    See Also
    --------
    profile : Compares the rows of each cluster with all rows.
    tree_sql : Writes the exact tree of a model as SQL.

    Notes
    -----
    A rule has the largest F1, the harmonic mean of precision and coverage, minus a price of 0.02 for each condition.
    The search uses at most 20,000 rows. Bounds are round numbers; each may cost one percent of precision and coverage.

    Examples
    --------
    >>> from ravine.explain import rules
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> names = ["sepal length", "sepal width", "petal length", "petal width"]
    >>> print(rules(iris.data, iris.target, feature_names=names).to_text())
    cluster 0: petal length < 2.5 (precision 100 %, coverage 100 %)
    cluster 1: 2.5 <= petal length < 5 and petal width < 1.65 (precision 100 %, coverage 94 %)
    cluster 2: petal length >= 5 (precision 96 %, coverage 88 %)
    """
    if not isinstance(max_conditions, int | np.integer) or isinstance(max_conditions, bool) or max_conditions < 1:
        raise ValueError(f"max_conditions={max_conditions!r} must be an integer of at least 1")
    columns = columns_of(table, feature_names)
    n_rows = len(columns[0]) if columns else len(np.asarray(labels))
    known = labels_of(labels, n_rows)
    searched, weights = _sample(known)
    search = Search([part_of(column, searched) for column in columns], weights)
    by_name = {column.name: column for column in columns}
    is_held_out = np.ones(n_rows, dtype=bool)
    is_held_out[searched] = False
    clusters = np.unique(known[known >= 0]).tolist()
    found = [
        _measured(cluster, search.rule(known[searched] == cluster, max_conditions), by_name, known, is_held_out)
        for cluster in clusters
    ]
    found.sort(key=lambda rule: (-round(rule.precision, 9), -round(rule.coverage, 9), rule.cluster))
    agreement = float((_first_label(found, by_name, n_rows) == known).mean()) if n_rows else math.nan
    return Rules(tuple(found), agreement)


def _measured(
    cluster: int, conditions: tuple[Condition, ...], columns: Mapping[str, Column], known: Ints, is_held_out: Bools
) -> Rule:
    """Return the rule with its figures on all rows and on held-out rows."""
    is_in = known == cluster
    size = int(np.count_nonzero(is_in))
    rows = _mask(conditions, columns, np.arange(len(known))) if conditions else np.empty(0, dtype=np.int64)
    n_held_out = int(np.count_nonzero(is_in & is_held_out))
    figures = _figures(is_in[rows], size)
    held_out = _figures(is_in[rows[is_held_out[rows]]], n_held_out) if n_held_out else (math.nan, math.nan)
    return Rule(cluster, conditions, size, *figures, *held_out)


def _figures(is_in: Bools, size: int) -> tuple[float, float]:
    """Return precision and coverage."""
    n_hits = int(np.count_nonzero(is_in))
    return n_hits / len(is_in) if len(is_in) else 0.0, n_hits / size


def _sample(labels: Ints) -> tuple[Ints, Any]:
    """Return the rows of the search, and their weights.

    Of each cluster, at most three quarters of the rows are used. In a large table, half of the sample is divided by the
    sizes of the clusters and half equally, so that a small cluster has rows enough.
    """
    n_rows = len(labels)
    if n_rows < LEAST_ROWS:
        return np.arange(n_rows), np.ones(n_rows)
    mixed = np.random.default_rng(SEED).permutation(n_rows)
    mixed = mixed[np.argsort(labels[mixed], kind="stable")]
    _, begins, sizes = np.unique(labels[mixed], return_index=True, return_counts=True)
    wanted = np.ceil(SEARCHED * sizes).astype(np.int64)
    if wanted.sum() > MOST_ROWS:
        share = MOST_ROWS / 2 * (sizes / n_rows + 1 / len(sizes))
        wanted = np.minimum(wanted, np.maximum(share.astype(np.int64), 1))
    rows = np.concatenate([mixed[start : start + n] for start, n in zip(begins, wanted, strict=True)])
    weights = np.repeat(sizes / wanted, wanted)
    order = np.argsort(rows)
    return rows[order], weights[order]
