"""Write the results of the commands to files, and print them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ravine._files import Place, written_whole
from ravine._io import BesideChangedError, LabelWriter, label_kind
from ravine._io._labels import KINDS
from ravine.cli._data import Data
from ravine.evaluation import Stability
from ravine.explain import profile, sentence
from ravine.metrics import contingency_scores
from ravine.report import ReportAccumulator, ReportData, describe_clusters
from ravine.report._trust import finding
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
    try:
        return _label_rows(model, data, out)
    except BesideChangedError:
        return _label_rows(model, data, out)  # now the column is text from the first row


def _label_rows(model: Any, data: Data, out: str | None) -> ReportData:
    gatherer, n_rows = ReportAccumulator(model), 0
    with labels_file(out) as writer:
        for block in data.blocks("labeling", with_label=True):
            labels = gatherer.add(block.X, block.label, numbers=n_rows + np.flatnonzero(block.kept))
            n_rows += len(block.kept)
            if writer is not None:
                writer.add(labels, block.kept, block.beside)
    return gatherer.rows()


def stability_record(stable: Stability) -> dict[str, Any]:
    """Return how often each number of clusters came out, and how each cluster was found again."""
    found = zip(stable.clusters.tolist(), stable.share_found_again.tolist(), stable.verdicts, strict=True)
    return {
        "n_clusters": {str(number): count for number, count in stable.counts.items()},
        "clusters": [{"cluster": k, "found_again": share, "verdict": verdict} for k, share, verdict in found],
    }


def sentences(rows: ReportData) -> dict[int, str]:
    """Return a sentence about each cluster, in the columns and units of the table, from the sampled rows."""
    left_out = {column["name"] for column in rows.columns or () if column["role"] in ("identifier", "copy")}
    shown = {name: values for name, values in (rows.table or {}).items() if name not in left_out}
    profiles = profile(shown, rows.cluster)
    return {int(cluster): sentence(profiles, int(cluster), units=rows.units) for cluster in profiles.clusters}


def show_clusters(
    model: Any,
    rows: ReportData,
    method: str,
    seconds: float,
    files: Mapping[str, str | Path | None],
    data: Data,
    stable: Stability | None = None,
) -> None:
    """Print the clusters, their agreement with the labels, and the files that were written."""
    screen = data.screen
    written = {what: str(path) for what, path in files.items() if path is not None}
    names = data.columns.names
    clusters = describe_clusters(model, rows, feature_names=names)
    if rows.table is not None and rows.n_rows:
        said_of = sentences(rows)
        clusters = [{**one, "sentence": said_of.get(one["cluster"], "")} for one in clusters]
    scores = None if rows.contingency is None else contingency_scores(rows.contingency)
    columns = {} if data.encoder is None else {"columns": data.encoder.summary()}
    screen.result(
        {
            "method": method,
            "n_clusters": model.n_clusters_,
            "confirmed": getattr(model, "confirmed_", None),
            "n_rows": rows.n_rows,
            "n_columns": len(names),
            "seconds": round(seconds, 3),
            **columns,
            "clusters": clusters,
            **({} if stable is None else {"stability": stability_record(stable)}),
            "scores": scores,
            "files": written,
        }
    )
    n_columns = len(data.columns.used if data.encoder is None else data.encoder.columns_)  # as on the page
    of, across = counted(rows.n_rows, "row"), counted(n_columns, "column")
    found = f"{counted(int(model.n_clusters_), 'cluster')} in {of} × {across} by {method}, {seconds:.1f} s"
    screen.say(finding(model, found) + "\n")
    table = [
        [str(one["cluster"]), f"{one['rows']:,}", f"{one['share']:.1%}", one.get("sentence") or one["sets_apart"]]
        for one in clusters[:MOST_SHOWN]
    ]
    screen.table(["cluster", "rows", "share", "what sets it apart"], table, numbers=3)
    if len(clusters) > MOST_SHOWN:
        screen.say(f"and {len(clusters) - MOST_SHOWN} more")
    if stable is not None:
        screen.say(f"\n{stable}")
    if data.encoder is not None:
        lines = [[line[key] for key in ("name", "role", "treatment", "reason")] for line in data.encoder.summary()]
        is_plain = all(role == "number" and reason == "numbers" for _, role, _, reason in lines)
        screen.say("\nall columns are numbers, scaled to unit variance" if is_plain else "")
        if not is_plain:
            screen.table(["column", "role", "what is done", "why"], lines, numbers=0)
    if scores is not None:
        screen.say("\nagreement with the labels: " + ", ".join(f"{name} {score:.3f}" for name, score in scores.items()))
    if written:
        screen.say("\nwritten: " + ", ".join(f"{what} {path}" for what, path in written.items()))
    else:
        screen.say("\nno file was written: add --out labels.csv, --model model.ravine or --report report.html")
