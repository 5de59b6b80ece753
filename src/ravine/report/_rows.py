"""Single rows on the page: their identifiers, their cells as text, and the list of all sampled rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._matrix import Ints
from ravine._names import shown
from ravine.explain._format import YEARS
from ravine.report._data import ReportData
from ravine.report._format import MAX_NAME
from ravine.report._sample import Sample
from ravine.report._table import Table, Units
from ravine.tree._text import shortened

MOST_LETTERS = 600_000
"""Most letters of all identifiers on the page together. With longer ones, fewer rows are listed."""

MISSING = "missing"


class RowTexts:
    """The cells of the sampled rows as text.

    Parameters
    ----------
    table : dict of str to ndarray
        Cells of the sampled rows, in the order of `sample`.
    units : dict of str to (str, str)
        Text before and after numbers.
    """

    def __init__(self, table: Table, units: Units) -> None:
        self._table, self._units = table, units
        self._kinds = {name: _kind(values) for name, values in table.items()}

    def of(self, name: str, row: int) -> str:
        """Return the cell of a row."""
        value, kind = self._table[name][row], self._kinds[name]
        if kind == "text":
            return MISSING if _is_gap(value) else shortened(shown(str(value)), MAX_NAME)
        if kind in ("date", "time"):
            if np.isnat(value):
                return MISSING
            return str(value.astype(f"datetime64[{'D' if kind == 'date' else 'm'}]")).replace("T", " ")
        return number_cell(float(value), kind == "year", self._units.get(name, ("", "")))


def number_cell(value: float, is_year: bool = False, unit: tuple[str, str] = ("", "")) -> str:
    """Return the number of one cell with its unit: whole numbers in full, others with six digits.

    Examples
    --------
    >>> number_cell(1234567.0), number_cell(-254.304, unit=("€", "")), number_cell(1998.0, is_year=True)
    ('1,234,567', '-€254.304', '1998')
    """
    if np.isnan(value):
        return MISSING
    size = abs(value)
    if value.is_integer() and size < 1e15:
        text = f"{size:.0f}" if is_year else f"{size:,.0f}"
    else:
        text = f"{size:,.6g}"
    return f"{'-' if value < 0 else ''}{unit[0]}{text}{unit[1]}"


def _kind(values: NDArray[Any]) -> str:
    if values.dtype.kind == "M":
        known = values[~np.isnat(values)]
        return "date" if (known == known.astype("datetime64[D]")).all() else "time"
    if values.dtype.kind not in "iuf":
        return "text"
    known = values[~np.isnan(values)]
    is_year = len(known) and bool(
        (known == np.floor(known)).all() and YEARS[0] <= known.min() and known.max() <= YEARS[1]
    )
    return "year" if is_year else "number"


def _is_gap(value: Any) -> bool:
    return value is None or value != value


def identifiers(rows: ReportData, table: Table, order: Ints) -> list[str | None] | None:
    """Return the identifier of each sampled row, in an order; None without a column of identifiers."""
    if rows.identifier is None:
        return None
    texts = RowTexts({rows.identifier: table[rows.identifier][order]}, {})
    values = table[rows.identifier][order]
    is_text = values.dtype.kind not in "iufM"
    return [
        None if is_text and _is_gap(value) else _plain(value) if not is_text else texts.of(rows.identifier, i)
        for i, value in enumerate(values)
    ]


def _plain(value: Any) -> str | None:
    """Return a number or a date that names a row, without separators."""
    if value != value:
        return None
    return str(int(value)) if not isinstance(value, np.datetime64) and float(value).is_integer() else str(value)


def listed_rows(rows: ReportData, sample: Sample, table: Table) -> dict[str, Any]:
    """Return the sampled rows, one cluster after the other: their numbers, and their identifiers if they have any.

    `ends` has the position after the last row of each cluster.
    """
    ids = identifiers(rows, table, sample.turn)
    ends = np.searchsorted(rows.cluster[sample.turn], np.arange(len(rows.leaf_count)), side="right")
    if ids is not None and sum(len(text or "") for text in ids) > MOST_LETTERS:
        length = np.array([len(text or "") for text in ids])
        order = np.argsort(sample.turn, kind="stable")  # a row that is early in the sample is as random as any other
        kept = np.sort(order[: int(np.searchsorted(np.cumsum(length[order]), MOST_LETTERS))])
        ends = np.searchsorted(kept, ends)
        return {"number": sample.number[kept].tolist(), "ids": [ids[i] for i in kept], "ends": ends.tolist()}
    return {"number": sample.number.tolist(), "ids": ids, "ends": ends.tolist()}
