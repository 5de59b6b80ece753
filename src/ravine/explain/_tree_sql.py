"""The exact clusters of a model as SQL: the cuts of its tree as nested CASE, and its mixture as a subquery.

The side of a row at a cut is the sign of a sum. SQL adds in the order that is written, and ravine in the order that is
fastest, so the two may differ in the last digits. Rows that are nearer to a cut than that may go to the other side.

The mixture needs no logarithm. The density of a component decreases with 1 + q / freedom, where q is the squared
distance of a row, so the likeliest component has the smallest 1 + q / freedom times a constant of the component.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ravine.explain._sql import double_literal, identifier, table_identifier
from ravine.explain._table import Floats
from ravine.tree import HyperplaneTree, tree_of
from ravine.tree._mixture import Mixture
from ravine.tree._text import names_of

LONGEST = 900_000
"""A query with more characters is refused: SQLite accepts a million by default."""

MOST_COMPONENTS = 500
"""A mixture with more components is refused: SQLite accepts no longer UNION."""

FLAT = 16
"""A sum of more terms is divided by parentheses, since databases limit the depth of an expression."""


def tree_sql(
    model: Any,
    feature_names: Sequence[str] | None = None,
    table_name: str | Sequence[str] = "rows",
    *,
    column_name: str = "cluster",
    assign_labels: str = "auto",
) -> str:
    """Write the clusters of a fitted model as a query in SQL, which gives the labels of `predict`.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
        A model with a tree, or the tree.
    feature_names : sequence of str, optional
        Names of the columns in the database. Default: the names of the columns in `fit`, or x0, x1 and so on.
    table_name : str or sequence of str, default="rows"
        Name of the table; a sequence has the name of its schema first.
    column_name : str, default="cluster"
        Name of the new column.
    assign_labels : {"auto", "tree"}, default="auto"
        What decides about labels. With "auto", it is what decides in `predict`: the mixture of the tree, if it has one
        that decides, or else the cuts. With "tree", it is the cuts: the query is shorter, and its labels are those of
        the leaves.

    Returns
    -------
    sql : str
        A SELECT statement without a semicolon. Rows with a NULL in one of the columns get NULL.

    See Also
    --------
    rules : Finds short rules that hold for most rows.
    ravine.tree.HyperplaneTree.apply : Returns the leaf of each row.

    Notes
    -----
    Coefficients have all their digits, and columns should be of type double. The database adds in another order than
    ravine, so rows that are within rounding of a boundary may get another label. Labels are numbers of leaves from left
    to right, also for a classifier. A cut that bends cannot be written as a comparison and is refused.

    Examples
    --------
    A tree with a single cut:

    >>> import numpy as np
    >>> from ravine import PDDP
    >>> from ravine.cuts import Cut
    >>> from ravine.explain import tree_sql
    >>> tree = PDDP(n_clusters=1, criterion="mean").fit([[100.0], [900.0]]).tree_
    >>> tree = tree.split(0, Cut(np.array([1.0]), 499.5))
    >>> print(tree_sql(tree, ["spend"], "customers"))
    SELECT *,
      CASE
        WHEN "spend" IS NULL THEN NULL
        ELSE
          CASE WHEN 1.0e0 * "spend" < 499.5e0 THEN
            0
          ELSE
            1
          END
      END AS "cluster"
    FROM "customers"
    """
    if assign_labels not in ("auto", "tree"):
        raise ValueError(f"assign_labels={assign_labels!r} must be 'auto' or 'tree'")
    tree = tree_of(model)
    given = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    names = [identifier(name) for name in names_of(tree, given)]
    mixture = tree.mixture if tree.has_soft_labels and assign_labels == "auto" else None
    needs_cuts = mixture is None or not mixture.decides
    bent = [node for node, surface in enumerate(tree.surface) if surface is not None]
    if needs_cuts and bent:
        raise ValueError(
            f"the cut of node {bent[0]} bends, which no linear comparison can say: fit a model with straight cuts, "
            "or use ravine.explain.rules for an approximation"
        )
    note = []
    if mixture is not None:
        label = _mixture_lines(mixture, names, None if mixture.decides else _cut_lines(tree, names))
    else:
        label = _cut_lines(tree, names)
        if tree.has_soft_labels:
            note = ["-- Labels by the cuts (assign_labels='tree'), without the mixture, which also decides in predict."]
    used = [name for name, is_used in zip(names, _is_used(tree, mixture), strict=True) if is_used]
    whole = _guarded(label, used)
    whole[-1] += f" AS {identifier(column_name)}"
    sql = "\n".join([*note, "SELECT *,", *(f"  {line}" for line in whole), f"FROM {table_identifier(table_name)}"])
    if len(sql) > LONGEST:
        instead = " or assign_labels='tree' for the labels of the cuts" if mixture is not None else ""
        raise ValueError(
            f"the query has {len(sql):,} characters, more than databases accept: use ravine.explain.rules{instead}"
        )
    return sql


def _is_used(tree: HyperplaneTree, mixture: Mixture | None) -> Any:
    """Return whether each column has a part in the label."""
    if mixture is not None:
        return np.ones(tree.n_features, dtype=bool)
    return (tree.normal != 0).any(axis=0)


def _guarded(lines: list[str], names: list[str]) -> list[str]:
    """Return lines that give NULL for a row with a gap; without the guard, a gap would go right."""
    if not names:
        return lines
    is_null = " OR ".join(f"{name} IS NULL" for name in names)
    if len(names) > FLAT:
        is_null = f"{sum_of(names)} IS NULL"
    return ["CASE", f"  WHEN {is_null} THEN NULL", "  ELSE", *(f"    {line}" for line in lines), "END"]


def _cut_lines(tree: HyperplaneTree, names: list[str]) -> list[str]:
    """Return the nested CASE of the cuts."""
    lines: list[str] = []
    # What is still to be written: a node, or a line.
    stack: list[tuple[int, int | str]] = [(0, 0)]
    while stack:
        depth, item = stack.pop()
        lead = "  " * depth
        if isinstance(item, str):
            lines.append(lead + item)
        elif tree.is_leaf[item]:
            lines.append(lead + str(int(tree.label[item])))
        else:
            offset = double_literal(tree.offset[item])
            lines.append(f"{lead}CASE WHEN {linear(tree.normal[item], names)} < {offset} THEN")
            children = int(tree.left[item]), int(tree.right[item])
            stack += [(depth, "END"), (depth + 1, children[1]), (depth, "ELSE"), (depth + 1, children[0])]
    return lines


def _mixture_lines(mixture: Mixture, names: list[str], cuts: list[str] | None) -> list[str]:
    """Return the label by the likeliest component; with `cuts`, only outliers come from the mixture."""
    n_components = len(mixture.weight)
    if n_components > MOST_COMPONENTS:
        raise ValueError(
            f"the mixture has {n_components} components, more than the {MOST_COMPONENTS} that databases accept: use "
            "assign_labels='tree' for the labels of the cuts"
        )
    label = mixture.cluster if cuts is None else np.zeros(n_components, dtype=np.int64)
    parts = [_component(mixture, k, int(label[k]), names) for k in range(n_components)]
    chosen = ["(SELECT label FROM (", *(f"  {line}" for line in _unions(parts)), _LIKELIEST]
    if cuts is None:
        return chosen
    return [
        "CASE WHEN",
        *(f"  {line}" for line in chosen),
        "  = -1 THEN -1",
        "ELSE",
        *(f"  {one}" for one in cuts),
        "END",
    ]


_LIKELIEST = ") AS components ORDER BY score, component LIMIT 1)"


def _unions(parts: list[str]) -> list[str]:
    return [part + (" UNION ALL" if k < len(parts) - 1 else "") for k, part in enumerate(parts)]


def _component(mixture: Mixture, k: int, label: int, names: list[str]) -> str:
    """Return the row of a component: its number, its label, and a score that is smallest for the likeliest one."""
    is_gaussian = math.isinf(mixture.freedom)
    numbers = f"{k} AS component"
    if is_gaussian and mixture.limit is None:
        return f"SELECT {numbers}, {label} AS label, {_gaussian_score(mixture, k, names)} AS score"
    factor, square = mixture.factor[k if len(mixture.factor) > 1 else 0], "square"
    if is_gaussian:
        score = "plane"
    else:
        scale = math.exp((float(mixture.constant.max()) - float(mixture.constant[k])) / mixture.power)
        score = f"{double_literal(scale)} * (1.0e0 + {square} / {double_literal(mixture.freedom)})"
    told = str(label)
    if mixture.limit is not None:
        told = f"CASE WHEN {square} <= {double_literal(float(mixture.limit[k]) ** 2)} THEN {label} ELSE -1 END"
    along = [f"{linear(row, names, -float(row @ mixture.mean[k]))} AS z{i}" for i, row in enumerate(factor)]
    plane = [f"{_gaussian_score(mixture, k, names)} AS plane"] if is_gaussian else []
    squares = sum_of([f"z{i} * z{i}" for i in range(len(names))])
    kept = f"{squares} AS square{', plane' if plane else ''}"
    inner = f"SELECT {kept} FROM (SELECT {', '.join(along + plane)}) AS along"
    return f"SELECT {numbers}, {told} AS label, {score} AS score FROM ({inner}) AS distance"


def _gaussian_score(mixture: Mixture, k: int, names: list[str]) -> str:
    center, constant, direction = mixture.planes
    return linear(-direction[k], names, float(direction[k] @ center) - float(constant[k]))


def linear(coefficients: Floats, names: list[str], constant: float = 0.0) -> str:
    """Return a linear expression of the columns, without those whose coefficient is zero.

    Examples
    --------
    >>> print(linear(np.array([0.5, 0.0, -2.0]), ['"a"', '"b"', '"c"'], 1.0))
    0.5e0 * "a" - 2.0e0 * "c" + 1.0e0
    """
    used = [(float(c), name) for c, name in zip(coefficients, names, strict=True) if c != 0]
    terms = [f"{double_literal(c)} * {name}" for c, name in used]
    terms += [double_literal(constant)] if constant != 0 or not terms else []
    return sum_of(terms)


def sum_of(terms: list[str]) -> str:
    """Return the sum of some terms; a long one is a sum of two halves."""
    if len(terms) > FLAT:
        middle = len(terms) // 2
        return f"({sum_of(terms[:middle])}) + ({sum_of(terms[middle:])})"
    return terms[0] + "".join(f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in terms[1:])
