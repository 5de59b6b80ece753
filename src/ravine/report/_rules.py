"""Short rules for the clusters, in words, SQL and Python, and the exact model as SQL."""

from dataclasses import replace
from typing import Any

import numpy as np

from ravine._matrix import Ints
from ravine._names import shown
from ravine.explain import Rule, rules, tree_sql
from ravine.explain._format import share_text
from ravine.report._format import MAX_NAME
from ravine.report._groups import Groups
from ravine.report._table import Table
from ravine.tree import HyperplaneTree
from ravine.tree._text import shortened

MOST_CLUSTERS = 100
"""No rules are made for more clusters."""

LONGEST_SQL = 200_000
"""A longer query is not part of the page."""

TABLE_NAME = "rows"

INVISIBLE = "There is no SQL here, because names have characters that cannot be seen. Call ravine.explain to get it."


def rules_of(table: Table, label: Ints, n_clusters: int) -> dict[str, Any]:
    """Return the rules of the clusters: a list in the order of their numbers, and all of them as SQL and Python.

    `reason` says why there are none.
    """
    if n_clusters < 2:
        return _none("There is one cluster, which needs no rule.")
    if n_clusters > MOST_CLUSTERS:
        return _none(f"Rules are shown for at most {MOST_CLUSTERS} clusters. Call ravine.explain.rules to make them.")
    if len(np.unique(label[label >= 0])) < 2 or not table:
        return _none("Too few clusters have rows in the sample.")
    found = rules(table, label)
    try:
        sql = found.to_sql(TABLE_NAME)
    except ValueError as error:  # a name that SQL cannot have
        return _none(f"The rules cannot be written: {shown(str(error))}.")
    listed = [
        {
            "cluster": rule.cluster,
            "text": _text(rule),
            "words": _words(rule.precision, rule.coverage) if rule.conditions else "",
            "held_out": _held_out(rule.held_out_precision, rule.held_out_coverage) if rule.conditions else "",
        }
        for rule in sorted(found.rules, key=lambda rule: rule.cluster)
    ]
    agreement = f"Applied in turn, the rules give {share_text(found.agreement)} of the rows their cluster."
    lines, python = _visible(sql), _visible(found.to_python())
    reason = "" if lines else INVISIBLE
    return {"list": listed, "agreement": agreement, "sql": lines, "python": python, "reason": reason}


def _text(rule: Rule) -> str:
    """Return a rule with names of columns that are not too long to read."""
    short = [replace(one, column=shortened(one.column, MAX_NAME)) for one in rule.conditions]
    return replace(rule, conditions=tuple(short)).to_text()


def _none(reason: str) -> dict[str, Any]:
    return {"list": [], "agreement": "", "sql": [], "python": [], "reason": reason}


def _visible(code: str) -> list[str]:
    """Return the lines of a text; none if it has characters that cannot be seen, which could mislead a reader."""
    lines = code.rstrip("\n").split("\n")
    return lines if all(shown(line) == line for line in lines) else []


def _words(precision: float, coverage: float) -> str:
    return (
        f"{share_text(precision)} of the rows that match are in the cluster, and {share_text(coverage)} of the rows in "
        "the cluster match."
    )


def _held_out(precision: float, coverage: float) -> str:
    if np.isnan(precision) or np.isnan(coverage):
        return ""
    return f"On rows that were not used to find the rule: {share_text(precision)} and {share_text(coverage)}."


def exact_sql(groups: Groups, names: list[str], *, is_encoded: bool) -> dict[str, Any]:
    """Return the exact model as SQL, or the reason why there is none."""
    tree = groups.tree
    if tree is None:
        return _omitted("This model has no tree of cuts, so it cannot be written as SQL.")
    if tree.n_clusters == 1:
        return _omitted("There is one cluster, which needs no query.")
    if is_encoded or (groups.pipeline is not None and groups.pipeline.steps is None):
        return _omitted(
            "The exact model is not available as SQL, because it works on encoded columns. The rules are in your "
            "columns."
        )
    own = getattr(groups.model, "tree_", None)
    if tree.mixture is None and isinstance(own, HyperplaneTree) and own.has_soft_labels:
        return _omitted("The exact model is not available as SQL, because the pipeline projects the rows.")
    try:
        sql = tree_sql(tree, names, TABLE_NAME)
    except ValueError as error:
        return _omitted(f"The exact model is not available as SQL: {shown(str(error))}.")
    if len(sql) > LONGEST_SQL:
        return _omitted(
            f"The exact model as SQL has {len(sql):,} letters, too many for this page. Call ravine.explain.tree_sql."
        )
    lines = _visible(sql)
    return {"sql": lines, "reason": ""} if lines else _omitted(INVISIBLE)


def _omitted(reason: str) -> dict[str, Any]:
    return {"sql": [], "reason": reason}
