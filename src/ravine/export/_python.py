"""A model as the source of one function in Python, which needs no package.

The function has only what the model needs: a tree alone is a dozen lines. Sums run in the order of the columns, as in a
plain reader of the JSON document.
"""

import builtins
import keyword
import math
from collections.abc import Iterator
from typing import Any

from ravine import __version__
from ravine.export import _source
from ravine.export._json import lower_rows
from ravine.export._recipe import Levels, Recipe, Scaling, Step, recipe_of
from ravine.tree._mixture import Mixture


def to_python(model: Any, *, function_name: str = "cluster_of") -> str:
    """Write a model as the source of a function of one row, which gives the label of `predict`.

    Parameters
    ----------
    model : fitted estimator with a tree, Pipeline that ends with one, or HyperplaneTree
        The steps of a pipeline may scale, choose and project columns, divide rows by their norms and fill gaps, or be a
        `TableEncoder` of numbers and categories, with ``category_encoding="indicators"``.
    function_name : str, default="cluster_of"
        Name of the function.

    Returns
    -------
    source : str
        A function of a row, which is a sequence of cells in the order of the columns, or a dict of cells by name. It
        needs only the standard library of Python, and raises ValueError for a row that `predict` refuses. If the model
        estimates gaps from other cells, which the function does not, it returns None for such a row.

    See Also
    --------
    to_json : Writes a document for other languages.
    within_rounding : Finds the rows whose label may depend on rounding.

    Examples
    --------
    >>> from ravine import PDDP
    >>> from ravine.export import to_python
    >>> model = PDDP(n_clusters=2, criterion="mean").fit([[100.0], [120.0], [880.0], [900.0]])
    >>> scope = {}
    >>> exec(to_python(model), scope)
    >>> scope["cluster_of"]([130.0]), scope["cluster_of"]({"x0": 870.0})
    (0, 1)
    """
    if not function_name.isidentifier() or keyword.iskeyword(function_name):
        raise ValueError(f"function_name={function_name!r} is no name of a function in Python")
    recipe = recipe_of(model)
    return _Source(recipe).text(function_name)


class _Source:
    """The constants of a model, and the body of its function."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._constants: list[str] = []
        self._names: set[str] = set()
        self._n_constants = 0
        self._modules = {"isfinite", "nan"}
        self._helpers = [*_source.DOT]

    def text(self, function_name: str) -> str:
        """Return the whole source."""
        recipe = self._recipe
        self._define("COLUMNS", repr(recipe.names))
        body = [
            "cells = [row[name] for name in COLUMNS] if isinstance(row, dict) else list(row)",
            "if len(cells) != len(COLUMNS):",
            '    raise ValueError(f"the row has {len(cells)} cells, but the model has {len(COLUMNS)} columns")',
            *self._numbers(),
            *self._after(recipe.steps),
            "if not all(map(isfinite, x)):",
            '    raise ValueError("the row has a missing or infinite cell, which lies on no side of a cut")',
            *self._walk(),
            *self._label(),
        ]
        if function_name in self._modules | self._names or hasattr(builtins, function_name):
            raise ValueError(f"function_name={function_name!r} has another meaning in the source: choose another name")
        head = (
            f"# Clusters of {recipe.estimator}, written by ravine {__version__}. Only the standard library is needed."
        )
        said = "a sequence of cells in the order of COLUMNS, or a dict of cells by name"
        return "\n".join(
            [
                head,
                f"from math import {', '.join(sorted(self._modules))}",
                "",
                *self._constants,
                "",
                "",
                f"def {function_name}(row):",
                f'    """Return the cluster of a row: {said}."""',
                *(f"    {line}" if line else "" for line in [*self._helpers, *body]),
                "",
            ]
        )

    def _define(self, name: str, value: str) -> str:
        self._constants.append(f"{name} = {value}")
        self._names.add(name)
        return name

    def _constant(self, values: Any) -> str:
        """Define a constant, and return its name."""
        self._n_constants += 1
        return self._define(f"VALUES_{self._n_constants}", repr(values))

    def _numbers(self) -> list[str]:
        """Return the lines that turn the cells into the numbers x."""
        if self._recipe.is_matrix:
            return ["x = [nan if cell is None else float(cell) for cell in cells]"]
        kinds = {type(column.encoding) for column in self._recipe.columns}
        if Scaling in kinds:
            self._modules.add("log")
            self._helpers += _source.NUMBER
        if Levels in kinds:
            self._helpers += _source.WORD
        lines = ["x, n_unknown = [], 0"]
        for j, column in enumerate(self._recipe.columns):
            encoding = column.encoding
            if isinstance(encoding, Levels):
                self._define_gap_words(encoding)
                numbers = zip(encoding.names, encoding.numbers.tolist(), strict=True)
                levels = self._constant({name.lower(): row for name, row in numbers})
                ends = f"{encoding.gap.tolist()!r} if word(cells[{j}]) in GAP_WORDS else {encoding.other.tolist()!r}"
                lines.append(f"x += {levels}.get(word(cells[{j}])) or ({ends})")
            elif encoding is not None:
                lines += [
                    f"a, is_unknown = number(cells[{j}], *{self._constant(_scaling(encoding))})",
                    "x.append(a)",
                    "n_unknown += is_unknown",
                ]
        if self._recipe.most_estimated:
            lines += [f"if 1 <= n_unknown <= {self._recipe.most_estimated}:", "    return None"]
        return lines

    def _define_gap_words(self, levels: Levels) -> None:
        if "GAP_WORDS" not in self._names:
            self._define("GAP_WORDS", repr(levels.gap_words))

    def _after(self, steps: tuple[Step, ...]) -> Iterator[str]:
        """Yield the lines of some steps, which change x."""
        for step in steps:
            if step.kind == "join":
                yield from self._joined(step)
                continue
            if step.kind == "normalize":
                yield from _source.NORMALIZE[step.values]
                self._modules |= {"sqrt"} if step.values == "l2" else set()
                continue
            values = (
                [None if value != value else value for value in step.values.tolist()] if step.kind == "fill" else None
            )
            yield _source.STEPS[step.kind].format(self._constant(step.values.tolist() if values is None else values))

    def _joined(self, step: Step) -> Iterator[str]:
        self._n_constants += 1
        whole, parts = f"whole_{self._n_constants}", f"parts_{self._n_constants}"
        yield f"{whole}, {parts} = x, []"
        for columns, inner in step.parts:
            yield f"x = [{whole}[j] for j in {self._constant(columns.tolist())}]"
            yield from self._after(inner)
            yield f"{parts} += x"
        yield f"x = {parts}"

    def _walk(self) -> list[str]:
        """Return the lines that walk down the tree."""
        tree = self._recipe.tree
        nodes: list[Any] = []
        for node in range(tree.n_nodes):
            surface = tree.surface[node]
            if tree.is_leaf[node]:
                nodes.append(int(tree.label[node]))
                continue
            children = int(tree.left[node]), int(tree.right[node])
            if surface is None:
                nodes.append((tree.normal[node].tolist(), float(tree.offset[node]), *children))
            else:
                arrays = (surface.directions, surface.positions, surface.is_left)
                nodes.append((*(array.tolist() for array in arrays), *children))
        listed = "".join(f"    {node!r},\n" for node in nodes)
        self._constants.append("# A leaf is its label; a cut has its normal, its offset, and its left and right node.")
        self._define("NODES", f"[\n{listed}]")
        if not any(surface is not None for surface in tree.surface):
            return _source.WALK
        self._modules |= {"inf", "sqrt"}
        self._helpers += _source.NEAREST
        return _source.CURVED_WALK

    def _label(self) -> list[str]:
        """Return the lines that return the label."""
        mixture = self._recipe.tree.mixture
        if mixture is None or not mixture.has_labels:
            return ["return node"]
        self._modules |= {"inf"} if math.isinf(mixture.freedom) else {"inf", "log1p"}
        self._define("CLUSTERS", repr(mixture.cluster.tolist()))
        if mixture.limit is not None or not math.isinf(mixture.freedom):
            self._helpers += _source.SQUARE
            self._define("MEANS", repr(mixture.mean.tolist()))
            self._define("FACTORS", repr([lower_rows(mixture, factor) for factor in mixture.factor]))
        lines = [*self._densities(mixture), *_source.LIKELIEST]
        if mixture.limit is not None:
            self._define("LIMITS", repr(mixture.limit.tolist()))
            self._modules.add("sqrt")
            lines += ["if not sqrt(square(best)) <= LIMITS[best]:", "    return -1"]
        return [*lines, "return CLUSTERS[best]" if mixture.decides else "return node"]

    def _densities(self, mixture: Mixture) -> list[str]:
        if math.isinf(mixture.freedom):
            center, constant, direction = mixture.planes
            for name, values in (("CENTER", center), ("CONSTANTS", constant), ("DIRECTIONS", direction)):
                self._define(name, repr(values.tolist()))
            return [
                "apart = [a - b for a, b in zip(x, CENTER)]",
                "density = [dot(direction, apart) + constant for direction, constant in zip(DIRECTIONS, CONSTANTS)]",
                "if not all(map(isfinite, density)):",
                "    density = [-inf]",
            ]
        self._define("CONSTANTS", repr(mixture.constant.tolist()))
        power, freedom = repr(float(mixture.power)), repr(float(mixture.freedom))
        return [f"density = [c - {power} * log1p(square(k) / {freedom}) for k, c in enumerate(CONSTANTS)]"]


def _scaling(scaling: Scaling) -> tuple[Any, ...]:
    """Return the arguments of `number` in the source."""
    log = (scaling.knee, scaling.offset) if scaling.is_log else None
    names = ("low", "high", "reach", "center", "scale", "weight", "fill")
    return (list(scaling.gaps), log, *(getattr(scaling, name) for name in names))
