"""The commands that use a saved model: predict, inspect, cut, report."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ravine._io import (
    Columns,
    DataError,
    EncodedColumns,
    MissingRule,
    TextFormat,
    UsageError,
    all_names,
    check_known,
    choose_columns,
    open_tables,
    read_raw,
)
from ravine._read_only import ReadOnlyModel
from ravine.cli._data import Data, keep_pandas_out
from ravine.cli._frames import FrameData
from ravine.cli._labels import kind_of_labels, label_rows
from ravine.cli._places import check_files
from ravine.cli._screen import Screen
from ravine.persist._header import Saved
from ravine.persist._read_only import read_only
from ravine.tree import HyperplaneTree, tree_of
from ravine.tree._text import names_of
from ravine.tree._unit_rows import has_unit_rows, own_tree


def predict(
    model_path: Path,
    where: Sequence[str],
    text: TextFormat,
    sheet: str | None,
    out: str,
    n_clusters: int | None,
    missing: MissingRule | None,
    screen: Screen,
) -> None:
    """Label the rows of the input files."""
    kind_of_labels(out)
    check_files("predict", model=model_path, data=where, out=out)
    saved = read_only(model_path)
    model = _coarser_model(saved.model, n_clusters)
    with open_saved_data(saved, where, text, sheet, None, missing, screen) as data:
        rows = label_rows(model, data, out)
    screen.result({"n_rows": rows.n_rows, "sizes": rows.leaf_count.tolist(), "files": {"labels": out}})
    screen.say(f"{rows.n_rows:,} rows labeled" + ("" if out == "-" else f", written to {out}"))


def report(
    model_path: Path,
    where: Sequence[str],
    text: TextFormat,
    sheet: str | None,
    out: Path,
    label: str | None,
    command: str,
    screen: Screen,
) -> None:
    """Write the report of a model with the rows of the input files."""
    from ravine.report import write

    check_files("report", model=model_path, data=where, out=out)
    saved = read_only(model_path)
    with open_saved_data(saved, where, text, sheet, label, None, screen) as data:
        model = of_rows(saved.model)
        rows = label_rows(model, data, None)
        if data.encoder is not None:
            rows = data.with_table(rows)
        preparation = (saved.notes or {}).get("preparation")
        said = preparation if isinstance(preparation, str) else None
        names = None if data.encoder is None else data.columns.names
        write(model, rows, out, feature_names=names, title=data.name, preparation=said, command=command)
    screen.result({"n_rows": rows.n_rows, "files": {"report": str(out)}})
    screen.say(f"written: {out}")


def cut(model_path: Path, n_clusters: int, out: Path | None, screen: Screen) -> None:
    """Write or show a model with fewer clusters."""
    from ravine.persist import read, save

    check_files("cut", model=model_path, out=out)
    saved = read(model_path)
    is_pipeline = _is_pipeline(saved.model)
    tree = _coarser(own_tree(_last(saved.model)), n_clusters)
    if out is None:
        _show(_coarser_pipeline(saved.model, n_clusters) if is_pipeline else tree, saved.model, screen)
        return
    coarser = _coarser_pipeline(saved.model, n_clusters) if is_pipeline else saved.model.cut_to(n_clusters)
    save(coarser, out, resume=False, notes=saved.notes)
    screen.result({"n_clusters": n_clusters, "files": {"model": str(out)}})
    screen.say(f"written: {out} with {n_clusters} of {_last(saved.model).n_clusters_} clusters")


def inspect(model_path: Path, screen: Screen) -> None:
    """Show a model."""
    from ravine.persist import read

    saved = read(model_path)
    screen.say(f"{saved.model!r}, saved by ravine {saved.ravine_version}")
    if has_unit_rows(_last(saved.model)):
        screen.say("of rows that are divided by their lengths (metric='cosine')")
    _show(saved.model if _is_pipeline(saved.model) else own_tree(saved.model), saved.model, screen)


def _show(shown: Any, model: Any, screen: Screen) -> None:
    """Show a tree of a model; a pipeline is shown in the columns of the table, if that is possible."""
    if not isinstance(shown, HyperplaneTree):
        from ravine.tree._pipeline import ShownPipeline

        pipeline, model = ShownPipeline.of(shown), _last(model)
        tree, names = pipeline.tree or own_tree(model), pipeline.names
        if pipeline.reason:
            screen.say(f"in the columns after the steps of the pipeline, because {pipeline.reason}")
    else:
        tree, names = shown, names_of(own_tree(model), getattr(model, "feature_names_in_", None))
    leaves = tree.leaves
    total = tree.count[0]
    screen.result(
        {
            "estimator": type(model).__name__,
            "parameters": {name: value for name, value in model.get_params().items() if _is_plain(value)},
            "columns": names,
            "n_clusters": tree.n_clusters,
            "sizes": tree.count[leaves].tolist(),
            "nodes": tree.describe(names),
        }
    )
    screen.say(tree.to_text(names, 3) + "\n")
    rows = [
        [str(label), f"{tree.count[leaf]:,.10g}", f"{tree.count[leaf] / total:.1%}"]
        for label, leaf in enumerate(leaves)
    ]
    screen.table(["cluster", "rows", "share"], rows, numbers=3)


@contextmanager
def open_saved_data(
    saved: Saved,
    where: Sequence[str],
    text: TextFormat,
    sheet: str | None,
    label: str | None,
    missing: MissingRule | None,
    screen: Screen,
) -> Iterator[Data]:
    """Open the input files and convert their rows to numbers as in the fit."""
    if isinstance(_last(saved.model), ReadOnlyModel):
        keep_pandas_out()
    with open_tables(where, text, sheet=sheet, note=screen.note) as tables:
        if label is not None:
            check_known(tables, [label], all_names(tables))
        if _is_pipeline(saved.model) and missing is not None:
            raise UsageError("the model is a pipeline, which handles missing values itself: leave out --missing")
        encoder = _first(saved.model)
        if _is_encoded(saved.model):
            columns = EncodedColumns(encoder)
            read_raw(tables, screen.warn, needed=columns.used)
            for name in _zero_padded(encoder):
                for table in tables:
                    table.read_as_text(name)
            yield Data(tables, columns, label, screen, _identifiers(encoder, tables))
            return
        names = getattr(encoder, "feature_names_in_", None)
        if _is_pipeline(saved.model) and names is not None:
            yield FrameData(tables, Columns(tuple(map(str, names)), {}), label, screen)
            return
        plain = _columns_of(saved, tables, screen)
        if missing is not None:
            fill = tuple(tree_of(saved.model).mean[0].tolist()) if missing == "mean" else None
            plain = replace(plain, missing=missing, fill=fill)
        yield Data(tables, plain, label, screen)


def _columns_of(saved: Saved, tables: Sequence[Any], screen: Screen) -> Columns:
    """The columns of the fit, or all columns of numbers if the model records no names."""
    if saved.notes is not None and "columns" in saved.notes:
        return Columns.from_dict(saved.notes["columns"])
    names = getattr(saved.model, "feature_names_in_", None)
    if names is not None:
        return Columns(tuple(map(str, names)), {})
    columns = choose_columns(tables, warn=screen.warn)
    n_features = _first(saved.model).n_features_in_
    if len(columns.used) != n_features:
        raise DataError(
            f"{tables[0].name} has {len(columns.used)} columns of numbers, but the model was fitted on {n_features}"
        )
    return columns


def _coarser(tree: HyperplaneTree, n_clusters: int | None) -> HyperplaneTree:
    if n_clusters is None:
        return tree
    if n_clusters > tree.n_clusters:
        raise UsageError(
            f"--clusters {n_clusters}: the model has only {tree.n_clusters}; give a smaller number or fit a new model"
        )
    return tree.cut_to(n_clusters)


def _coarser_model(model: Any, n_clusters: int | None) -> Any:
    """Return what labels the rows that are read: a tree, with fewer clusters if asked for, a model or a pipeline."""
    if not _is_pipeline(model):
        if not has_unit_rows(model):
            return _coarser(tree_of(model), n_clusters)
        return model.cut_to(_coarser(own_tree(model), n_clusters).n_clusters)
    if not _is_encoded(model):
        return _coarser_pipeline(model, n_clusters)
    last = _last(model)
    return last if n_clusters is None else _coarser(tree_of(last), n_clusters)


def _coarser_pipeline(pipe: Any, n_clusters: int | None) -> Any:
    """Return the pipeline of scikit-learn with the first clusters of its model only."""
    if n_clusters is None:
        return pipe
    from sklearn.pipeline import Pipeline

    (*steps, (name, model)) = pipe.steps
    _coarser(own_tree(model), n_clusters)
    return Pipeline([*steps, (name, model.cut_to(n_clusters))])


def _is_pipeline(model: Any) -> bool:
    return hasattr(model, "steps")


def _is_encoded(model: Any) -> bool:
    """Return whether a model is an encoder of tables followed by an estimator, as `ravine cluster` saves it."""
    return _is_pipeline(model) and len(model.steps) == 2 and type(model.steps[0][1]).__name__ == "TableEncoder"


def _identifiers(encoder: Any, tables: Sequence[Any]) -> tuple[str, ...]:
    """Return the column that names the rows, if the new tables have it."""
    known = encoder.identifier_
    return (known,) if known is not None and known in all_names(tables) else ()


def _zero_padded(encoder: Any) -> list[str]:
    """Return the columns that have levels with zeros in front, such as 01067."""
    return [column.name for column in encoder.columns_ if any(re.match(r"0\d", level) for level in column.levels)]


def of_rows(model: Any) -> Any:
    """Return the model of the rows that are read: that after the encoder of tables, or the whole model."""
    return _last(model) if _is_encoded(model) else model


def _first(model: Any) -> Any:
    """Return the step that reads the rows: the first one of a pipeline that does something, or the model."""
    if not _is_pipeline(model):
        return model
    if _is_encoded(model):
        return model.steps[0][1]
    from ravine.tree._pipeline import first_step

    return first_step(model)


def _last(model: Any) -> Any:
    return model.steps[-1][1] if _is_pipeline(model) else model


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)
