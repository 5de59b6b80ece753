"""What an encoder of tables does after its fit. `TableEncoder` and encoders from a file share it.

Nothing here needs scikit-learn: see `ravine._read_only`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from ravine._matrix import Bools, Floats
from ravine._scaling import ScaledRows
from ravine._schema import Group, Sizes, State
from ravine._warnings import warn_user
from ravine.prepare._codec import (
    TypeChangedError,
    as_dates,
    cells_of,
    decoded,
    elapsed,
    encoded_cells,
    encoded_parts,
    encoded_places,
    is_unknown,
    parts_of,
    places_of,
    state_of,
    values_of,
)
from ravine.prepare._column import Column
from ravine.prepare._frame import columns_of, n_rows_of
from ravine.prepare._gaps import Gaps
from ravine.prepare._spread import Bits, bits_of
from ravine.prepare._state import COLUMNS, GAPS

SHIFTED = 20
"""Frames with fewer known cells in a column are not compared with the fit."""


class FittedEncoder:
    """An encoder that has learned what the columns of a table are."""

    columns_: tuple[Column, ...]
    n_features_in_: int
    _gaps: Gaps | None

    _schema: ClassVar[Group] = Group({"columns": COLUMNS, "gaps": GAPS})

    def _check_fitted(self) -> None:
        """Raise NotFittedError of scikit-learn if nothing was learned yet."""
        if not hasattr(self, "columns_"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self)

    def _transformed(self, X: Any) -> Floats:
        """Return the encoded rows of a table, see `TableEncoder.transform`."""
        self._check_fitted()
        table = self._read(X, [column for column in self.columns_ if column.is_used])
        found, changed = read_cells(self.columns_, table)
        if changed:
            raise ValueError(f"the type of some columns has changed since the fit: {'; '.join(changed)}")
        bits = bits_of_cells(self.columns_, found, n_rows_of(table))
        rows = np.empty((n_rows_of(table), len(self.get_feature_names_out())))
        numbers, is_gap = self._numbers(found)
        if self._gaps is not None and is_gap.any():
            numbers = self._gaps.filled(numbers, is_gap)
        first = n_numbers = 0
        for column in self.columns_:
            last = first + len(column.feature_names)
            if column.is_counted:
                rows[:, first] = column.weight * numbers[:, n_numbers]
                n_numbers += 1
                first += 1
            if column.cycles:
                rows[:, first:last] = encoded_parts(column, found[column.name], bits, first)
            elif column.is_used and not column.is_scaled:
                rows[:, first:last] = encoded_places(column, found[column.name], bits, first)
            first = last
        shifted = [text for column in self.columns_ if column.is_scaled for text in _shift(column, found[column.name])]
        if shifted:
            warn_user(f"these values are on another scale than those of the fit: {'; '.join(shifted)}")
        return ScaledRows.of(rows)

    def _numbers(self, found: Mapping[str, Any]) -> tuple[Floats, Bools]:
        """Return the scaled numbers and dates of some cells, and where the gaps and the cells far outside are.

        Gaps have the median of their column, and cells far outside are moved in.
        """
        scaled = [column for column in self.columns_ if column.is_counted]
        if not scaled:
            n_rows = len(next(iter(found.values()), ()))
            return np.empty((n_rows, 0)), np.empty((n_rows, 0), dtype=bool)
        numbers = np.column_stack([encoded_cells(column, found[column.name]) for column in scaled])
        return numbers, np.column_stack([is_unknown(column, found[column.name]) for column in scaled])

    def _read(self, X: Any, needed: list[Column]) -> dict[str, pa.ChunkedArray]:
        """Return the columns by the names of the fit, after checking that all needed ones are there."""
        table, has_names = columns_of(X)
        if not has_names:
            if len(table) != self.n_features_in_:
                raise ValueError(
                    f"X has {len(table)} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                    "features as input"
                )
            table = dict(zip((column.name for column in self.columns_), table.values(), strict=True))
        missing = [repr(column.name) for column in needed if column.name not in table]
        if missing:
            raise ValueError(f"the table lacks columns that were there in the fit: {', '.join(missing)}")
        if n_rows_of(table) == 0 and not has_names:
            raise ValueError(f"0 sample(s) (shape=(0, {len(table)})) while a minimum of 1 is required.")
        return table

    def values(self, X: Any) -> dict[str, NDArray[Any]]:
        """Read the columns of a table in its own units, for profiles and reports.

        Parameters
        ----------
        X : frame, pyarrow.Table, dict of columns or array-like of shape (n_samples, n_columns)
            A table with columns of the fit. Ignored columns are read too, where they can be read.

        Returns
        -------
        values : dict
            By name: floats with NaN for gaps, datetime64 with NaT for gaps, or objects that are str or None. Parts of
            a date that were asked for have names such as "hour of when"; hours are numbers, the others words.
        """
        self._check_fitted()
        table = self._read(X, [])
        out: dict[str, NDArray[Any]] = {}
        for column in self.columns_:
            if column.name in table and column.kind != "none":
                try:
                    out |= {column.name: values_of(column, table[column.name]), **parts_of(column, table[column.name])}
                except TypeChangedError:
                    continue
        return out

    def in_units(self, name: str, encoded: ArrayLike) -> Any:
        """Return encoded numbers in the units of the table.

        Parameters
        ----------
        name : str
            Name of an encoded column, as in `get_feature_names_out`.
        encoded : float or array-like
            Encoded numbers.

        Returns
        -------
        values : float, numpy.datetime64 or ndarray
            Numbers or dates in the units of the table; for a level of a category, its share; for the cosine or the
            sine of a part of a date, their mean.

        Examples
        --------
        >>> from ravine.prepare import TableEncoder
        >>> encoder = TableEncoder().fit({"age": [20.0, 30.0, 40.0, 70.0]})
        >>> encoder.in_units("age", 0.0)
        40.0
        """
        self._check_fitted()
        numbers = np.asarray(encoded, dtype=np.float64)
        for column in self.columns_:
            if name in column.feature_names:
                found = np.asarray(decoded(column, numbers, column.feature_names.index(name)))
                return found if numbers.ndim else found[()].item() if found.dtype.kind == "f" else found[()]
        raise ValueError(f"there is no encoded column {name!r}; see get_feature_names_out")

    def summary(self) -> list[dict[str, str]]:
        """Return what was decided about each column, in the order of the table.

        Returns
        -------
        lines : list of dict
            The name, the role, the treatment and the reason of each column.
        """
        self._check_fitted()
        keys = ("name", "role", "treatment", "reason")
        return [{key: getattr(column, key) for key in keys} for column in self.columns_]

    @property
    def identifier_(self) -> str | None:
        """Name of the first column that names the rows, None if there is none."""
        return next((column.name for column in self.columns_ if column.role == "identifier"), None)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of the table, if it had none in the fit. Otherwise they must be those of the fit.

        Returns
        -------
        names : ndarray of str
            The name of the column for a number or a date, column=level for each level of a category, and
            "hour of column=cosine" for a part of a date.
        """
        self._check_fitted()
        columns = self.columns_
        if input_features is not None:
            given = [str(name) for name in np.asarray(input_features, dtype=object)]
            names = getattr(self, "feature_names_in_", None)
            if names is not None and given != list(names):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(given) != self.n_features_in_:
                raise ValueError(
                    f"input_features should have length equal to number of features ({self.n_features_in_})"
                )
            columns = tuple(replace(column, name=name) for column, name in zip(columns, given, strict=True))
        return np.array([name for column in columns for name in column.feature_names], dtype=object)

    def _sizes(self) -> Sizes:
        """Return the sizes in `_schema`; the columns are checked one by one."""
        return {"n_features": self.n_features_in_}

    def _state(self, resume: bool) -> State:
        """Return what was learned as plain values. There are no rows in it, whatever `resume` is."""
        gaps = None if self._gaps is None else vars(self._gaps)
        return {"gaps": gaps, "columns": [state_of(column) for column in self.columns_]}

    def _restore(self, state: State) -> None:
        """Take over a checked state."""
        if len(state["columns"]) != self.n_features_in_:
            raise ValueError(f"field 'columns' has {len(state['columns'])} entries for {self.n_features_in_} columns")
        self.columns_ = state["columns"]
        n_numbers = sum(column.is_counted for column in self.columns_)
        gaps = state["gaps"]
        if gaps is not None and gaps["mean"].shape[1] != n_numbers:
            raise ValueError(f"field 'gaps.mean' has {gaps['mean'].shape[1]} columns for {n_numbers} numbers")
        self._gaps = None if gaps is None else Gaps(**gaps)


def read_cells(
    columns: Sequence[Column], table: Mapping[str, pa.ChunkedArray]
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Return the numbers, or the positions of the levels, of each used column, and what cannot be read."""
    found: dict[str, NDArray[Any]] = {}
    changed = []
    for column in columns:
        if column.is_used:
            try:
                read = cells_of if column.is_scaled else places_of
                found[column.name] = read(column, table[column.name])
            except TypeChangedError as error:
                changed.append(f"{column.name!r} has {error}")
    return found, changed


def bits_of_cells(columns: Sequence[Column], found: Mapping[str, NDArray[Any]], n_rows: int) -> Bits:
    """Return pseudorandom bits of each row, which are those of its cells."""
    cells = [found[column.name] for column in columns if column.is_scaled]
    return bits_of(cells, [found[column.name] for column in columns if column.is_used and not column.is_scaled], n_rows)


def _shift(column: Column, cells: Floats) -> list[str]:
    """Return a complaint if the median of some cells is outside of nearly all cells of the fit."""
    known = cells[~np.isnan(cells)]
    if len(known) < SHIFTED:
        return []
    median = float(np.median(elapsed(column, known)))
    if column.lowest <= median <= column.highest:
        return []
    return [f"the median of {column.name!r} is {_shown(column, median)}, and was {_shown(column, column.fill)}"]


def _shown(column: Column, number: float) -> str:
    """Return a number with its unit, or days before the reference as a date."""
    if column.kind == "date":
        return str(as_dates(np.array([column.reference - number]), has_time=False)[0])
    return f"{number:.4g} {column.unit}".rstrip()
