"""A linear model as an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_maxloss.errors import MissingExtraError
from stream_maxloss.run.linear_form import LinearForm

__all__ = ["onnx_bytes"]

OPSET, ML_OPSET = 17, 3


def onnx_bytes(form: LinearForm) -> bytes:
    """Return the model as ONNX: one input for each column, of shape `[rows, 1]`, numbers as doubles, texts as strings.

    Outputs are `label` (booleans) and `probability` (of True) of a classifier, or `value` of a regressor, of shape
    `[rows]`. A missing number is NaN, a missing text any that is not known, such as an empty one.

    Raises
    ------
    MissingExtraError
        If onnx is not installed.

    """
    try:
        from onnx import TensorProto, checker, helper
    except ImportError as error:
        raise MissingExtraError("writing ONNX", "onnx") from error

    graph = Graph(helper)
    inputs, parts = [], []
    for number, column in enumerate(form.numbers):
        inputs.append(helper.make_tensor_value_info(column.name, TensorProto.DOUBLE, ["rows", 1]))
        parts.append(graph.number(f"n{number}", column, form.clip))
    for number, text in enumerate(form.texts):
        inputs.append(helper.make_tensor_value_info(text.name, TensorProto.STRING, ["rows", 1]))
        parts.append(graph.text(f"t{number}", text.name, text.weights))
    outputs = graph.finish(parts, form)
    described = [helper.make_tensor_value_info(name, kind, ["rows"]) for name, kind in outputs]
    made = helper.make_graph(graph.nodes, "stream_maxloss", inputs, described, graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    model = helper.make_model(made, opset_imports=opsets, producer_name="stream-maxloss", ir_version=8)
    checker.check_model(model)
    return bytes(model.SerializeToString())


class Graph:
    """Nodes and constants of a graph as it is put together."""

    def __init__(self, helper: Any) -> None:
        self.helper = helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, values: Any) -> str:
        """Add a constant of doubles and return its name."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype=np.float64), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add a node and return its output."""
        self.nodes.append(self.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def number(self, name: str, column: Any, clip: float | None) -> str:
        """Add what a column of numbers adds to the score."""
        centred = self.node("Sub", [column.name, self.constant(f"{name}_mean", [[column.mean]])], f"{name}_centred")
        factor = 1.0 / column.deviation if column.deviation else 0.0
        if column.deviation:
            scaled = self.node(
                "Div", [centred, self.constant(f"{name}_deviation", [[column.deviation]])], f"{name}_scaled"
            )
        else:
            scaled = self.node("Mul", [centred, self.constant(f"{name}_factor", [[factor]])], f"{name}_scaled")
        if clip is not None:
            bounds = [self.constant(f"{name}_low", -clip), self.constant(f"{name}_high", clip)]
            scaled = self.node("Clip", [scaled, *bounds], f"{name}_clipped")
        weighed = self.node("Mul", [scaled, self.constant(f"{name}_weight", [[column.weight]])], f"{name}_weighed")
        missing = self.node("IsNaN", [column.name], f"{name}_missing")
        return self.node("Where", [missing, self.constant(f"{name}_nothing", [[0.0]]), weighed], f"{name}_part")

    def text(self, name: str, column: str, weights: dict[str, float]) -> str:
        """Add what a column of texts adds to the score."""
        self.nodes.append(
            self.helper.make_node(
                "OneHotEncoder",
                [column],
                [f"{name}_hot"],
                domain="ai.onnx.ml",
                cats_strings=list(weights),
                zeros=1,
            )
        )
        double = self.node("Cast", [f"{name}_hot"], f"{name}_double", to=11)
        weighed = self.node(
            "MatMul", [double, self.constant(f"{name}_weights", [[w] for w in weights.values()])], f"{name}_w"
        )
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.array([-1, 1], dtype=np.int64), f"{name}_shape"))
        return self.node("Reshape", [weighed, f"{name}_shape"], f"{name}_part")

    def finish(self, parts: list[str], form: LinearForm) -> list[tuple[str, int]]:
        """Add the sum and what is made of it; return the outputs with their types."""
        from onnx import TensorProto, numpy_helper

        total = self.node("Sum", parts, "sum") if len(parts) > 1 else parts[0]
        moved = self.node("Add", [total, self.constant("intercept", [[form.intercept]])], "moved")
        self.constants.append(numpy_helper.from_array(np.array([-1], dtype=np.int64), "flat"))
        score = self.node("Reshape", [moved, "flat"], "score")
        if form.is_classifier:
            self.node("GreaterOrEqual", [score, self.constant("zero", 0.0)], "label")
            self.node("Sigmoid", [score], "probability")
            return [("label", TensorProto.BOOL), ("probability", TensorProto.DOUBLE)]
        bounds = [form.low, form.high]
        if any(bound is not None for bound in bounds):
            limits = [-np.inf if form.low is None else form.low, np.inf if form.high is None else form.high]
            names = [self.constant(name, limit) for name, limit in zip(("low", "high"), limits, strict=True)]
            self.node("Clip", [score, *names], "value")
        else:
            self.node("Identity", [score], "value")
        return [("value", TensorProto.DOUBLE)]
