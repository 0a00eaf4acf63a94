"""An ONNX graph as it is put together."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_maxloss.errors import MissingExtraError, UsageError

__all__ = ["Graph"]

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8


class Graph:
    """Nodes and constants; every method adds one and returns the name of what it gives.

    Raises
    ------
    MissingExtraError
        If onnx is not installed.

    """

    def __init__(self) -> None:
        try:
            from onnx import helper, numpy_helper
        except ImportError as error:
            raise MissingExtraError("writing ONNX", "onnx") from error
        self._helper, self._numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def constant(self, values: Any, kind: Any = np.float64) -> str:
        """Add an array."""
        name = f"stream_maxloss/c{len(self.constants)}"
        self.constants.append(self._numpy_helper.from_array(np.asarray(values, dtype=kind), name))
        return name

    def integers(self, values: Any) -> str:
        """Add an array of whole numbers."""
        return self.constant(values, np.int64)

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node."""
        name = f"stream_maxloss/n{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def input(self, name: str, kind: Any, width: int | str) -> str:
        """Add an input of shape [rows, width]."""
        element = self._helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        self.inputs.append(self._helper.make_tensor_value_info(name, element, ["rows", width]))
        return name

    def output(self, name: str, value: str, kind: Any, *width: int) -> None:
        """Let a value be an output of shape [rows, *width]."""
        self.nodes.append(self._helper.make_node("Identity", [value], [name]))
        element = self._helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        self.outputs.append(self._helper.make_tensor_value_info(name, element, ["rows", *width]))

    def cast(self, value: str, kind: Any) -> str:
        """Add a change of type."""
        return self.node("Cast", value, to=self._helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def reshape(self, value: str, *shape: int) -> str:
        """Add another shape; -1 for what is left."""
        return self.node("Reshape", value, self.integers(shape))

    def sum(self, value: str, axis: int, keep: bool = False) -> str:
        """Add a sum over an axis."""
        return self.node("ReduceSum", value, self.integers([axis]), keepdims=int(keep))

    def clip(self, value: str, low: float, high: float) -> str:
        """Add bounds."""
        return self.node("Clip", value, self.constant(low), self.constant(high))

    def pick(self, value: str, places: Any) -> str:
        """Add a choice of columns."""
        return self.node("Gather", value, self.integers(places), axis=1)

    def known(self, value: str, otherwise: float) -> str:
        """Add a number in place of NaN."""
        return self.node("Where", self.node("IsNaN", value), self.constant(otherwise), value)

    def to_bytes(self, metadata: dict[str, str]) -> bytes:
        """Return the whole graph, once ONNX has checked it.

        Raises
        ------
        UsageError
            If a column has a name that an input cannot have.

        """
        from onnx import checker

        taken = [*(part.name for part in (*self.outputs, *self.constants)), *(node.output[0] for node in self.nodes)]
        for name in (part.name for part in self.inputs):
            if not name or name in taken:
                raise UsageError(f"a column must have a name that ONNX can use, got {name!r}; rename it and learn anew")
        helper = self._helper
        graph = helper.make_graph(self.nodes, "stream_maxloss", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="stream-maxloss", ir_version=IR_VERSION)
        helper.set_model_props(model, metadata)
        checker.check_model(model)
        return bytes(model.SerializeToString())
