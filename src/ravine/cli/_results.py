"""Write the results of the commands to files, and print them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ravine.cli._data import Data
from ravine.evaluation import Stability
from ravine.explain import profile, sentence
from ravine.metrics import contingency_scores
from ravine.report import ReportData, describe_clusters
from ravine.report._trust import finding
from ravine.tree._text import counted

MOST_SHOWN = 40
"""Largest number of clusters in the printed table."""


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
