"""The data of a report: exact counts of all rows, and a random sample to draw.

Each row is read once, in batches of any size, so the rows need not fit in memory. Neither the counts nor the sample
depend on how the rows are divided into batches.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ravine._matrix import Floats, Ints
from ravine._names import shown
from ravine._reservoir import Reservoir, arrival_keys
from ravine.report._groups import Groups
from ravine.report._table import CellReader, Table, Units, checked_table

MAX_CELLS, FEWEST_KEPT = 1 << 25, 200
"""The sample has at most `MAX_CELLS` numbers, but at least `FEWEST_KEPT` rows of very wide data."""

MAX_CLASSES = 1000
"""A column with more distinct values is not accepted as a column of classes."""


@dataclass(frozen=True, eq=False)
class ReportData:
    """Counts of all rows, and a random sample of them in random order.

    A `ReportAccumulator` creates it. The parameters are also attributes.

    Parameters
    ----------
    X : ndarray of shape (n_kept, n_features)
        The rows of the sample.
    number : ndarray of shape (n_kept,)
        Numbers of the rows, usually their positions among all rows.
    cluster : ndarray of shape (n_kept,)
        Clusters of the rows. For a tree, these are the leaves from left to right. Rows in no cluster come last.
    classes : ndarray of shape (n_kept,), or None
        Classes of the rows, as positions in `class_names`; None if no labels were given.
    class_names : list of str, or None
        All classes, in order.
    n_rows : int
        Number of rows seen.
    leaf_count : ndarray of shape (n_clusters,)
        Number of rows in each cluster. If there are rows in no cluster, one more entry counts them.
    contingency : ndarray of shape (n_clusters, n_classes), or None
        Number of rows in each cluster and class.
    table : dict of str to ndarray of shape (n_kept,), or None
        Cells of the rows of the sample in the columns and units of the user's table: numbers with NaN, dates, or
        objects that are str or None. Without it, the report describes the columns of `X`.
    identifier : str or None
        Name of the column of `table` that names the rows.
    units : dict of str to (str, str)
        Text before and after the numbers of some columns.
    columns : list of dict, or None
        What happened to each column of the table, as `TableEncoder.summary` returns it.

    See Also
    --------
    ReportAccumulator : Create it, batch by batch.
    write : Accept it in place of rows.

    Examples
    --------
    >>> from ravine import PDDP
    >>> from ravine.report import ReportAccumulator
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
    >>> gatherer = ReportAccumulator(PDDP(n_clusters=3, criterion="mean").fit(X).tree_)
    >>> labels = gatherer.add(X, labels=["a", "a", "b", "b", "c", "c"])
    >>> rows = gatherer.rows()
    >>> rows.class_names
    ['a', 'b', 'c']
    >>> rows.contingency
    array([[2, 0, 0],
           [0, 0, 2],
           [0, 2, 0]])
    """

    X: Floats
    number: Ints
    cluster: Ints
    classes: Ints | None
    class_names: list[str] | None
    n_rows: int
    leaf_count: Ints
    contingency: Ints | None
    table: Table | None = None
    identifier: str | None = None
    units: Units = field(default_factory=dict)
    columns: list[dict[str, str]] | None = None

    def with_table(
        self,
        table: Any,
        identifier: str | None = None,
        units: Units | None = None,
        columns: list[dict[str, str]] | None = None,
    ) -> "ReportData":
        """Return the same data with the cells of the sampled rows in the user's columns and units.

        Parameters
        ----------
        table : dict of str to array-like of shape (n_kept,)
            Cells of exactly the rows of the sample, in its order: row `number[i]` of all rows is entry i. Numbers have
            NaN for a gap, dates NaT, and texts None, as `TableEncoder.values` returns them.
        identifier : str, optional
            Name of the column that names the rows.
        units : dict of str to (str, str), optional
            Text before and after the numbers of some columns.
        columns : list of dict, optional
            Name, role, treatment and reason of each column, as `TableEncoder.summary` returns them.

        Returns
        -------
        rows : ReportData
            A copy with the table.

        Examples
        --------
        >>> from ravine import PDDP
        >>> from ravine.report import ReportAccumulator
        >>> gatherer = ReportAccumulator(PDDP(n_clusters=2, criterion="mean").fit([[0], [1], [9]]))
        >>> labels = gatherer.add([[0], [1], [9]])
        >>> rows = gatherer.rows()
        >>> names = ["Ann", "Bob", "Cem"]
        >>> rows = rows.with_table({"who": [names[i] for i in rows.number], "age": rows.X[:, 0] + 30}, "who")
        >>> sorted(rows.table["who"].tolist())
        ['Ann', 'Bob', 'Cem']
        """
        found = checked_table(table, len(self.number))
        if identifier is not None and identifier not in found:
            raise ValueError(f"the table has no column {identifier!r}, which is to name the rows")
        return replace(self, table=found, identifier=identifier, units=dict(units or {}), columns=columns)


class ReportAccumulator:
    """Count the rows of each cluster and class, and keep a random sample.

    Use it for a report of rows that do not fit in memory.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        Model to report on: any fitted model of ravine, a pipeline that ends with one, or a tree.
    n_rows_kept : int, default=20000
        Number of rows in the sample. Wide data have fewer.
    seed : int, default=0
        Seed of the random sample.

    See Also
    --------
    ravine.tree.tree_of : Return the tree of a model.
    html : Accept the result of `rows` in place of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ravine import NCutH, report
    >>> X = load_iris().data
    >>> model = NCutH(n_clusters=3).fit(X)
    >>> gatherer = report.ReportAccumulator(model.tree_)
    >>> for batch in np.array_split(X, 3):
    ...     labels = gatherer.add(batch)
    >>> gatherer.rows().leaf_count
    array([50, 47, 53])
    >>> page = report.html(model, gatherer.rows())
    """

    def __init__(self, model: Any, n_rows_kept: int = 20_000, seed: int = 0) -> None:
        self._groups = Groups.of(model)
        self._seed = seed
        self._sample = Reservoir(min(n_rows_kept, max(MAX_CELLS // self._groups.n_features, FEWEST_KEPT)))
        self._n_rows = 0
        self._leaf_count = np.zeros(len(self._groups.values), dtype=np.int64)
        self._classes: _Classes | None = None
        self._reader = CellReader.of(self._groups)
        self._cells = Reservoir(self._sample.size)

    def add(self, X: Any, labels: Any = None, numbers: Ints | None = None) -> Ints:
        """Add a batch of rows, and their classes if they are known.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the columns of the model.
        labels : sequence of length n_samples, optional
            Classes of the rows: numbers, strings or other hashable values. None and NaN form one class, "missing".
        numbers : ndarray of shape (n_samples,), optional
            Numbers of the rows in the report. Default: their positions among all rows, from 0.

        Returns
        -------
        cluster : ndarray of shape (n_samples,)
            Cluster of each row; -1 for outliers.
        """
        given = X
        X, leaf = self._groups.read(X)
        codes = self._codes(labels, leaf)
        keys = arrival_keys(self._n_rows, len(leaf), self._seed)
        if numbers is None:
            numbers = self._n_rows + np.arange(len(leaf))
        self._sample.add(keys, numbers, X, leaf, codes)
        if self._reader is not None and len(leaf):
            kept = np.argsort(keys, kind="stable")[: self._cells.size]  # no other row of the batch can stay
            self._cells.add(keys[kept], *self._reader.read(given, kept))
        self._leaf_count += np.bincount(leaf, minlength=len(self._leaf_count))
        self._n_rows += len(leaf)
        return self._groups.labels(leaf)

    def rows(self) -> ReportData:
        """Return the counts and the sample of the rows added so far.

        Returns
        -------
        rows : ReportData
            Counts of all rows, and the sample.
        """
        number, X, cluster, codes = self._sample.sample() or (
            np.empty(0, dtype=np.int64),
            np.empty((0, self._groups.n_features)),
            np.empty(0, dtype=np.int64),
            np.empty(0, dtype=np.int64),
        )
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        classes, names, contingency = self._classes.in_order(codes) if self._classes else (None, None, None)
        n_shown = len(self._leaf_count)
        if self._groups.may_be_left_out and not self._leaf_count[-1]:
            n_shown -= 1
            contingency = None if contingency is None else contingency[:n_shown]
        cells = list(self._cells.sample())
        described = self._reader.described(cells) if self._reader is not None and cells else {}
        counts = self._leaf_count[:n_shown].copy()
        return ReportData(X, number, cluster, classes, names, self._n_rows, counts, contingency, **described)

    def _codes(self, labels: Any, leaf: Ints) -> Ints:
        if labels is None:
            if self._classes is not None:
                raise ValueError("earlier batches had labels: give labels for every batch, or for none")
            return np.zeros(len(leaf), dtype=np.int64)
        if self._classes is None:
            if self._n_rows:
                raise ValueError("earlier batches had no labels: give labels for every batch, or for none")
            self._classes = _Classes(len(self._leaf_count))
        return self._classes.count(labels, leaf)


def gathered(model: Any, X: Any, labels: Any = None) -> ReportData:
    """Return the data of a report: of an array, or those that a `ReportAccumulator` has already collected."""
    if isinstance(X, ReportData):
        if labels is not None:
            raise ValueError("X has been collected already: pass its labels to ReportAccumulator.add, batch by batch")
        groups = Groups.of(model)
        n_groups = len(groups.values) - (groups.may_be_left_out and len(X.leaf_count) < len(groups.values))
        if X.X.shape[1] != groups.n_features or len(X.leaf_count) != n_groups:
            raise ValueError(
                f"the rows were collected for a model with {X.X.shape[1]} columns and {len(X.leaf_count)} clusters, "
                f"but this model has {groups.n_features} columns and {len(groups.values)} clusters: collect them with "
                "ReportAccumulator(model)"
            )
        return X
    gatherer = ReportAccumulator(model)
    gatherer.add(X, labels)
    return gatherer.rows()


class _Classes:
    """The classes seen so far, and their counts in each leaf."""

    def __init__(self, n_leaves: int) -> None:
        self._code: dict[Hashable, int] = {}
        self._table = np.zeros((n_leaves, 16), dtype=np.int64)

    def count(self, labels: Any, leaf: Ints) -> Ints:
        """Count rows, and return the codes of their classes, in the order in which the classes were first seen."""
        values = labels.tolist() if hasattr(labels, "tolist") else labels
        if not isinstance(values, Iterable):
            raise TypeError(f"labels is of type {type(labels).__name__}: pass a sequence with one label for each row")
        values = list(values)
        if len(values) != len(leaf):
            raise ValueError(f"labels has {len(values)} entries for {len(leaf)} rows: pass one label for each row")
        known = self._code
        try:
            codes = np.array([known.setdefault(_name(value), len(known)) for value in values], dtype=np.int64)
        except TypeError:
            raise TypeError(
                "labels has an entry that cannot be hashed, such as a list: pass one number or string for each row"
            ) from None
        if len(known) > MAX_CLASSES:
            raise ValueError(
                f"labels has more than {MAX_CLASSES:,} distinct values, so these are not classes: leave labels out"
            )
        missing = len(known) - self._table.shape[1]
        if missing > 0:
            self._table = np.pad(self._table, ((0, 0), (0, max(missing, self._table.shape[1]))))
        np.add.at(self._table, (leaf, codes), 1)
        return codes

    def in_order(self, codes: Ints) -> tuple[Ints, list[str], Ints]:
        """Codes, names and table with the classes sorted: numbers first, then by name."""
        values = list(self._code)
        order = sorted(range(len(values)), key=lambda i: _order(values[i]))
        place: NDArray[np.int64] = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return (
            place[codes],
            ["missing" if values[i] is None else shown(values[i]) for i in order],
            self._table[:, order],
        )


def _name(value: Any) -> Hashable:
    return None if isinstance(value, float) and value != value else value


def _order(value: Any) -> tuple[int, Any, str]:
    if value is None:
        return 2, 0.0, ""
    return (0, value, "") if isinstance(value, Real) else (1, 0.0, str(value))
