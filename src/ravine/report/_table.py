"""The rows of a report in the columns and units of the user's table.

For a pipeline that starts with a `TableEncoder`, these are the cells of the table, also of columns that the encoder
ignores. For all other models, they are the numbers that the model sees.
"""

import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._lazy import is_a
from ravine._matrix import Floats, Ints
from ravine._names import OTHER
from ravine.report._groups import Groups

Table = dict[str, NDArray[Any]]
Units = dict[str, tuple[str, str]]

USED_ROLES = ("number", "category", "boolean", "date")
"""Roles of columns that a `TableEncoder` uses."""

NOT_PROFILED = ("identifier", "text", "constant")
"""Roles of columns that say nothing about a group of rows."""


@dataclass(frozen=True, eq=False)
class CellReader:
    """Reads the cells of a table in their own units, for a pipeline that starts with a `TableEncoder`."""

    encoder: Any

    @classmethod
    def of(cls, groups: Groups) -> "CellReader | None":
        """The reader of a model, or None if it does not start with an encoder."""
        steps = [] if groups.pipeline is None else groups.pipeline.pipe.steps[:-1]
        found = next((step for _, step in steps if step not in (None, "passthrough")), None)
        return cls(found) if is_a(found, "ravine.prepare._fitted.FittedEncoder") else None

    @property
    def _columns(self) -> list[Any]:
        return [column for column in self.encoder.columns_ if column.kind != "none"]

    @property
    def _kinds(self) -> dict[str, str]:
        """Names of the columns that are read, with parts of dates, and their kinds."""
        return {name: kind for column in self._columns for name, kind in column.shown_columns.items()}

    def read(self, X: Any, rows: Ints) -> list[NDArray[Any]]:
        """Return the cells of some rows, one array for each column that can be read."""
        from ravine.prepare._frame import columns_of

        table, has_names = columns_of(X)
        some = {name: values.take(rows) for name, values in table.items()}
        if not has_names:
            some = dict(zip((column.name for column in self.encoder.columns_), some.values(), strict=True))
        found = self.encoder.values(some)
        return [found[name] if name in found else _gaps(kind, len(rows)) for name, kind in self._kinds.items()]

    def described(self, cells: list[NDArray[Any]]) -> dict[str, Any]:
        """Return what `ReportData` keeps of the table."""
        return {
            "table": dict(zip(self._kinds, cells, strict=True)),
            "identifier": self.encoder.identifier_,
            "units": {column.name: unit_of(column.unit) for column in self._columns if column.unit},
            "columns": self.encoder.summary(),
        }


def _gaps(kind: str, n_rows: int) -> NDArray[Any]:
    if kind == "words":
        return np.full(n_rows, None, dtype=object)
    return np.full(n_rows, np.datetime64("NaT", "D")) if kind == "date" else np.full(n_rows, np.nan)


def unit_of(unit: str) -> tuple[str, str]:
    """Return the text before and after a number with this unit.

    Examples
    --------
    >>> unit_of("€"), unit_of("%"), unit_of("kg"), unit_of("")
    (('€', ''), ('', ' %'), ('', ' kg'), ('', ''))
    """
    if unit and all(unicodedata.category(letter) == "Sc" for letter in unit):
        return unit, ""
    return "", f" {unit}" if unit else ""


def checked_table(table: Any, n_rows: int) -> Table:
    """Return the columns of a table as arrays. Raises ValueError if one does not have as many values as rows."""
    found = {str(name): np.asarray(values) for name, values in table.items()}
    for name, values in found.items():
        if values.shape != (n_rows,):
            raise ValueError(
                f"the column {name!r} of the table has the shape {values.shape}, but the sample has {n_rows} rows: "
                "pass one value for each row of the sample, in its order"
            )
    return found


def numeric_table(X: Floats, names: list[str]) -> Table:
    """Return the columns of the rows by name. A name that occurs again gets a number."""
    table: Table = {}
    for j, name in enumerate(names):
        key, n = name, 1
        while key in table:
            n += 1
            key = f"{name} ({n})"
        table[key] = X[:, j]
    return table


def profiled(table: Table, columns: list[dict[str, str]] | None) -> tuple[list[str], list[str]]:
    """Return the names of the columns that describe the rows: those that the model uses, and the others."""
    role = {line["name"]: line["role"] for line in columns or ()}
    shown = [name for name in table if role.get(name) not in NOT_PROFILED]
    is_used = [role.get(name, "number") in USED_ROLES for name in shown]
    return (
        [name for name, used in zip(shown, is_used, strict=True) if used],
        [name for name, used in zip(shown, is_used, strict=True) if not used],
    )


class Sources:
    """What the columns that the model sees are in the table: the same column, or the indicator of a level.

    Parameters
    ----------
    names : list of str
        Names of the columns that the model sees.
    X : ndarray of shape (n_kept, n_features)
        Rows of the sample, as the model sees them.
    table : dict of str to ndarray, or None
        Cells of the same rows.
    """

    def __init__(self, names: list[str], X: Floats, table: Table | None) -> None:
        self._X, self._table = X, table
        self._column = [_column_of(name, table) for name in names]
        self._level = [None if c is None else name[len(c) + 1 :] for name, c in zip(names, self._column, strict=True)]

    def column(self, feature: int) -> str | None:
        """Return the column of the table from which a feature was made."""
        return self._column[feature]

    def values(self, feature: int, here: slice) -> tuple[Floats, str]:
        """Return the numbers of some rows to draw, with NaN for gaps, and their kind: "number" or "date".

        Dates are in milliseconds since 1970. The indicator of a level is 1 for rows that have the level, whatever
        numbers the level has become for the model.
        """
        encoded, column = self._X[here, feature], self._column[feature]
        if self._table is None or column is None:
            return encoded, "number"
        cells = self._table[column][here]
        if cells.dtype.kind == "M":
            days = cells.astype("datetime64[ms]")
            return np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(np.float64)), "date"
        if cells.dtype.kind in "iuf":
            return cells.astype(np.float64), "number"
        return self._indicator(feature, cells), "number"

    def _indicator(self, feature: int, cells: NDArray[Any]) -> Floats:
        """Return 1 for cells with the level of a feature, in any case, 0 for other words, and NaN for gaps."""
        words = np.array(["" if cell is None else str(cell).lower() for cell in cells.tolist()])
        level = str(self._level[feature]).lower()
        has_level = words == level
        if level == OTHER:  # rare words
            column = self._column[feature]
            levels = [str(one).lower() for one, c in zip(self._level, self._column, strict=True) if c == column]
            has_level |= ~np.isin(words, levels)
        return np.where(words == "", np.nan, has_level.astype(np.float64))


def _column_of(name: str, table: Table | None) -> str | None:
    """Return the column of the table that an encoded column comes from: that of the same name, or before "="."""
    if table is None or name in table:
        return None if table is None else name
    parts = name.split("=")
    return next((head for n in range(1, len(parts)) if (head := "=".join(parts[:n])) in table), None)
