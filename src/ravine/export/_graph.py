"""A graph of ONNX while it is built: its inputs and outputs, its nodes, and its constants."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ravine import __version__

OPSET, IR_VERSION = 19, 9
"""Versions of the operators and of the file: the oldest that compare texts. onnxruntime reads them since 1.17."""


class Graph:
    """The nodes of a graph and its constants, as they are added. A method adds nodes and returns the name of a result.

    Parameters
    ----------
    number : str
        Type of the numbers that the graph takes: "DOUBLE" or "FLOAT".
    taken : sequence of str
        Names of the inputs.
    """

    def __init__(self, number: str, taken: Sequence[str]) -> None:
        try:
            import onnx
        except ModuleNotFoundError:
            raise ModuleNotFoundError("to_onnx needs onnx: pip install 'ravine[export]'", name="onnx") from None
        self._onnx = onnx
        self._number = number
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._constants: dict[tuple[Any, ...], Any] = {}
        self._prefix = "ravine"
        while any(name.startswith(self._prefix) for name in taken):
            self._prefix += "_"

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of an operator."""
        name = f"{self._prefix}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, values: Any, kind: str = "f8") -> str:
        """Return the name of a constant of a type of NumPy, or of "text"; equal ones are stored once."""
        is_text = kind == "text"
        array = np.asarray(values, dtype=object if is_text else kind)
        content = tuple(array.ravel()) if is_text else array.tobytes()
        name = f"{self._prefix}_constant_{len(self._constants)}"
        if is_text:
            texts = [text.encode() for text in array.ravel()]
            made = self._onnx.helper.make_tensor(name, self._onnx.TensorProto.STRING, array.shape, texts)
        else:
            made = self._onnx.numpy_helper.from_array(array, name)
        return str(self._constants.setdefault((kind, array.shape, content), made).name)

    def cast(self, name: str, kind: str) -> str:
        """Convert to a type of ONNX."""
        return self("Cast", name, to=getattr(self._onnx.TensorProto, kind))

    def some(self, name: str, axis: int = 1) -> str:
        """Return whether any entry is true along an axis, which is dropped."""
        found = self("ReduceMax", self.cast(name, "INT32"), self.constant([axis], "i8"), keepdims=0)
        return self.cast(found, "BOOL")

    def all_finite(self, name: str) -> str:
        """Return whether all numbers of each row are finite."""
        is_finite = self("LessOrEqual", self("Abs", name), self.constant(sys.float_info.max))
        return self("Not", self.some(self("Not", is_finite)))

    def numbers_input(self, name: str, n_columns: int) -> str:
        """Add an input of numbers, which are converted to double."""
        self._add_input(name, self._number, n_columns)
        return name if self._number == "DOUBLE" else self.cast(name, "DOUBLE")

    def text_input(self, name: str) -> str:
        """Add an input of texts, a column."""
        return self._add_input(name, "STRING", 1)

    def _add_input(self, name: str, kind: str, n_columns: int) -> str:
        self._inputs.append(self._value(name, kind, ["n_samples", n_columns]))
        return name

    def labels_output(self, name: str, result: str) -> None:
        """Add an output of a whole number for each row."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [result], [name]))
        self._outputs.append(self._value(name, "INT64", ["n_samples"]))

    def numbers_output(self, name: str, result: str, n_columns: int) -> None:
        """Add an output of numbers, in the type of the inputs."""
        to = getattr(self._onnx.TensorProto, self._number)
        self._nodes.append(self._onnx.helper.make_node("Cast", [result], [name], to=to))
        self._outputs.append(self._value(name, self._number, ["n_samples", n_columns]))

    def _value(self, name: str, kind: str, shape: list[str | int]) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, getattr(self._onnx.TensorProto, kind), shape)

    def model(self, name: str, columns: list[str]) -> Any:
        """Return the whole graph under a name, with the names of the columns as a property."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, list(self._constants.values()))
        model = helper.make_model(
            graph,
            producer_name="ravine",
            producer_version=__version__,
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )
        helper.set_model_props(model, {"columns": json.dumps(columns)})
        return model
