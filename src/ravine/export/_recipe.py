"""What `predict` does with a row, as columns, steps and a tree: the form from which every export is written.

A row of a table becomes numbers (`InputColumn`), the numbers go through the steps of a pipeline (`Step`), and the tree
and its mixture give the label. Nothing here needs scikit-learn; `_pipeline` reads its transformers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ravine._lazy import is_a
from ravine._matrix import Floats, Ints
from ravine.tree import HyperplaneTree, tree_of
from ravine.tree._text import names_of
from ravine.tree._unit_rows import has_unit_rows, own_tree

Kind = Literal["subtract", "add", "multiply", "divide", "fill", "clip", "choose", "project", "normalize", "join"]

ENCODER = "ravine.prepare._fitted.FittedEncoder"
"""The class of encoders of tables, for `is_a`: its module needs pyarrow."""


class ExportError(ValueError):
    """An error about a part of a model that cannot be exported: its name, and what to do."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """How a cell of a column of numbers is scaled, as `ravine.prepare.Column` describes it.

    Attributes
    ----------
    gaps : tuple of float
        Numbers that stand for a missing value.
    is_log : bool
        Whether the logarithm of the cell plus `offset` is taken; below `knee`, it is a straight line.
    offset, knee, low, high, reach, center, scale, fill, weight : float
        As in `ravine.prepare.Column`.
    """

    gaps: tuple[float, ...]
    is_log: bool
    offset: float
    knee: float
    low: float
    high: float
    reach: float
    center: float
    scale: float
    fill: float
    weight: float


@dataclass(frozen=True, eq=False)
class Levels:
    """The numbers of each level of a category.

    Attributes
    ----------
    names : tuple of str
        The levels, as they were in the fit. A cell belongs to a level if it has the same word in lower case.
    numbers : ndarray of shape (n_levels, n_numbers)
        What a level becomes.
    other, gap : ndarray of shape (n_numbers,)
        What any other word becomes, and what a gap becomes.
    gap_words : tuple of str
        Words that are gaps, in lower case.
    """

    names: tuple[str, ...]
    numbers: Floats
    other: Floats
    gap: Floats
    gap_words: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class InputColumn:
    """A column that the user has: its name, and how a cell becomes numbers; None if it is taken as it is."""

    name: str
    encoding: Scaling | Levels | None = None

    @property
    def n_numbers(self) -> int:
        """How many numbers a cell becomes."""
        return self.encoding.numbers.shape[1] if isinstance(self.encoding, Levels) else 1


@dataclass(frozen=True, eq=False)
class Step:
    """One operation on a row of numbers.

    Attributes
    ----------
    kind : str
        "subtract", "add", "multiply" and "divide" take a number for each column; "fill" replaces NaN by these numbers,
        where they are not NaN; "clip" has two rows, the smallest and the largest numbers; "choose" has positions of
        columns; "project" multiplies by the rows of a matrix; "normalize" divides each row by its norm, unless
        this is 0; "join" puts the results of its parts side by side.
    values : ndarray or str
        For "normalize": "l2", "l1" or "max".
    parts : tuple of (columns, steps)
        For "join": the positions of the columns of each part, and its steps.
    """

    kind: Kind
    values: Any = None
    parts: "tuple[tuple[Ints, tuple[Step, ...]], ...]" = ()

    def apply(self, rows: Floats) -> Floats:
        """Return the rows after the step."""
        if self.kind == "join":
            return np.hstack([applied(steps, rows[:, columns]) for columns, steps in self.parts])
        return _APPLY[self.kind](rows, self.values)

    def bound(self, size: Floats, rows: Floats) -> Floats:
        """Return how large the numbers behind the result of each column may be, from those before the step, and rows.

        Rounding errors are at most a few times the precision of these sizes, also where numbers cancel.
        """
        match self.kind:
            case "join":
                return np.hstack([bounded(steps, size[:, columns], rows[:, columns]) for columns, steps in self.parts])
            case "normalize":
                norm, error = _norms(rows, self.values), _norms(size, self.values)
                return (size + np.abs(rows) * error / norm) / norm
            case "subtract" | "add":
                return size + np.abs(self.values)
            case "fill" | "clip":
                return size
            case "choose":
                return size[:, self.values]
        return _APPLY[self.kind](size, np.abs(self.values))


_APPLY: dict[str, Callable[[Floats, Any], Floats]] = {
    "subtract": lambda rows, values: rows - values,
    "add": lambda rows, values: rows + values,
    "multiply": lambda rows, values: rows * values,
    "divide": lambda rows, values: rows / values,
    "fill": lambda rows, values: np.where(np.isnan(rows) & ~np.isnan(values), values, rows),
    "clip": lambda rows, values: np.clip(rows, values[0], values[1]),
    "choose": lambda rows, values: rows[:, values],
    "project": lambda rows, values: rows @ values.T,
    "normalize": lambda rows, values: rows / _norms(rows, values),
}


def _norms(rows: Floats, kind: str) -> Floats:
    """Return the norm of each row, or 1 for a row of zeros."""
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "l2":
            norm = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        else:
            norm = np.abs(rows).sum(axis=1, keepdims=True) if kind == "l1" else np.abs(rows).max(axis=1, keepdims=True)
    return np.where(norm == 0, 1.0, norm)


def applied(steps: tuple[Step, ...], rows: Floats) -> Floats:
    """Return rows after some steps."""
    for step in steps:
        rows = step.apply(rows)
    return rows


def bounded(steps: tuple[Step, ...], size: Floats, rows: Floats) -> Floats:
    """Return the sizes of `Step.bound` after some steps."""
    for step in steps:
        size, rows = step.bound(size, rows), step.apply(rows)
    return size


@dataclass(frozen=True, eq=False)
class Recipe:
    """What a fitted model does with a row.

    Attributes
    ----------
    estimator : str
        Name of the class of the model.
    columns : tuple of InputColumn
        Columns of the user's rows, in order.
    most_estimated : int
        `predict` estimates up to this many unknown numbers of a row from its other numbers. No export does: such a row
        has no label. If more of them are unknown, they have the medians of their columns.
    steps : tuple of Step
        What follows, in order.
    tree : HyperplaneTree
        The tree of the rows after the steps.
    """

    estimator: str
    columns: tuple[InputColumn, ...]
    most_estimated: int
    steps: tuple[Step, ...]
    tree: HyperplaneTree

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    @property
    def is_matrix(self) -> bool:
        """Whether the rows are a matrix of numbers, all of which are taken as they are."""
        return all(column.encoding is None for column in self.columns)


def recipe_of(model: Any) -> Recipe:
    """Return what a fitted model, or a tree, does with a row.

    Raises ExportError, which names the step or the column, if an export could not do the same.
    """
    if isinstance(model, Recipe):
        return model
    if not hasattr(model, "steps"):
        tree, own = _tree_and_own_steps(model)
        names = names_of(tree, getattr(model, "feature_names_in_", None))
        return Recipe(type(model).__name__, tuple(map(InputColumn, names)), 0, own, tree)
    *before, (_, last) = model.steps
    tree, own = _tree_and_own_steps(last)
    before = [(name, step) for name, step in before if step not in (None, "passthrough")]
    recipe = Recipe(type(last).__name__, (), 0, (), tree)
    if before and is_a(before[0][1], ENCODER):
        from ravine.export._table import encoded_columns

        (name, encoder), *before = before
        columns, most_estimated = encoded_columns(encoder, f"step {name!r}")
        recipe = replace(recipe, columns=columns, most_estimated=most_estimated)
    else:
        first = before[0][1] if before else last
        given = getattr(first, "feature_names_in_", None)
        names = [f"x{j}" for j in range(int(first.n_features_in_))] if given is None else [str(name) for name in given]
        recipe = replace(recipe, columns=tuple(map(InputColumn, names)))
    if before:
        from ravine.export._pipeline import steps_of

        steps = tuple(each for name, step in before for each in steps_of(step, f"step {name!r}"))
        recipe = replace(recipe, steps=steps)
    return replace(recipe, steps=(*recipe.steps, *own))


def _tree_and_own_steps(model: Any) -> tuple[HyperplaneTree, tuple[Step, ...]]:
    """Return the tree of a model, and what the model does with rows before the tree sees them."""
    if has_unit_rows(model):
        return own_tree(model), (Step("normalize", "l2"),)
    return tree_of(model), ()
