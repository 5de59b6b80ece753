"""A model as a graph of plain ONNX operators: its cells, and the steps before the tree.

All numbers are of type double inside, also for rows of float32, since `predict` adds up in double as well.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ravine._matrix import LARGEST
from ravine.export._graph import Graph
from ravine.export._onnx_tree import add_leaf, add_mixture
from ravine.export._recipe import ExportError, InputColumn, Levels, Recipe, Scaling, Step, recipe_of

LABEL, PROBABILITIES = "label", "probabilities"
"""Names of the outputs."""

REFUSED = -2
"""Label of a row that `predict` refuses."""

NUMBERS = {"float64": "DOUBLE", "float32": "FLOAT"}
"""Types of the inputs, and their names in ONNX."""


def to_onnx(model: Any, *, input_type: Literal["float64", "float32"] = "float64") -> Any:
    """Write a model as a graph of ONNX, which gives the labels of `predict`.

    Parameters
    ----------
    model : fitted estimator with a tree, Pipeline that ends with one, or HyperplaneTree
        The steps of a pipeline may scale, choose and project columns, divide rows by their norms and fill gaps, or be a
        `TableEncoder` of numbers and categories, with ``category_encoding="indicators"``.
    input_type : {"float64", "float32"}, default="float64"
        Type of the numbers that the graph takes. It computes in float64 in both cases.

    Returns
    -------
    graph : onnx.ModelProto
        Its input is ``X``, of shape (n_samples, n_features). After a `TableEncoder`, there is one input for each column
        instead, with the name of the column and of shape (n_samples, 1): numbers, or texts for a category. Its output
        ``label`` has the labels. If the model has `predict_proba`, the output ``probabilities`` has its result.

    See Also
    --------
    within_rounding : Finds the rows whose label may depend on rounding.

    Notes
    -----
    It requires onnx: ``pip install 'ravine[export]'``. The graph has operators of the default domain only.

    A graph cannot raise an error. A row that `predict` refuses, such as a row with NaN, has the label -2 and NaN as its
    probabilities. So has a row with gaps that the encoder of a table estimates from other cells, which the graph does
    not do. A text belongs to a level of a category if it is spelled as in the fit, in lower case, in upper case, or
    with a capital.

    Examples
    --------
    >>> from ravine import PDDP
    >>> from ravine.export import to_onnx
    >>> model = PDDP(n_clusters=2, criterion="mean").fit([[100.0], [120.0], [880.0], [900.0]])
    >>> graph = to_onnx(model)
    >>> [node.name for node in graph.graph.input], [node.name for node in graph.graph.output]
    (['X'], ['label'])
    """
    if input_type not in NUMBERS:
        raise ValueError(f"input_type={input_type!r} must be 'float64' or 'float32'")
    recipe = recipe_of(model)
    graph = Graph(NUMBERS[input_type], recipe.names)
    numbers, has_label = _add_numbers(graph, recipe)
    x = _add_steps(graph, recipe.steps, numbers)
    is_finite = graph.all_finite(x)
    has_label = is_finite if has_label is None else graph("And", has_label, is_finite)
    label = leaf = add_leaf(graph, recipe.tree, x)
    probability = None
    if recipe.tree.mixture is not None:
        label, probability = add_mixture(graph, recipe.tree.mixture, x, leaf)
    graph.labels_output(LABEL, graph("Where", has_label, label, graph.constant(REFUSED, "i8")))
    if probability is not None:
        is_known = graph("Unsqueeze", has_label, graph.constant([1], "i8"))
        shown = graph("Where", is_known, probability, graph.constant(np.nan))
        graph.numbers_output(PROBABILITIES, shown, recipe.tree.n_clusters)
    return graph.model(recipe.estimator, recipe.names)


def _add_numbers(graph: Graph, recipe: Recipe) -> tuple[str, str | None]:
    """Add the inputs, and return the numbers of each row and whether it gets a label; None if all rows do."""
    if recipe.is_matrix:
        return graph.numbers_input("X", len(recipe.columns)), None
    taken = [name for name in recipe.names if name in ("", LABEL, PROBABILITIES)]
    if taken:
        raise ExportError(f"column {taken[0]!r} has no name, or that of an output of the graph: rename it")
    cells: list[str] = []
    parts: list[str] = []
    scalings: list[Scaling] = []
    for column in recipe.columns:
        if isinstance(column.encoding, Levels):
            parts.append(_add_level(graph, graph.text_input(column.name), column.encoding))
        elif column.encoding is not None:
            cells.append(graph.numbers_input(column.name, 1))
            scalings.append(column.encoding)
    has_label = None
    if cells:
        numbers, has_label = _add_scaled(graph, graph("Concat", *cells, axis=1), scalings, recipe.most_estimated)
        parts.insert(0, numbers)
    order = graph.constant(_order(recipe.columns), "i8")
    return graph("Gather", graph("Concat", *parts, axis=1), order, axis=1), has_label


def _order(columns: tuple[InputColumn, ...]) -> NDArray[np.int64]:
    """Return where the numbers of each column are, if all scaled numbers come before all levels."""
    sizes = np.array([column.n_numbers for column in columns])
    is_level = np.array([isinstance(column.encoding, Levels) for column in columns])
    of_column = np.repeat(np.arange(len(columns)), sizes)
    return np.argsort(np.argsort(is_level[of_column], kind="stable"))


def _add_level(graph: Graph, cell: str, levels: Levels) -> str:
    """Add the numbers of the levels of a column of texts."""
    rows: dict[str, NDArray[Any]] = {}
    for word in levels.gap_words:
        rows |= dict.fromkeys(_spellings(word), levels.gap)
    for word, numbers in zip(levels.names, levels.numbers, strict=True):
        rows |= dict.fromkeys(_spellings(word), numbers)
    is_word = graph("Equal", cell, graph.constant([list(rows)], "text"))
    place = graph("ArgMax", graph.cast(is_word, "INT32"), axis=1, keepdims=0)
    place = graph("Where", graph.some(is_word), place, graph.constant(len(rows), "i8"))
    return graph("Gather", graph.constant(np.array([*rows.values(), levels.other])), place, axis=0)


def _spellings(word: str) -> list[str]:
    return [word.lower(), word.upper(), word.capitalize(), word]


def _add_scaled(graph: Graph, cells: str, scalings: list[Scaling], most_estimated: int) -> tuple[str, str | None]:
    """Add the scaling of some columns, and return their numbers and whether each row gets a label."""
    low, high, reach, center, scale, weight, fill = (
        np.array([getattr(each, name) for each in scalings])
        for name in ("low", "high", "reach", "center", "scale", "weight", "fill")
    )
    codes = np.full((len(scalings), max(1, *(len(each.gaps) for each in scalings))), np.nan)
    for row, each in zip(codes, scalings, strict=True):
        row[: len(each.gaps)] = each.gaps
    is_code = graph("Equal", graph("Unsqueeze", cells, graph.constant([2], "i8")), graph.constant(codes))
    is_number = graph("LessOrEqual", graph("Abs", cells), graph.constant(LARGEST))
    is_gap = graph("Or", graph.some(is_code, 2), graph("Not", is_number))
    inner = _add_logarithms(graph, graph("Where", is_gap, graph.constant(fill), cells), scalings)
    is_below = graph("Greater", graph("Sub", graph.constant(low), inner), graph.constant(reach))
    is_above = graph("Greater", graph("Sub", inner, graph.constant(high)), graph.constant(reach))
    moved = graph("Where", is_above, graph.constant(high), graph("Where", is_below, graph.constant(low), inner))
    numbers = graph("Div", graph("Sub", moved, graph.constant(center)), graph.constant(scale))
    numbers = graph("Mul", numbers, graph.constant(weight))
    if not most_estimated:
        return numbers, None
    is_far = graph(
        "Or", graph("Less", inner, graph.constant(low - reach)), graph("Greater", inner, graph.constant(high + reach))
    )
    is_unknown = graph.cast(graph("Or", is_gap, is_far), "INT64")
    n_unknown = graph("ReduceSum", is_unknown, graph.constant([1], "i8"), keepdims=0)
    is_whole = graph("Equal", n_unknown, graph.constant(0, "i8"))
    return numbers, graph("Or", is_whole, graph("Greater", n_unknown, graph.constant(most_estimated, "i8")))


def _add_logarithms(graph: Graph, cells: str, scalings: list[Scaling]) -> str:
    """Add the logarithms of the columns that have them; each is a straight line below its knee."""
    is_log = np.array([each.is_log for each in scalings])
    if not is_log.any():
        return cells
    knee = np.array([each.knee for each in scalings])
    offset = np.array([each.offset if each.is_log else 0.0 for each in scalings])
    base = np.where(is_log, knee + offset, 1.0)
    line = graph("Div", graph("Sub", cells, graph.constant(knee)), graph.constant(base))
    line = graph("Add", graph.constant(np.log(base)), line)
    above = graph("Max", cells, graph.constant(np.where(is_log, knee, 1.0)))
    log = graph("Log", graph("Add", above, graph.constant(offset)))
    found = graph("Where", graph("Less", cells, graph.constant(knee)), line, log)
    return graph("Where", graph.constant(is_log, "?"), found, cells)


def _add_steps(graph: Graph, steps: tuple[Step, ...], x: str) -> str:
    for step in steps:
        x = _add_step(graph, step, x)
    return x


def _add_step(graph: Graph, step: Step, x: str) -> str:
    values = step.values
    match step.kind:
        case "join":
            parts = [
                _add_steps(graph, inner, graph("Gather", x, graph.constant(columns, "i8"), axis=1))
                for columns, inner in step.parts
            ]
            return graph("Concat", *parts, axis=1)
        case "choose":
            return graph("Gather", x, graph.constant(values, "i8"), axis=1)
        case "project":
            return graph("MatMul", x, graph.constant(values.T))
        case "clip":
            return graph("Min", graph("Max", x, graph.constant(values[0])), graph.constant(values[1]))
        case "normalize":
            return graph("Div", x, _norm(graph, values, x))
        case "fill":
            is_filled = graph("And", graph("IsNaN", x), graph.constant(~np.isnan(values), "?"))
            return graph("Where", is_filled, graph.constant(np.nan_to_num(values)), x)
    return graph(_ARITHMETIC[step.kind], x, graph.constant(values))


def _norm(graph: Graph, kind: str, x: str) -> str:
    """Add the norm of each row, or 1 for a row of zeros."""
    parts = graph("Mul", x, x) if kind == "l2" else graph("Abs", x)
    norm = graph("ReduceMax" if kind == "max" else "ReduceSum", parts, graph.constant([1], "i8"), keepdims=1)
    norm = graph("Sqrt", norm) if kind == "l2" else norm
    return graph("Where", graph("Equal", norm, graph.constant(0.0)), graph.constant(1.0), norm)


_ARITHMETIC = {"subtract": "Sub", "add": "Add", "multiply": "Mul", "divide": "Div"}
