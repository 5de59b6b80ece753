"""`ravine explain`: why a row is in its cluster."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ravine._io import TextFormat, UsageError, take_rows
from ravine.cli._data import Data
from ravine.cli._models import of_rows, open_saved_data
from ravine.cli._screen import Screen
from ravine.explain import RowExplanation, explain_row
from ravine.persist._read_only import read_only


def explain(
    model_path: Path, where: Sequence[str], text: TextFormat, sheet: str | None, row: str, screen: Screen
) -> None:
    """Print the way of a row through the tree of a model, in the values of the table."""
    saved = read_only(model_path)
    with open_saved_data(saved, where, text, sheet, None, None, screen) as data:
        number = _number_of(data, row)
        used = list(data.columns.used)
        cells = take_rows(data.tables, [*used, *data.keep], np.array([number]))
        X = np.asarray(data.columns.matrix(cells.select(used).combine_chunks().to_batches()[0]))
    if not np.isfinite(X).all():
        raise UsageError(f"--row {row}: the row has a missing value, so the model gives it no cluster")
    found = explain_row(of_rows(saved.model), X[0], data.columns.names)
    shown = {name: cells[name][0].as_py() for name in used}
    columns = () if data.encoder is None else data.encoder.columns_
    sources = {name: column.name for column in columns for name in column.feature_names}
    steps = [_step(step, shown, sources) for step in found.steps]
    memberships = None if found.membership is None else found.membership.tolist()
    named = {name: _plain(cells[name][0].as_py()) for name in data.keep}
    screen.result({"row": number, **named, "cluster": found.cluster, "membership": memberships, "steps": steps})
    screen.say(f"row {number}: {_end(found)}\n")
    lines = [
        [str(i), _listed(step["columns"]), step["side"], f"{step['rows']:,.10g}"] for i, step in enumerate(steps, 1)
    ]
    screen.table(["split", "what decided", "side", "rows on this side"], lines, numbers=1)


def _number_of(data: Data, row: str) -> int:
    """Return the number of the row that has this identifier, or this number."""
    start = 0
    for table in data.tables:
        for batch in table.batches(list(data.keep or data.columns.used[:1])):
            if data.keep:
                place = pc.index(batch.column(0).cast(pa.string()), row).as_py()
                if place >= 0:
                    return start + int(place)
            start += batch.num_rows
    if row.isdecimal() and int(row) < start:
        return int(row)
    known = f"a value of {data.keep[0]!r}, or a number" if data.keep else "a number"
    raise UsageError(f"--row {row}: there is no such row; give {known} from 0 to {start - 1}")


def _step(step: Any, shown: dict[str, Any], sources: dict[str, str]) -> dict[str, Any]:
    """Return a cut on the way of the row, with the cells of the table that decided it.

    `sources` has the column of the table of each encoded column, if there is an encoder.
    """
    columns = {}
    for name, value, _ in step.columns:
        source = sources.get(name, name if name in shown else name.partition("=")[0])
        columns[source if source in shown else name] = _plain(shown.get(source, value))
    return {"node": step.node, "side": step.side, "columns": columns, "rows": step.count}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _listed(columns: dict[str, Any]) -> str:
    return ", ".join(f"{name} {'missing' if value is None else value}" for name, value in columns.items())


def _end(found: RowExplanation) -> str:
    return found.to_text().splitlines()[-1]
