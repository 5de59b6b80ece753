"""Everything that the page shows, as one dictionary for JSON, without HTML."""

import inspect
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from ravine import __version__
from ravine._lazy import is_a
from ravine._matrix import Ints
from ravine._names import shown
from ravine._read_only import ReadOnlyModel
from ravine.report import _clusters, _count_reason, _nodes
from ravine.report._data import ReportData, gathered
from ravine.report._format import parameter_text, rounded
from ravine.report._groups import Groups
from ravine.report._levels import Levels
from ravine.report._profiles import NodeProfiles
from ravine.report._rows import RowTexts, listed_rows
from ravine.report._rules import exact_sql, rules_of
from ravine.report._sample import LeafRanges, Sample
from ravine.report._soft import SoftClusters
from ravine.report._stability import hint, stability_of
from ravine.report._table import Sources, Table, numeric_table
from ravine.report._trust import is_given, trust_of
from ravine.tree import HyperplaneTree
from ravine.tree._text import counted, named

if TYPE_CHECKING:
    from ravine.evaluation import Stability
    from ravine.report._boundary import BoundaryView
    from ravine.report._path import PathView

IRRELEVANT = ("n_jobs", "verbose")
"""Parameters that do not change a result."""

CONVERTED = (
    "The SQL and the Python compare numbers and dates: convert columns that your table stores as text, such as amounts "
    "with a unit."
)

N_BOUNDARY_VALUES = 4
"""Number of columns listed for a row near a boundary."""

OF_TREE = ("left", "right", "parent", "depth", "rank")
"""Arrays of the tree that the page uses."""


def summarize(
    model: Any,
    rows: ReportData,
    *,
    feature_names: Sequence[str] | None = None,
    title: str | None = None,
    preparation: str | None = None,
    command: str | None = None,
    stability: "Stability | None" = None,
) -> dict[str, Any]:
    """Return everything that the page shows about a fitted model and its rows."""
    groups = Groups.of(model)
    given_names = _given_names(groups, feature_names)
    names = [shown(name) for name in given_names]
    ranges = _ranges(groups, rows)
    tree, steps, model = _with_means(groups, rows, ranges), _steps(groups), groups.model
    choice = _count_reason.choice_of(model, tree)
    path = _path(groups, rows)
    levels = None if path is None else path.clusterings
    with threadpool_limits(limits=1, user_api="blas"):  # many small products, which threads would slow down
        sample = Sample(rows, ranges)
        mixture = None if tree is None else tree.mixture
        soft = None if tree is None or mixture is None else SoftClusters(tree, mixture, ranges, sample)
        cells = None if rows.table is None else {name: values[sample.turn] for name, values in rows.table.items()}
        texts = None if cells is None else RowTexts(cells, rows.units)
        sources = Sources(given_names, sample.X, cells)
        nodes = _describe_nodes(tree, rows, ranges, sample, soft, choice, sources, texts)
        nodes += [] if levels is None else levels.describe(rows)
    n_columns = groups.n_features if rows.columns is None else len(rows.columns)
    table = numeric_table(rows.X, given_names) if rows.table is None else rows.table
    profiles = NodeProfiles.of(rows, table, tree, ranges, levels)
    if profiles is not None:
        _add_words(nodes, profiles, sample, table, rows)
    listed = listed_rows(rows, sample, table)
    boundary = _boundary(groups, rows, given_names)
    return {
        "title": shown(title or "Clustering report"),
        "finding": f"{_found(groups, rows)} in {counted(rows.n_rows, 'row')} × {counted(n_columns, 'column')}",
        "version": __version__,
        "method": _method(model),
        "preparation": _preparation(groups) if preparation is None else shown(preparation),
        "choice": {
            "kind": choice.kind,
            "sentence": choice.sentence,
            "evidence": None if tree is None else _count_reason.evidence_chart(tree, model, choice),
            "sum_sq": None if tree is None else _count_reason.sum_sq_chart(tree, model),
        },
        "trust": trust_of(model, tree, choice),
        "stability": stability_of(stability, groups, rows, is_given(model)),
        "stability_hint": hint(model, command is not None) if stability is None else "",
        "profiles": None if profiles is None else profiles.summary(),
        "rules": _rules(profiles, table, rows, int(ranges.end[0])),
        "exact": exact_sql(groups, given_names, is_encoded=rows.table is not None),
        "columns": None if rows.columns is None else [{k: shown(v) for k, v in line.items()} for line in rows.columns],
        "identifier": None if rows.identifier is None else shown(rows.identifier),
        "rows": listed,
        "n_rows": rows.n_rows,
        "n_fitted": rounded(_n_fitted(model, rows) if tree is None else float(tree.count[0]), 12),
        "n_sample": len(rows.X),
        "names": names,
        "tree": None if tree is None else {name: getattr(tree, name).tolist() for name in OF_TREE},
        "noun": "class" if tree is None and hasattr(model, "classes_") else "cluster",
        "groups": None if tree is not None else groups.names[: len(rows.leaf_count)],
        "nodes": nodes,
        "soft": None if soft is None else soft.words(),
        "classes": _classes(tree, rows, ranges, levels),
        "levels": None if levels is None else levels.summary(rows, listed["number"]),
        "path": None if path is None else path.summary(groups, rows, given_names),
        "no_path": _no_path(model),
        "boundary": None if boundary is None else boundary.summary(table),
        "reproduce": {
            "by": "in Python" if command is None else "with this command",
            "lines": [shown(command)]
            if command is not None
            else _reproduce(model, steps, rows, feature_names is not None, stability),
        },
    }


def describe_clusters(model: Any, X: Any, *, feature_names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Describe each cluster: its size, what sets it apart, its typical rows and its spread.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        Any fitted model of ravine, a pipeline that ends with one, or a tree.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or ReportData
        Rows from which the clusters are described, as in `write`.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names that the estimator saw in `fit`, or x0, x1 and so on.

    Returns
    -------
    records : list of dict
        One record for each cluster, with the keys `cluster`, `rows`, `share`, `sets_apart`, `typical_rows` and
        `spread`. A pandas DataFrame can be made from the list. For a classifier, `cluster` is the class. If there are
        rows in no cluster, their record has the value -1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ravine import NCutH, report
    >>> X = load_iris(as_frame=True).data
    >>> model = NCutH(n_clusters=3).fit(X)
    >>> for record in report.describe_clusters(model, X):
    ...     print(record["cluster"], record["rows"], record["sets_apart"])
    0 50 petal length (cm) low, petal width (cm) low, sepal length (cm) low
    1 47 sepal width (cm) low
    2 53 petal width (cm) high, petal length (cm) high, sepal length (cm) high
    """
    groups, rows = Groups.of(model), gathered(model, X)
    names = [shown(name) for name in _given_names(groups, feature_names)]
    sample = Sample(rows, LeafRanges.of_groups(len(rows.leaf_count)))
    return [
        {
            "cluster": value,
            "rows": int(count),
            "share": count / max(rows.n_rows, 1),
            "sets_apart": described["words"],
            "typical_rows": described["typical"],
            "spread": described["spread"],
        }
        for node, (value, count) in enumerate(zip(groups.values, rows.leaf_count.tolist(), strict=False), 1)
        for described in (_clusters.describe(sample, sample.of(node), names),)
    ]


def _path(groups: Groups, rows: ReportData) -> "PathView | None":
    """Return the path of a sum-of-norms model; None for other methods."""
    if not is_a(groups.model, _count_reason.SUM_OF_NORMS):
        return None
    from ravine.report._path import PathView

    return PathView.of(groups, rows)


def _no_path(model: Any) -> str:
    if not is_a(model, _count_reason.SUM_OF_NORMS):
        return ""
    from ravine.report._path import no_path

    return no_path(model)


def _boundary(groups: Groups, rows: ReportData, names: list[str]) -> "BoundaryView | None":
    """Return the boundary of a support vector model; None for other methods."""
    if not is_a(groups.model, _count_reason.SUPPORT_VECTORS):
        return None
    from ravine.report._boundary import BoundaryView

    return BoundaryView.of(groups, rows, names)


def clusters_at(tree: HyperplaneTree, n_clusters: int) -> Ints:
    """Return the nodes that are the leaves of ``cut_to(n_clusters)``, from left to right."""
    is_cut = (tree.rank > 0) & (tree.rank < n_clusters)
    reached = np.append(is_cut, True)[tree.parent]  # the root's parent is -1
    return np.flatnonzero(reached & ~is_cut)


def _given_names(groups: Groups, feature_names: Sequence[str] | None) -> list[str]:
    given = groups.feature_names if feature_names is None else feature_names
    return [str(name) for name in named(groups.n_features, given, "rows have" if groups.tree is None else "tree has")]


def _add_words(
    nodes: list[dict[str, Any]], profiles: NodeProfiles, sample: Sample, table: Table, rows: ReportData
) -> None:
    """Add to each node its name, its sentence, its profile, and the cells of its typical and boundary rows."""
    place = {number: i for i, number in enumerate(sample.number.tolist())}
    texts = RowTexts({name: table[name][sample.turn] for name in profiles.names}, rows.units)
    cells, top_columns = profiles.node_cells(), profiles.top_columns()
    for node, words in profiles.node_words().items():
        nodes[node] |= {**words, "cells": cells[node], "top": top_columns[node]}
    for entry in nodes:
        top = [profiles.names[j] for j in entry.get("top", ())]
        entry["typical_values"] = [[texts.of(name, place[number]) for name in top] for number in entry["typical"]]
        for row in entry.get("boundary", ()):
            row["values"] = [texts.of(name, place[row["row"]]) for name in top[:N_BOUNDARY_VALUES]]


def _rules(profiles: NodeProfiles | None, table: Table, rows: ReportData, n_groups: int) -> dict[str, Any]:
    """Return rules in the columns that the model uses and the page shows."""
    names = [] if profiles is None else [name for name in profiles.names if name in profiles.used]
    label = np.where(rows.cluster < n_groups, rows.cluster, -1)
    found = rules_of({name: table[name] for name in names}, label, n_groups)
    if rows.columns is not None and found["sql"]:
        found["agreement"] += f" {CONVERTED}"
    return found


def _with_means(groups: Groups, rows: ReportData, ranges: LeafRanges) -> HyperplaneTree | None:
    """Return the tree, with means of the given rows if those of the fit are not known in the columns that are shown."""
    tree = groups.tree
    if tree is None or groups.pipeline is None or groups.pipeline.has_means:
        return tree
    n_clusters = tree.n_clusters
    kept = rows.cluster < n_clusters
    total, count = np.zeros((n_clusters, tree.n_features)), np.bincount(rows.cluster[kept], minlength=n_clusters)
    np.add.at(total, rows.cluster[kept], rows.X[kept])
    mean = tree.mean.copy()
    for node, (first, end) in enumerate(zip(ranges.first, ranges.end, strict=True)):
        if count[first:end].any():
            mean[node] = total[first:end].sum(axis=0) / count[first:end].sum()
    return replace(tree, mean=mean)


def _steps(groups: Groups) -> list[Any]:
    """Return the steps before the model that do something."""
    steps = [] if groups.pipeline is None else groups.pipeline.pipe.steps[:-1]
    return [step for _, step in steps if step not in (None, "passthrough")]


def _preparation(groups: Groups) -> str | None:
    """Return how a pipeline prepares the rows, in words."""
    steps = [_call(step) for step in _steps(groups)]
    if groups.pipeline is None or not steps:
        return None
    said = f"The rows go through {', then '.join(steps)}."
    if groups.pipeline.reason:
        said += f" The columns below are those after these steps, because {groups.pipeline.reason}."
    return shown(said)


def _call(step: Any) -> str:
    """Return the expression that creates a step, on one line, without addresses in memory."""
    text = re.sub(r"<(?:ufunc|function) '?([\w.<>]+?)'?(?: at 0x[0-9a-f]+)?>", _function, " ".join(repr(step).split()))
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _function(found: re.Match[str]) -> str:
    return f"np.{found[1]}" if hasattr(np, found[1]) else found[1]


def _imports(steps: list[Any]) -> list[str]:
    """Return the lines that import the classes of the steps and of their parts."""
    every = [part for step in steps for part in (step, *step.get_params().values())]
    parts = [part for part in every if is_a(part, "sklearn.base.BaseEstimator")]
    found: dict[str, set[str]] = {"sklearn.pipeline": {"make_pipeline"}}
    for part in parts:
        home = ".".join(type(part).__module__.split(".")[:2])
        found.setdefault(home, set()).add(type(part).__name__)
    lines = [f"from {home} import {', '.join(sorted(found[home]))}" for home in sorted(found)]
    return ["import numpy as np", *lines] if any("np." in _call(step) for step in steps) else lines


def _ranges(groups: Groups, rows: ReportData) -> LeafRanges:
    return LeafRanges.of_groups(len(rows.leaf_count)) if groups.tree is None else LeafRanges(groups.tree)


def _found(groups: Groups, rows: ReportData) -> str:
    """The number of groups, and of outliers of a tree, which has no node for them, in words."""
    has_outliers = groups.tree is not None and len(rows.leaf_count) > groups.tree.n_clusters
    return f"{groups.finding} and {counted(int(rows.leaf_count[-1]), 'outlier')}" if has_outliers else groups.finding


def _n_fitted(model: Any, rows: ReportData) -> float:
    """Number of rows in the fit of a model without a tree, or of the given rows if the model does not record it."""
    if hasattr(model, "n_samples_seen_"):
        return float(model.n_samples_seen_)
    labels = getattr(model, "labels_", getattr(model, "transduction_", None))
    return float(rows.n_rows if labels is None else len(labels))


def _describe_nodes(
    tree: HyperplaneTree | None,
    rows: ReportData,
    ranges: LeafRanges,
    sample: Sample,
    soft: SoftClusters | None,
    choice: _count_reason.CountReason,
    sources: Sources,
    texts: RowTexts | None,
) -> list[dict[str, Any]]:
    count = ranges.total(rows.leaf_count)
    n_nodes = len(ranges.first)
    n_points = _nodes.points_each([len(sample.X[sample.of(node)]) for node in range(n_nodes)])
    nodes = []
    for node in range(n_nodes):
        entry: dict[str, Any] = {
            "rows": int(count[node]),
            "evidence": "" if tree is None else _count_reason.evidence_text(tree, node, choice),
            **_clusters.typical(sample, sample.of(node)),
            **({} if soft is None else soft.boundary(node)),
        }
        if tree is None or tree.is_leaf[node]:
            entry |= {"cut": False, **_nodes.leaf_picture(sample, node, n_points[node], soft)}
        else:
            depth = rounded(float(tree.relative_depth[node]), 3)
            picture = _nodes.cut_picture(tree, node, sample, n_points[node], soft, sources, texts)
            entry |= {"cut": True, "relative_depth": depth, **picture}
        nodes.append(entry)
    return nodes


def _classes(
    tree: HyperplaneTree | None, rows: ReportData, ranges: LeafRanges, levels: Levels | None
) -> dict[str, Any] | None:
    """Compare classes and clusters: the counts of each node, and the scores of every number of clusters or level."""
    if rows.contingency is None or rows.class_names is None or not rows.n_rows:
        return None
    table = ranges.total(rows.contingency)
    tables = [rows.contingency]
    if levels is not None:
        new, tables = levels.class_counts(rows)
        table = np.vstack([table, new])
    shown, place = _clusters.shown_classes(rows.contingency, rows.class_names)
    commonest = table.argmax(axis=1)
    if tree is not None:
        outliers = rows.contingency[tree.n_clusters :]
        tables = [np.vstack([table[clusters_at(tree, k)], outliers]) for k in range(1, tree.n_clusters + 1)]
    return {
        "names": rows.class_names,
        "shown": shown,
        "shown_as": place.tolist(),
        "commonest": commonest.tolist(),
        "commonest_rows": table[np.arange(len(table)), commonest].tolist(),
        "counts": _clusters.merged(table, place).tolist(),
        "scores": _clusters.score_path(tables),
    }


def _method(model: Any) -> dict[str, Any] | None:
    if isinstance(model, HyperplaneTree):
        return None
    return {"name": type(model).__name__, "parameters": changed_parameters(model)}


def changed_parameters(model: Any) -> list[list[str]]:
    """Return the parameters that differ from their defaults, as text."""
    defaults = _defaults(model)
    given = {
        name: parameter_text(value) for name, value in model.get_params(deep=False).items() if name not in IRRELEVANT
    }
    return [[name, text] for name, text in given.items() if text != parameter_text(defaults[name])]


def _defaults(model: Any) -> dict[str, Any]:
    if isinstance(model, ReadOnlyModel):
        return model._parameter_defaults()
    return {name: each.default for name, each in inspect.signature(type(model).__init__).parameters.items()}


def _reproduce(model: Any, steps: list[Any], rows: ReportData, named: bool, stability: "Stability | None") -> list[str]:
    """Return lines of Python that make this report again."""
    options = ", labels=labels" * (rows.contingency is not None) + ", feature_names=names" * named
    if stability is not None:
        n_resamples = len(stability.n_clusters) + len(stability.errors)
        options += f", stability=stability(model, X, n_resamples={n_resamples})"
    write = f'report.write(model, X, "report.html"{options})'
    if isinstance(model, HyperplaneTree):
        return ["from ravine import report", write.replace("model", "tree")]
    call = f"{type(model).__name__}({', '.join(f'{name}={text}' for name, text in changed_parameters(model))})"
    lines = [f"from ravine import {type(model).__name__}, report"]
    lines += ["from ravine.evaluation import stability"] * (stability is not None)
    if steps:
        call = f"make_pipeline({', '.join(map(_call, steps))}, {call})"
        lines = [*_imports(steps), *lines]
    if hasattr(model, "classes_"):
        return [*lines, f"model = {call}.fit(X, y)", write]
    if model._learned_in_batches and not steps:
        return [*lines, f"model = {call}", "for batch in batches:", "    model.partial_fit(batch)", write]
    return [*lines, f"model = {call}.fit(X)", write]
