"""Turn a table as it comes from a file into rows for a clusterer, and remember how."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

from ravine._lazy import public
from ravine._matrix import Floats
from ravine._pickles import PlainPickles
from ravine._sklearn import Interval, StrOptions, fit_context
from ravine.prepare._cells import plain, source_of
from ravine.prepare._codec import (
    with_parts,
)
from ravine.prepare._column import Column
from ravine.prepare._copies import without_copies
from ravine.prepare._date_parts import split_role
from ravine.prepare._fitted import FittedEncoder, bits_of_cells, read_cells
from ravine.prepare._frame import columns_of, n_rows_of, sampled
from ravine.prepare._gaps import LEARNED_ROWS, Gaps
from ravine.prepare._order import codes_among
from ravine.prepare._roles import ROLES, Draft, Given, as_code, draft
from ravine.prepare._spread import thresholds

LOOKED_AT = 100_000
"""Roles and scales are learned from at most this many rows."""

WEIGHTS = {"spread": 0.5, "indicators": 0.1}
"""Variance of a category if there are numbers, which have variance 1: docs/decisions/tables.md."""

DIFFERENT = 0.9
"""Categories are spread if at least this share of the rows is different: equal rows have equal draws."""


@public("ravine.prepare")
class TableEncoder(TransformerMixin, FittedEncoder, PlainPickles, BaseEstimator):
    """Turn a table with ids, dates, amounts, categories and gaps into rows for a clusterer.

    Every column gets a role, with a reason in a sentence (`summary`). Numbers, also those written as text
    ("€1,234.50"), dates, Booleans and categories are used. Identifiers, constants, free text, copies of other columns
    and columns that are mostly empty are ignored. Numbers and dates get mean 0 and variance 1. A category becomes
    one number for each level but the last; all of them together have a smaller variance than one number.

    Parameters
    ----------
    roles : dict or None, default=None
        Roles of some columns by name, where you know better: "number", "category", "boolean", "date", "identifier",
        "text" or "ignore". "date:hour,weekday,month" uses parts of a date that return, as cosines and sines; "days"
        is the part that a date has without this. All parts of a date together weigh as much as one number at most.
    category_encoding : {"auto", "spread", "indicators"}, default="auto"
        How categories and Booleans become numbers. "indicators" are 1 for rows of the level and 0 for others, centered
        and scaled; the empty valley between the two values misleads many methods. "spread" fills the valley: a number
        of a standard normal distribution that exceeds a threshold where the row has the level. Where in its part of
        the distribution it lies is a function of the other cells of the row. The rings of cosines and sines are filled
        in the same way. "auto" is "spread" if there are numbers
        and nearly all rows are different, otherwise "indicators".
    category_weight : float or "auto", default="auto"
        Variance of each category and Boolean, where a number has variance 1. "auto" is 0.5 for "spread", 0.1 for
        "indicators", and 1 if the table has no numbers.

    Attributes
    ----------
    columns_ : tuple of Column
        What was learned about each column of the table, in its order.
    identifier_ : str or None
        First column that names the rows.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if the table has names.

    See Also
    --------
    ravine.prepare.Column : What is learned about a column.
    ravine.IncrementalMDH : Clusters the encoded rows, without scaling them again.

    Notes
    -----
    Any frame with ``__arrow_c_stream__`` can be passed, such as those of pandas and Polars, also a table of pyarrow, a
    dictionary of columns, or an array, whose columns are named x0, x1, … It requires pyarrow.

    The result for a row does not depend on the other rows of a frame.

    Examples
    --------
    >>> from ravine.prepare import TableEncoder
    >>> table = {
    ...     "customer": ["C-001", "C-002", "C-003", "C-004", "C-005"],
    ...     "spend": ["€1,250.00", "€890.50", "n/a", "€1,020.00", "€99.90"],
    ...     "newsletter": ["yes", "no", "yes", "yes", "no"],
    ... }
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out()
    array(['spend', 'newsletter=yes'], dtype=object)
    >>> encoder.transform(table)[:, 0].round(2)
    array([ 1.01,  0.17,  0.17,  0.47, -1.65])
    >>> encoder.identifier_
    'customer'
    >>> for line in encoder.summary():
    ...     print(line["name"], line["role"], line["reason"], sep=" | ")
    customer | identifier | 5 different values in 5 rows name the rows
    spend | number | numbers written as text with the unit €; 20 % of its cells are gaps, estimated (median 890.5)
    newsletter | boolean | no or yes
    """

    _in_state: ClassVar[tuple[str, ...]] = ("columns_", "_gaps")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "roles": [Mapping, None],
        "category_encoding": [StrOptions({"auto", "spread", "indicators"})],
        "category_weight": [Interval(Real, 0.0, 1e6, closed="right"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        roles: Mapping[str, str] | None = None,
        category_encoding: Literal["auto", "spread", "indicators"] = "auto",
        category_weight: float | Literal["auto"] = "auto",
    ) -> None:
        self.roles = roles
        self.category_encoding = category_encoding
        self.category_weight = category_weight

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the roles of the columns, and how to encode them.

        Parameters
        ----------
        X : frame, pyarrow.Table, dict of columns or array-like of shape (n_samples, n_columns)
            The table. At most 100,000 rows are looked at, drawn at random, the same ones every time.
        y : None
            Not used.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        table, has_names = columns_of(X)
        if not table:
            raise ValueError(f"0 feature(s) (shape=({n_rows_of(table)}, 0)) while a minimum of 1 is required.")
        if n_rows_of(table) == 0:
            raise ValueError(f"0 sample(s) (shape=(0, {len(table)})) while a minimum of 1 is required.")
        asked, parts = self._asked_roles(table)
        some = sampled(table, LOOKED_AT)
        given = [Given(name, values, partial(_count_all, table[name])) for name, values in some.items()]
        drafts = [draft(one, asked.get(one.name)) for one in given]
        for j, n_values in codes_among(drafts, asked).items():
            drafts[j] = as_code(given[j], n_values)
        columns = [
            with_parts(one.column, parts.get(one.column.name, ()), one.cells if one.cells is not None else np.empty(0))
            for one in _checked_copies(drafts, asked)
        ]
        if not any(column.is_used for column in columns):
            few = "the table has only 1 sample, and " if n_rows_of(table) == 1 else ""
            raise ValueError(f"{few}no column is left to cluster: {_listed(columns)}; say with roles what to use")
        self.columns_ = self._weighted(columns, some)
        cells, _ = read_cells(self.columns_, {name: values[:LEARNED_ROWS] for name, values in some.items()})
        self._gaps = Gaps.of(*self._numbers(cells))
        self.n_features_in_ = len(table)
        self._set_feature_names(list(table) if has_names else None)
        return self

    def _asked_roles(self, table: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
        """Return the roles of some columns by name, and the parts of dates that are asked for."""
        roles = dict(self.roles or {})
        unknown = [name for name in roles if name not in table]
        if unknown:
            raise ValueError(f"roles names columns that the table does not have: {', '.join(map(repr, unknown))}")
        asked, parts = {}, {}
        for name, role in roles.items():
            if not isinstance(role, str) or role.partition(":")[0].strip() not in ROLES:
                raise ValueError(f"the role of {name!r} must be one of {', '.join(map(repr, ROLES))}, not {role!r}")
            try:
                asked[name], parts[name] = split_role(role)
            except ValueError as error:
                raise ValueError(f"the role of {name!r}: {error}") from None
            clash = [f"{part} of {name}" for part in parts[name] if f"{part} of {name}" in table]
            if clash:
                raise ValueError(f"the table has a column {clash[0]!r}, the name of a part of {name!r}: rename it")
        return asked, parts

    def _weighted(self, columns: list[Column], table: Mapping[str, pa.ChunkedArray]) -> tuple[Column, ...]:
        """Return the columns with the encoding and the weights of the categories."""
        has_numbers = any(column.is_scaled for column in columns)
        encoding, share = self.category_encoding, self.category_weight
        if encoding == "auto":
            encoding = "spread" if has_numbers and _are_different(columns, table) else "indicators"
        if share == "auto":
            share = WEIGHTS[encoding] if has_numbers else 1.0
        return tuple(_with_weight(column, encoding, float(share)) for column in columns)

    def transform(self, X: Any) -> Floats:
        """Encode the rows of a table.

        Words that did not occur in the fit belong to the level "other" if there is one; otherwise they are gaps. Cells
        that cannot be read are gaps. Columns that were not in the fit are ignored.

        Parameters
        ----------
        X : frame, pyarrow.Table, dict of columns or array-like of shape (n_samples, n_columns)
            A table with the columns of the fit that are used.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features_out)
            The encoded rows. All numbers are finite.
        """
        return self._transformed(X)

    def _set_feature_names(self, names: list[str] | None) -> None:
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _count_all(values: pa.ChunkedArray) -> tuple[int, int]:
    """Return the number of distinct values and of known cells of a column."""
    values = plain(values)
    if source_of(values.type) == "text":
        values = pc.utf8_lower(pc.utf8_trim_whitespace(values.cast(pa.large_string())))
    return pc.count_distinct(values, mode="only_valid").as_py(), len(values) - values.null_count


def _checked_copies(drafts: list[Draft], asked: Mapping[str, str]) -> list[Draft]:
    """Return the columns with copies ignored; a column whose role was asked for is never a copy."""
    found = without_copies(drafts)
    return [old if old.column.name in asked else new for old, new in zip(drafts, found, strict=True)]


def _with_weight(column: Column, encoding: str, share: float) -> Column:
    if column.parts:
        return replace(column, encoding=encoding)
    if column.role not in ("boolean", "category"):
        return column
    is_boolean, shares = column.role == "boolean", np.array(column.shares)
    spread = shares[1] * (1 - shares[1]) if is_boolean else 1.0 - float(shares @ shares)
    n_numbers = float(len(thresholds(column.shares, is_boolean)))
    if n_numbers == 0 or not spread > 0:  # one level, whose role was asked for
        return replace(column, encoding="indicators")
    weight = np.sqrt(share / (n_numbers if encoding == "spread" else spread))
    return replace(column, encoding=encoding, weight=float(weight))


def _are_different(columns: Sequence[Column], table: Mapping[str, pa.ChunkedArray]) -> bool:
    """Return whether nearly all rows are different in the columns that are used."""
    found, _ = read_cells(columns, table)
    n_rows = n_rows_of(table)
    return len(np.unique(bits_of_cells(columns, found, n_rows))) >= DIFFERENT * n_rows


def _listed(columns: Sequence[Column]) -> str:
    shown = [f"{column.name!r} is {column.role} ({column.reason})" for column in columns[:5]]
    return ", ".join(shown) + (f" and {len(columns) - 5} more" if len(columns) > 5 else "")
