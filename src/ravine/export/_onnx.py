"""A model as a graph of plain ONNX operators.

The whole tree is evaluated at once: one product with all normals, one comparison with all offsets, and one product with
a matrix that says which side of each cut the way to each leaf takes. The largest entry is that of the leaf of the row.
All numbers are of type double inside, also for rows of float32, since `predict` adds up in double as well.
"""

import json
import math
import sys
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ravine import __version__
from ravine._matrix import LARGEST, Ints
from ravine.export._recipe import ExportError, Levels, Recipe, Scaling, Step, recipe_of
from ravine.tree import HyperplaneTree
from ravine.tree._mixture import Mixture

OPSET, IR_VERSION = 19, 9
"""Versions of the operators and of the file: the oldest that compare texts. onnxruntime reads them since 1.17."""

LABEL, PROBABILITIES = "label", "probabilities"
"""Names of the outputs."""

REFUSED = -2
"""Label of a row that `predict` refuses."""


def to_onnx(model: Any, *, input_type: Literal["float64", "float32"] = "float64") -> Any:
    """Write a model as a graph of ONNX, which gives the labels of `predict`.

    Parameters
    ----------
    model : fitted estimator with a tree, Pipeline that ends with one, or HyperplaneTree
        The steps of a pipeline may scale, choose and project columns and fill gaps, or be a `TableEncoder` of numbers
        and categories, with ``category_encoding="indicators"``.
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

    A graph cannot raise an error. A row that `predict` refuses, such as a row with NaN, has the label -2, and NaN as its
    probabilities. So has a row with gaps that the encoder of a table estimates from other cells, which the graph does
    not do. A text belongs to a level of a category if it is spelled as in the fit, in lower case, in upper case, or with
    a capital.

    Examples
    --------
    >>> from ravine import PDDP
    >>> from ravine.export import to_onnx
    >>> model = PDDP(n_clusters=2, criterion="mean").fit([[100.0], [120.0], [880.0], [900.0]])
    >>> graph = to_onnx(model)
    >>> [node.name for node in graph.graph.input], [node.name for node in graph.graph.output]
    (['X'], ['label'])
    """
    if input_type not in ("float64", "float32"):
        raise ValueError(f"input_type={input_type!r} must be 'float64' or 'float32'")
    return _Graph(recipe_of(model), input_type).model()


class _Graph:
    """The nodes of a graph and its constants, as they are added."""

    def __init__(self, recipe: Recipe, input_type: str) -> None:
        try:
            import onnx
        except ModuleNotFoundError:
            raise ModuleNotFoundError("to_onnx needs onnx: pip install 'ravine[export]'", name="onnx") from None
        self._onnx = onnx
        self._type = getattr(onnx.TensorProto, {"float64": "DOUBLE", "float32": "FLOAT"}[input_type])
        self._recipe = recipe
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._constants: dict[tuple[Any, ...], Any] = {}
        self._prefix = "ravine"
        while any(name.startswith(self._prefix) for name in recipe.names):
            self._prefix += "_"

    def model(self) -> Any:
        """Return the whole graph."""
        recipe, onnx = self._recipe, self._onnx
        numbers, has_label = self._numbers()
        x = self._after(recipe.steps, numbers)
        has_label = self._both(has_label, self._all_finite(x))
        leaf = _add_leaf(self, recipe.tree, x)
        label, probability = leaf, None
        if recipe.tree.mixture is not None:
            found, probability = _add_mixture(self, recipe.tree.mixture, x, leaf)
            label = found if recipe.tree.has_soft_labels else leaf
        self._nodes.append(onnx.helper.make_node("Where", [has_label, label, self.constant(REFUSED, "i8")], [LABEL]))
        self._outputs.append(onnx.helper.make_tensor_value_info(LABEL, onnx.TensorProto.INT64, ["n_samples"]))
        if probability is not None:
            known = self("Unsqueeze", has_label, self.constant([1], "i8"))
            shown = self("Where", known, probability, self.constant(np.nan))
            self._nodes.append(onnx.helper.make_node("Cast", [shown], [PROBABILITIES], to=self._type))
            shape = ["n_samples", recipe.tree.n_clusters]
            self._outputs.append(onnx.helper.make_tensor_value_info(PROBABILITIES, self._type, shape))
        constants = list(self._constants.values())
        graph = onnx.helper.make_graph(self._nodes, recipe.estimator, self._inputs, self._outputs, constants)
        model = onnx.helper.make_model(
            graph,
            producer_name="ravine",
            producer_version=__version__,
            ir_version=IR_VERSION,
            opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        )
        onnx.helper.set_model_props(model, {"columns": json.dumps(recipe.names)})
        return model

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node, and return the name of its result."""
        name = f"{self._prefix}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, values: Any, kind: str = "f8") -> str:
        """Return the name of a constant; equal ones are stored once."""
        is_text = kind == "text"
        array = np.asarray(values, dtype=object if is_text else kind)
        content = tuple(array.ravel()) if is_text else array.tobytes()
        name = f"{self._prefix}_constant_{len(self._constants)}"
        helper, strings = self._onnx.helper, self._onnx.TensorProto.STRING
        if is_text:
            made = helper.make_tensor(name, strings, array.shape, [text.encode() for text in array.ravel()])
        else:
            made = self._onnx.numpy_helper.from_array(array, name)
        return str(self._constants.setdefault((kind, array.shape, content), made).name)

    def cast(self, name: str, kind: str) -> str:
        """Add a conversion to a type of ONNX."""
        return self("Cast", name, to=getattr(self._onnx.TensorProto, kind))

    def some(self, name: str, axis: int = 1) -> str:
        """Return whether any entry is true along an axis, which is dropped."""
        found = self("ReduceMax", self.cast(name, "INT32"), self.constant([axis], "i8"), keepdims=0)
        return self.cast(found, "BOOL")

    def _all_finite(self, x: str) -> str:
        """Return whether all numbers of each row are finite."""
        is_finite = self("LessOrEqual", self("Abs", x), self.constant(sys.float_info.max))
        return self("Not", self.some(self("Not", is_finite)))

    def _both(self, one: str | None, other: str) -> str:
        return other if one is None else self("And", one, other)

    def _input(self, name: str, kind: int, n_columns: int) -> str:
        self._inputs.append(self._onnx.helper.make_tensor_value_info(name, kind, ["n_samples", n_columns]))
        return name

    def _double(self, name: str) -> str:
        return name if self._type == self._onnx.TensorProto.DOUBLE else self.cast(name, "DOUBLE")

    # From cells to numbers

    def _numbers(self) -> tuple[str, str | None]:
        """Return the numbers of each row, and whether it gets a label; None if all rows do."""
        recipe = self._recipe
        if recipe.is_matrix:
            return self._double(self._input("X", self._type, len(recipe.columns))), None
        taken = [name for name in recipe.names if name in ("", LABEL, PROBABILITIES)]
        if taken:
            raise ExportError(f"column {taken[0]!r} has the name of an output of the graph, or none: rename it")
        scaled, parts, order, n_numbers = [], [], [], 0
        for column in recipe.columns:
            if isinstance(column.encoding, Levels):
                cell = self._input(column.name, self._onnx.TensorProto.STRING, 1)
                parts.append(self._level(cell, column.encoding))
            else:
                scaled.append(self._double(self._input(column.name, self._type, 1)))
            order.append((not isinstance(column.encoding, Levels), n_numbers, column.n_numbers))
            n_numbers += column.n_numbers
        has_label = None
        if scaled:
            scalings = [column.encoding for column in recipe.columns if isinstance(column.encoding, Scaling)]
            cells = self("Concat", *scaled, axis=1) if len(scaled) > 1 else scaled[0]
            numbers, has_label = self._scaled(cells, scalings)
            parts.insert(0, numbers)
        joined = self("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        # Numbers come first in what was joined; each goes to the position of its column.
        position = np.concatenate([np.arange(first, first + n) for is_scaled, first, n in sorted(order, key=_by_kind)])
        return self("Gather", joined, self.constant(np.argsort(position), "i8"), axis=1), has_label

    def _level(self, cell: str, levels: Levels) -> str:
        """Return the numbers of the levels of a column of texts."""
        rows: dict[str, NDArray[Any]] = {}
        for word in levels.gap_words:
            rows |= dict.fromkeys(_spellings(word), levels.gap)
        for word, numbers in zip(levels.names, levels.numbers, strict=True):
            rows |= dict.fromkeys(_spellings(word), numbers)
        is_word = self("Equal", cell, self.constant([list(rows)], "text"))
        place = self("ArgMax", self.cast(is_word, "INT32"), axis=1, keepdims=0)
        place = self("Where", self.some(is_word), place, self.constant(len(rows), "i8"))
        return self("Gather", self.constant(np.array([*rows.values(), levels.other])), place, axis=0)

    def _scaled(self, cells: str, scalings: list[Scaling]) -> tuple[str, str | None]:
        """Return the scaled numbers of some columns, and whether a row gets a label."""
        low, high, reach, center, scale, weight, fill, knee, offset = (
            np.array([getattr(each, name) for each in scalings])
            for name in ("low", "high", "reach", "center", "scale", "weight", "fill", "knee", "offset")
        )
        codes = np.full((len(scalings), max(1, *(len(each.gaps) for each in scalings))), np.nan)
        for row, each in zip(codes, scalings, strict=True):
            row[: len(each.gaps)] = each.gaps
        is_code = self("Equal", self("Unsqueeze", cells, self.constant([2], "i8")), self.constant(codes))
        is_known = self("LessOrEqual", self("Abs", cells), self.constant(LARGEST))
        is_gap = self("Or", self.some(is_code, 2), self("Not", is_known))
        inner = self("Where", is_gap, self.constant(fill), cells)
        is_log = np.array([each.is_log for each in scalings])
        if is_log.any():
            base = np.where(is_log, knee + offset, 1.0)
            below = self("Div", self("Sub", inner, self.constant(knee)), self.constant(base))
            below = self("Add", self.constant(np.log(base)), below)
            least = np.where(is_log, knee, 1.0)
            above = self("Add", self("Max", inner, self.constant(least)), self.constant(np.where(is_log, offset, 0.0)))
            log = self("Where", self("Less", inner, self.constant(knee)), below, self("Log", above))
            inner = self("Where", self.constant(is_log, "?"), log, inner)
        is_far = self(
            "Or", self("Less", inner, self.constant(low - reach)), self("Greater", inner, self.constant(high + reach))
        )
        moved = self(
            "Where",
            self("Greater", self("Sub", self.constant(low), inner), self.constant(reach)),
            self.constant(low),
            inner,
        )
        is_above = self("Greater", self("Sub", inner, self.constant(high)), self.constant(reach))
        moved = self("Where", is_above, self.constant(high), moved)
        numbers = self("Div", self("Sub", moved, self.constant(center)), self.constant(scale))
        numbers = self("Mul", numbers, self.constant(weight))
        if not self._recipe.most_estimated:
            return numbers, None
        is_unknown = self.cast(self("Or", is_gap, is_far), "INT64")
        n_unknown = self("ReduceSum", is_unknown, self.constant([1], "i8"), keepdims=0)
        is_none = self("Equal", n_unknown, self.constant(0, "i8"))
        return numbers, self(
            "Or", is_none, self("Greater", n_unknown, self.constant(self._recipe.most_estimated, "i8"))
        )

    # Steps

    def _after(self, steps: tuple[Step, ...], x: str) -> str:
        for step in steps:
            x = self._step(step, x)
        return x

    def _step(self, step: Step, x: str) -> str:
        values = step.values
        match step.kind:
            case "join":
                parts = [
                    self._after(inner, self("Gather", x, self.constant(columns, "i8"), axis=1))
                    for columns, inner in step.parts
                ]
                return self("Concat", *parts, axis=1)
            case "choose":
                return self("Gather", x, self.constant(values, "i8"), axis=1)
            case "project":
                return self("MatMul", x, self.constant(values.T))
            case "clip":
                return self("Min", self("Max", x, self.constant(values[0])), self.constant(values[1]))
            case "fill":
                is_filled = self("And", self("IsNaN", x), self.constant(~np.isnan(values), "?"))
                return self("Where", is_filled, self.constant(np.nan_to_num(values)), x)
        return self(_ARITHMETIC[step.kind], x, self.constant(values))


_ARITHMETIC = {"subtract": "Sub", "add": "Add", "multiply": "Mul", "divide": "Div"}


def _by_kind(entry: tuple[bool, int, int]) -> bool:
    """Order scaled numbers before levels."""
    return not entry[0]


def _spellings(word: str) -> list[str]:
    return [word.lower(), word.upper(), word.capitalize(), word]


def _add_leaf(graph: _Graph, tree: HyperplaneTree, x: str) -> str:
    """Add the walk down a tree, and return the name of the labels of the leaves."""
    cuts = tree.cuts
    if not len(cuts):
        n_rows = graph("Gather", graph("Shape", x), graph.constant([0], "i8"))
        return graph("Expand", graph.constant([0], "i8"), n_rows)
    is_straight = np.array([tree.surface[node] is None for node in cuts])
    sides = []
    if is_straight.any():
        straight = cuts[is_straight]
        along = graph("MatMul", x, graph.constant(tree.normal[straight].T))
        sides.append(graph("Less", along, graph.constant(tree.offset[straight])))
    sides += [_add_surface(graph, tree.surface[node], x) for node in cuts[~is_straight]]
    goes_left = graph("Concat", *sides, axis=1) if len(sides) > 1 else sides[0]
    order = np.concatenate([cuts[is_straight], cuts[~is_straight]])
    agrees = graph("MatMul", graph.cast(goes_left, "FLOAT"), graph.constant(_turns(tree, order), "f4"))
    # A leaf that the row reaches has as many left turns as its path, and loses none for a right turn: its sum is 0.
    n_left = np.maximum(_turns(tree, order), 0).sum(axis=0)
    return graph("ArgMax", graph("Sub", agrees, graph.constant(n_left, "f4")), axis=1, keepdims=0)


def _turns(tree: HyperplaneTree, cuts: Ints) -> Ints:
    """Return 1 for each cut and leaf if the way to the leaf goes left at the cut, -1 if it goes right, otherwise 0."""
    turns = np.zeros((len(cuts), tree.n_clusters), dtype=np.int64)
    below = tree._paths()
    for row, cut in zip(turns, cuts, strict=True):
        row[below[:, tree.left[cut]]] = 1
        row[below[:, tree.right[cut]]] = -1
    return turns


def _add_surface(graph: _Graph, surface: Any, x: str) -> str:
    """Add the test of a cut that bends: whether the nearest point is on the left."""
    at = graph("MatMul", x, graph.constant(surface.directions.T))
    apart = graph("Sub", graph("Unsqueeze", at, graph.constant([1], "i8")), graph.constant(surface.positions))
    squares = graph("ReduceSumSquare", apart, graph.constant([2], "i8"), keepdims=0)
    nearest = []
    for positions in (np.flatnonzero(surface.is_left), np.flatnonzero(~surface.is_left)):
        of_side = graph("Gather", squares, graph.constant(positions, "i8"), axis=1)
        nearest.append(graph("Sqrt", graph("ReduceMin", of_side, graph.constant([1], "i8"), keepdims=1)))
    return graph("Less", *nearest)


def _add_mixture(graph: _Graph, mixture: Mixture, x: str, leaf: str) -> tuple[str, str]:
    """Add a mixture, and return the names of the labels and of the memberships; `leaf` has the labels of the cuts."""
    last, minus = graph.constant([1], "i8"), graph.constant(-sys.float_info.max)
    first_of = graph.constant([int(np.argmax(mixture.cluster == k)) for k in range(mixture.n_clusters)], "i8")
    squares = None
    if math.isinf(mixture.freedom):
        center, constant, direction = mixture._plane
        apart = graph("Sub", x, graph.constant(center))
        density = graph("Add", graph("MatMul", apart, graph.constant(direction.T)), graph.constant(constant))
        has_density = graph._all_finite(density)
        along = graph("MatMul", apart, graph.constant(mixture.factor[0].T))
        common = graph("ReduceSumSquare", along, last, keepdims=1)
        joint = graph("Sub", density, graph("Mul", common, graph.constant(0.5)))
    else:
        squares = _add_squares(graph, mixture, x)
        ratio = graph("Div", squares, graph.constant(mixture.freedom))
        logs = graph("Mul", graph("Log", graph("Add", ratio, graph.constant(1.0))), graph.constant(mixture._power))
        joint = density = graph("Sub", graph.constant(mixture._constant), logs)
        has_density = graph("Greater", graph("ReduceMax", density, last, keepdims=0), minus)
    likeliest = graph("ArgMax", density, axis=1, keepdims=0)
    best = graph("Where", has_density, likeliest, graph("Gather", first_of, leaf))
    label = graph("Gather", graph.constant(mixture.cluster, "i8"), best) if mixture.decides else leaf
    if mixture.limit is not None:
        squares = _add_squares(graph, mixture, x) if squares is None else squares
        own = graph("GatherElements", squares, graph("Unsqueeze", best, last), axis=1)
        distance = graph("Sqrt", graph("Squeeze", own, last))
        is_inside = graph("LessOrEqual", distance, graph("Gather", graph.constant(mixture.limit), best))
        label = graph("Where", is_inside, label, graph.constant(-1, "i8"))
    is_known = graph("Greater", graph("ReduceMax", joint, last, keepdims=1), minus)
    share = graph("Softmax", graph("Where", is_known, joint, graph.constant(0.0)), axis=1)
    of_cluster = np.eye(mixture.n_clusters)
    share = graph("MatMul", share, graph.constant(of_cluster[mixture.cluster]))
    return label, graph("Where", is_known, share, graph("Gather", graph.constant(of_cluster), leaf))


def _add_squares(graph: _Graph, mixture: Mixture, x: str) -> str:
    """Add the squared distances of the rows from each component."""
    apart = graph("Sub", graph("Unsqueeze", x, graph.constant([0], "i8")), graph.constant(mixture.mean[:, np.newaxis]))
    along = graph("MatMul", apart, graph.constant(mixture.factor.transpose(0, 2, 1)))
    squares = graph("ReduceSumSquare", along, graph.constant([2], "i8"), keepdims=0)
    return graph("Transpose", squares, perm=[1, 0])
