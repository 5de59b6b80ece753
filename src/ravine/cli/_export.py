"""The command export: a saved model as ONNX, SQL, Python or JSON."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ravine._files import Place, written_whole
from ravine._io import Columns, DataError, UsageError
from ravine.cli._places import check_files
from ravine.cli._screen import Screen
from ravine.export import to_json, to_onnx, to_python, to_sql
from ravine.export._recipe import Recipe, Step, recipe_of
from ravine.persist._header import Saved
from ravine.persist._read_only import read_only


def export(
    model_path: Path, to: str, out: str | None, table: str, dialect: Any, input_type: Any, screen: Screen
) -> None:
    """Write a model in another language."""
    if out is None and to == "onnx":
        raise UsageError("--to onnx writes a file that is no text: give its name with --out")
    out = "-" if out is None else out
    check_files("export", model=model_path, out=out)
    recipe = _recipe(read_only(model_path))
    match to:
        case "onnx":
            content = to_onnx(recipe, input_type=input_type).SerializeToString()
        case "sql":
            content = f"{to_sql(recipe, table, dialect)};\n".encode()
        case "python":
            content = to_python(recipe).encode()
        case _:
            content = f"{to_json(recipe)}\n".encode()
    if out == "-":
        with Place(1).open() as file:
            file.write(content)
    else:
        with written_whole(out) as place:
            place.write_bytes(content)
    screen.result({"columns": recipe.names, "n_clusters": recipe.tree.n_clusters, "files": {"export": out}})
    screen.say(f"{recipe.tree.n_clusters} clusters of {len(recipe.columns)} columns, written to {out}")


def _recipe(saved: Saved) -> Recipe:
    """Return what the model does with a row, with the means that fill gaps in `ravine predict`."""
    recipe = recipe_of(saved.model)
    if saved.notes is None or "columns" not in saved.notes or hasattr(saved.model, "steps"):
        return recipe
    columns = Columns.from_dict(saved.notes["columns"])
    if columns.categories:
        raise DataError(
            f"the model was fitted with --encode, and its column {next(iter(columns.categories))!r} has words: such a "
            "model cannot be exported; leave out the column, or use TableEncoder(category_encoding='indicators') in "
            "Python"
        )
    if columns.missing != "mean" or columns.fill is None:
        return recipe
    return replace(recipe, steps=(Step("fill", np.array(columns.fill)), *recipe.steps))
