"""Write the results of the commands to files, and print them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ravine._files import Place, written_whole
from ravine._io import LabelWriter, label_kind
from ravine._io._labels import KINDS
from ravine.cli._data import Data
from ravine.cli._screen import Screen
from ravine.metrics import contingency_scores
from ravine.report import ReportAccumulator, ReportData, describe_clusters
from ravine.tree._text import counted

MOST_SHOWN = 40
"""Largest number of clusters in the printed table."""


def kind_of_labels(out: str | None) -> str:
    """Format of the labels: from the file name, or CSV for pipes and other special files."""
    if out is None or (Path(out).suffix.lower() not in KINDS and not Place(out).is_plain):
        return ".csv"
    return label_kind(out)


@contextmanager
def labels_file(out: str | None) -> Iterator[LabelWriter | None]:
    """Open the output for the labels. A file appears only after all labels are written."""
    if out is None:
        yield None
    elif out == "-":
        with LabelWriter(None, ".csv") as writer:
            yield writer
    else:
        with written_whole(out) as place, LabelWriter(place, kind_of_labels(out)) as writer:
            yield writer


def label_rows(model: Any, data: Data, out: str | None) -> ReportData:
    """Label all rows with a model or a tree, write the labels if requested, and collect the data of the report."""
    gatherer, n_rows = ReportAccumulator(model), 0
    with labels_file(out) as writer:
        for block in data.blocks("labeling", with_label=True):
            labels = gatherer.add(block.X, block.label, numbers=n_rows + np.flatnonzero(block.kept))
            n_rows += len(block.kept)
            if writer is not None:
                writer.add(labels, block.kept, block.beside)
    return gatherer.rows()


def show_clusters(
    model: Any, rows: ReportData, method: str, seconds: float, files: Mapping[str, str | Path | None], screen: Screen
) -> None:
    """Print the clusters, their agreement with the labels, and the files that were written."""
    written = {what: str(path) for what, path in files.items() if path is not None}
    clusters = describe_clusters(model, rows)
    scores = None if rows.contingency is None else contingency_scores(rows.contingency)
    n_columns = len(model.feature_names_in_)
    screen.result(
        {
            "method": method,
            "n_clusters": model.n_clusters_,
            "n_rows": rows.n_rows,
            "n_columns": n_columns,
            "seconds": round(seconds, 3),
            "clusters": clusters,
            "scores": scores,
            "files": written,
        }
    )
    found, of, across = counted(len(clusters), "cluster"), counted(rows.n_rows, "row"), counted(n_columns, "column")
    screen.say(f"{found} in {of} × {across} by {method}, {seconds:.1f} s\n")
    table = [[str(c["cluster"]), f"{c['rows']:,}", f"{c['share']:.1%}", c["sets_apart"]] for c in clusters[:MOST_SHOWN]]
    screen.table(["cluster", "rows", "share", "what sets it apart"], table, numbers=3)
    if len(clusters) > MOST_SHOWN:
        screen.say(f"and {len(clusters) - MOST_SHOWN} more")
    if scores is not None:
        screen.say("\nagreement with the labels: " + ", ".join(f"{name} {score:.3f}" for name, score in scores.items()))
    if written:
        screen.say("\nwritten: " + ", ".join(f"{what} {path}" for what, path in written.items()))
    else:
        screen.say("\nno file was written: add --out labels.csv, --model model.ravine or --report report.html")
