"""The exact clusters of a model as SQL: the cuts of its tree as nested CASE, and its mixture as a subquery.

The side of a row at a cut is the sign of a sum. SQL adds in the order that is written, and ravine in the order that is
fastest, so the two may differ in the last digits. Rows that are nearer to a cut than that may go to the other side.

The mixture needs no logarithm. The density of a component decreases with 1 + q / freedom, where q is the squared
distance of a row, so the likeliest component has the smallest 1 + q / freedom times a constant of the component.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ravine._matrix import Bools, Floats
from ravine.explain._sql import double_literal, identifier, table_identifier
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
        A SELECT statement without a semicolon. Rows with a NULL, NaN or infinity in one of the columns get NULL.

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
        WHEN 0.0e0 + "spend" BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308 THEN
          CASE WHEN 1.0e0 * "spend" < 499.5e0 THEN
            0
          ELSE
            1
          END
        ELSE NULL
      END AS "cluster"
    FROM "customers"
    """
    tree = tree_of(model)
    given = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    case = label_case(tree, SqlRow([identifier(name) for name in names_of(tree, given)]), assign_labels=assign_labels)
    note = []
    if assign_labels == "tree" and tree.has_soft_labels:
        note = ["-- Labels by the cuts (assign_labels='tree'), without the mixture, which also decides in predict."]
    case[-1] += f" AS {identifier(column_name)}"
    sql = "\n".join([*note, "SELECT *,", *(f"  {line}" for line in case), f"FROM {table_identifier(table_name)}"])
    return checked_length(sql, tree, assign_labels)


class SqlRow:
    """The row that a tree sees, as expressions in SQL: here the columns of a table.

    Parameters
    ----------
    names : list of str
        Columns of the table, as identifiers.
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def linear(self, coefficients: Floats, constant: float = 0.0) -> str:
        """Return the expression of a linear function of the row."""
        return linear(coefficients, self.names, constant)

    def has_label(self, is_used: Bools) -> str | None:
        """Return the condition for a row to get a label: the columns that are used are finite numbers."""
        used = [name for name, one in zip(self.names, is_used, strict=True) if one]
        return are_finite(used) if used else None


def label_case(
    tree: HyperplaneTree, row: SqlRow, *, assign_labels: str = "auto", first_row: str = "LIMIT 1"
) -> list[str]:
    """Return the lines of a CASE expression that is the label of a row, or NULL for a row that `predict` refuses.

    Parameters
    ----------
    tree : HyperplaneTree
    row : SqlRow
        The row that the tree sees.
    assign_labels : {"auto", "tree"}
        What decides about labels, see `tree_sql`.
    first_row : str
        What ends a SELECT of which only the first row counts.
    """
    if assign_labels not in ("auto", "tree"):
        raise ValueError(f"assign_labels={assign_labels!r} must be 'auto' or 'tree'")
    mixture = tree.mixture if tree.has_soft_labels and assign_labels == "auto" else None
    bent = [node for node, surface in enumerate(tree.surface) if surface is not None]
    if (mixture is None or not mixture.decides) and bent:
        raise ValueError(
            f"the cut of node {bent[0]} bends, which no linear comparison can say: fit a model with straight cuts, "
            "or use ravine.explain.rules for an approximation"
        )
    cuts = ["NULL"] if bent else _cut_lines(tree, row)
    label = cuts if mixture is None else _mixture_lines(mixture, row, cuts, first_row)
    has_label = row.has_label(_is_used(tree, mixture))
    if has_label is None:
        return label
    return ["CASE", f"  WHEN {has_label} THEN", *(f"    {line}" for line in label), "  ELSE NULL", "END"]


def checked_length(sql: str, tree: HyperplaneTree, assign_labels: str) -> str:
    """Return a query. Raises ValueError if it is longer than databases accept."""
    if len(sql) > LONGEST:
        is_soft = tree.has_soft_labels and assign_labels == "auto"
        instead = " or assign_labels='tree' for the labels of the cuts" if is_soft else ""
        raise ValueError(
            f"the query has {len(sql):,} characters, more than databases accept: use ravine.explain.rules{instead}"
        )
    return sql


def _is_used(tree: HyperplaneTree, mixture: Mixture | None) -> Bools:
    """Return whether each column has a part in the label."""
    if mixture is not None:
        return np.ones(tree.n_features, dtype=bool)
    return np.asarray((tree.normal != 0).any(axis=0))


def are_finite(names: list[str]) -> str:
    """Return the condition that no column is NULL, NaN or infinite: then their sum would be, too.

    Examples
    --------
    >>> print(are_finite(['"a"', '"b"']))
    0.0e0 + "a" + "b" BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308
    """
    sums = [" + ".join(["0.0e0", *names[i : i + FLAT]]) for i in range(0, len(names), FLAT)]
    return f"{sum_of(sums) if len(sums) == 1 else sum_of([f'({each})' for each in sums])} {_FINITE}"


_LARGEST = double_literal(sys.float_info.max)
_FINITE = f"BETWEEN -{_LARGEST} AND {_LARGEST}"


def _cut_lines(tree: HyperplaneTree, row: SqlRow) -> list[str]:
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
            lines.append(f"{lead}CASE WHEN {row.linear(tree.normal[item])} < {offset} THEN")
            children = int(tree.left[item]), int(tree.right[item])
            stack += [(depth, "END"), (depth + 1, children[1]), (depth, "ELSE"), (depth + 1, children[0])]
    return lines


def _mixture_lines(mixture: Mixture, row: SqlRow, cuts: list[str], first_row: str) -> list[str]:
    """Return the label by the likeliest component; if the mixture does not decide, only outliers come from it.

    Very far away, no component has a density above zero. Then the label is that of the cuts, or that of an outlier.
    """
    n_components = len(mixture.weight)
    if n_components > MOST_COMPONENTS:
        raise ValueError(
            f"the mixture has {n_components} components, more than the {MOST_COMPONENTS} that databases accept: use "
            "assign_labels='tree' for the labels of the cuts"
        )
    label = mixture.cluster if mixture.decides else np.zeros(n_components, dtype=np.int64)
    parts = [_component(mixture, k, int(label[k]), row) for k in range(n_components)]
    chosen = [
        "COALESCE((SELECT label FROM (",
        *(f"  {part}{' UNION ALL' if k < n_components - 1 else ''}" for k, part in enumerate(parts)),
        f") AS components WHERE score {_FINITE} ORDER BY score, component {first_row}),",
    ]
    if mixture.decides:
        return [*chosen, *(f"  {line}" for line in (["-1"] if mixture.limit is not None else cuts)), ")"]
    return [
        "CASE WHEN",
        *(f"  {line}" for line in chosen),
        "  -1) = -1 THEN -1",
        "ELSE",
        *(f"  {line}" for line in cuts),
        "END",
    ]


def _component(mixture: Mixture, k: int, label: int, row: SqlRow) -> str:
    """Return the row of a component: its number, its label, and a score that is smallest for the likeliest one."""
    is_gaussian = math.isinf(mixture.freedom)
    numbers = f"{k} AS component"
    if is_gaussian and mixture.limit is None:
        return f"SELECT {numbers}, {label} AS label, {_gaussian_score(mixture, k, row)} AS score"
    factor, square = mixture.factor[k if len(mixture.factor) > 1 else 0], "square"
    if is_gaussian:
        score = "plane"
    else:
        scale = math.exp((float(mixture.constant.max()) - float(mixture.constant[k])) / mixture.power)
        score = f"{double_literal(scale)} * (1.0e0 + {square} / {double_literal(mixture.freedom)})"
    told = str(label)
    if mixture.limit is not None:
        told = f"CASE WHEN {square} <= {double_literal(float(mixture.limit[k]) ** 2)} THEN {label} ELSE -1 END"
    rows = factor[mixture.described]
    along = [f"{row.linear(each, -float(each @ mixture.mean[k]))} AS z{i}" for i, each in enumerate(rows)]
    plane = [f"{_gaussian_score(mixture, k, row)} AS plane"] if is_gaussian else []
    squares = sum_of([f"z{i} * z{i}" for i in range(len(rows))])
    kept = f"{squares} AS square{', plane' if plane else ''}"
    inner = f"SELECT {kept} FROM (SELECT {', '.join(along + plane)}) AS along"
    return f"SELECT {numbers}, {told} AS label, {score} AS score FROM ({inner}) AS distance"


def _gaussian_score(mixture: Mixture, k: int, row: SqlRow) -> str:
    center, constant, direction = mixture.planes
    return row.linear(-direction[k], float(direction[k] @ center) - float(constant[k]))


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
