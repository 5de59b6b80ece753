"""The columns of a `TableEncoder` as an export repeats them: numbers, and categories that become fixed numbers."""

from typing import Any

import numpy as np

from ravine.export._recipe import ExportError, InputColumn, Levels, Scaling
from ravine.prepare._cells import GAP_WORDS
from ravine.prepare._codec import indicators
from ravine.prepare._column import Column
from ravine.prepare._gaps import MOST_GAPS


def encoded_columns(encoder: Any, where: str) -> tuple[tuple[InputColumn, ...], int]:
    """Return the columns that a fitted encoder uses, and how many gaps of a row it estimates at most.

    Raises ExportError if a column is a date, or a category that is spread.
    """
    used = [column for column in encoder.columns_ if column.is_used]
    columns = tuple(_input_column(column, where) for column in used)
    n_numbers = sum(column.is_scaled for column in used)
    most_estimated = 0 if encoder._gaps is None else min(MOST_GAPS, n_numbers - 1)
    return columns, most_estimated


def _input_column(column: Column, where: str) -> InputColumn:
    if column.role == "date" or column.kind == "date":
        raise ExportError(
            f"column {column.name!r} of {where} is a date, which cannot be exported: fit without it, with "
            f"TableEncoder(roles={{{column.name!r}: 'ignore'}}), or add a column of numbers, such as days, to the table"
        )
    if column.role == "number":
        return InputColumn(column.name, _scaling(column))
    if column.encoding == "spread":
        raise ExportError(
            f"column {column.name!r} of {where} is a category that is spread over a distribution, which cannot be "
            "exported: fit with TableEncoder(category_encoding='indicators')"
        )
    rows = indicators(column)
    *levels, other, gap = rows
    has_others = column.shares[-1] > 0
    numbers = np.array(levels).reshape(len(levels), rows.shape[1])
    return InputColumn(column.name, Levels(column.levels, numbers, other if has_others else gap, gap, GAP_WORDS))


def _scaling(column: Column) -> Scaling:
    return Scaling(
        gaps=column.gap_values,
        is_log=column.transform == "log",
        **{
            name: float(getattr(column, name))
            for name in ("offset", "knee", "low", "high", "reach", "center", "scale", "fill", "weight")
        },
    )
