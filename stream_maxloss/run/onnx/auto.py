"""`AutoClassifier` and `AutoRegressor` in an ONNX graph, equation by equation as in `mixture`.

Kernels score in single precision, the graph in double: they agree to about six digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.lanes import LANES
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.lookup import coarse_bins
from stream_maxloss.mixture.mixing import CORRECTIONS, CUT, KNOTS, LEAST, SHARES, STACKS
from stream_maxloss.mixture.reading import CENTRE, COARSE, FACTOR, LARGEST, LIMIT
from stream_maxloss.mixture.reading import COUNT as SEEN
from stream_maxloss.mixture.stepping import COUNT, HIGHEST, MEAN, SPREAD
from stream_maxloss.mixture.usual import INPUTS
from stream_maxloss.run.onnx.features import Features, leaf_of

__all__ = ["Auto"]


class Auto:
    """The prediction of a mixture.

    Parameters
    ----------
    model
        The `MixtureModel`.
    features
        What it reads.

    """

    def __init__(self, model: Any, features: Features) -> None:
        self.graph, self.memory = features.graph, model.memory
        names = [str(name) for name in model.features.names]
        self.value = self.graph.clip(features.values(names), -LARGEST, LARGEST)
        self.columns = len(names)
        raw = self.memory["raw"]
        self.experts, self.outputs = raw.shape[0] * LANES, raw.shape[2]
        # What is usual is the same for every row: a constant of the graph.
        model.answer_one({})
        self.usual = self.memory["answer"][self.experts + STACKS : len(self.memory["prior"])].copy()
        self.lately = self.memory["given"][0, self.experts : self.experts + 1 + INPUTS].copy()

    def weights(self, cells: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the weights of cells [planes, cells, outputs, 2 lanes] as [cells, experts times outputs]."""
        kept = np.moveaxis(cells[..., :LANES], 1, 0)  # [cells, planes, outputs, lanes]
        return np.moveaxis(kept, 3, 2).reshape(cells.shape[1], self.experts * self.outputs)

    def scores(self) -> str:
        """Return the scores of all experts, [rows, experts, outputs]: a sum over groups of features."""
        graph, memory = self.graph, self.memory
        parts = [self._raw()]
        if memory["header"][f.READY]:
            number = self._numbers()
            parts += [*self._binned(number), *self._leaves(number)]
        total = graph.node("Sum", *parts)
        return graph.reshape(total, -1, self.experts, self.outputs)

    def _masked(self, group: int, total: str, count: str | int) -> str:
        """Return the part of one group: sum / sqrt(active features), 0 for experts that do not look at it."""
        graph = self.graph
        mask = np.repeat(self.memory["mask"][:, group, :].reshape(-1), self.outputs).astype(np.float64)
        if isinstance(count, int):
            return graph.node("Mul", total, graph.constant(mask / math.sqrt(max(count, 1))))
        root = graph.node("Sqrt", graph.node("Max", count, graph.constant(1.0)))
        return graph.node("Mul", graph.node("Div", total, root), graph.constant(mask))

    def _raw(self) -> str:
        graph, memory = self.graph, self.memory
        statistics = memory["statistics"][: self.columns]
        room = memory["raw"].shape[1] - 2
        weights = self.weights(memory["raw"]).astype(np.float64)
        factor = np.where(statistics[:, SEEN] > 0.0, statistics[:, FACTOR], 0.0)
        moved = graph.node("Sub", self.value, graph.constant(statistics[:, CENTRE]))
        z = graph.clip(graph.node("Mul", moved, graph.constant(factor)), -LIMIT, LIMIT)
        z = graph.known(z, 0.0)
        used = graph.cast(graph.node("Not", graph.node("Equal", z, graph.constant(0.0))), np.float64)
        count = graph.node("Add", graph.sum(used, 1, keep=True), graph.constant(1.0))
        # As the kernels have it, values count in single precision.
        z = graph.cast(graph.cast(z, np.float32), np.float64)
        cells = 1 + (np.arange(self.columns) & room)
        total = graph.node("Add", graph.node("MatMul", z, graph.constant(weights[cells])), graph.constant(weights[0]))
        return self._masked(0, total, count)

    def _numbers(self) -> str:
        """Return the numbers [rows, numbers] in single precision, minus infinity where one is absent."""
        graph, memory = self.graph, self.memory
        place = memory["place"][: self.columns]
        column_of = np.zeros(len(memory["num_edges"]), dtype=np.int64)
        column_of[place[place >= 0]] = np.flatnonzero(place >= 0)
        return graph.cast(graph.known(graph.pick(self.value, column_of), -math.inf), np.float32)

    def _binned(self, number: str) -> list[str]:
        graph, memory = self.graph, self.memory
        num_edges, edges = memory["num_edges"], memory["edges"]
        numbers, most = edges.shape
        if not numbers:
            return []
        limits = np.where(np.arange(most) < num_edges[:, np.newaxis], edges, np.float32(np.inf))
        above = graph.node("Greater", graph.reshape(number, -1, numbers, 1), graph.constant(limits, np.float32))
        code = graph.sum(graph.cast(above, np.int64), 2)
        coarse = coarse_bins(num_edges, most).astype(np.int64)
        cell = np.where(coarse < COARSE, np.arange(numbers)[:, np.newaxis] * COARSE + coarse, numbers * COARSE)
        first = graph.integers(np.arange(numbers) * (most + 1))
        index = graph.node("Gather", graph.integers(cell.reshape(-1)), graph.node("Add", code, first), axis=0)
        there = graph.node("Greater", number, graph.constant(-np.inf, np.float32))
        index = graph.node("Where", there, index, graph.integers(numbers * COARSE))
        weights = np.vstack([self.weights(memory["bins"])[: numbers * COARSE], np.zeros((1, self.width), np.float32)])
        used = graph.node("Less", index, graph.integers(numbers * COARSE))
        count = graph.sum(graph.cast(used, np.float64), 1, keep=True)
        return [self._masked(1, self._gathered(weights, index), count)]

    @property
    def width(self) -> int:
        """Scores of a row."""
        return self.experts * self.outputs

    def _gathered(self, weights: NDArray[np.float32], index: str) -> str:
        """Return the sum of the rows of `weights` that each row of an index [rows, places] names."""
        graph = self.graph
        found = graph.node("Gather", graph.constant(weights, np.float32), index, axis=0)
        return graph.sum(graph.cast(found, np.float64), 1)

    def _leaves(self, number: str) -> list[str]:
        graph, memory = self.graph, self.memory
        depth, shift = memory["test_number"].shape[1], int(memory["header"][f.SHIFT])
        weights = self.weights(memory["leaves"])
        untaught = memory.untaught
        groups = [(2, 0, untaught if memory["group"][0] >= 0 else 0)]
        groups.append((3, untaught, int(memory["header"][f.TAUGHT])))
        parts = []
        for group, first, count in groups:
            if not count:
                continue
            ferns = np.arange(first, first + count)
            tested = graph.pick(number, memory["test_number"][ferns].reshape(-1).astype(np.int64))
            leaf = leaf_of(graph, tested, memory["test_threshold"][ferns].reshape(-1), depth, np.float32)
            leaf = graph.node("Div", leaf, graph.integers(1 << shift))
            index = graph.node("Add", leaf, graph.integers(ferns << (depth - shift)))
            parts.append(self._masked(group, self._gathered(weights, index), count))
        return parts

    def stacked(self, scores: str) -> str:
        """Return what the stacks make of the scores, [rows, stacks, outputs], before it is bounded."""
        graph, stack = self.graph, self.memory["stack"]
        given = graph.clip(scores, -CUT, CUT)
        total = graph.node("MatMul", graph.constant(stack[:, : self.experts]), given)
        offset = (stack[:, self.experts : self.experts + 1 + INPUTS] @ self.lately).reshape(1, STACKS, 1)
        return graph.node("Add", total, graph.constant(offset))

    def number(self) -> str:
        """Return the predicted number, [rows]."""
        graph, scale = self.graph, self.memory["scale"]
        scores = self.scores()
        said = graph.node("Concat", scores, self.stacked(scores), axis=1)
        mixed = self._weighed(graph.clip(said, -CUT, CUT))
        known = scale[COUNT] >= 2.0 and scale[SPREAD] > 0.0
        deviation = math.sqrt(scale[SPREAD] / scale[COUNT]) if known else 1.0
        moved = graph.node("Add", graph.node("Mul", mixed, graph.constant(deviation)), graph.constant(scale[MEAN]))
        return graph.reshape(moved, -1)

    def _weighed(self, said: str) -> str:
        """Return the mixture [rows, outputs] of what experts and stacks say, and of what is usual."""
        graph, prior = self.graph, self.memory["prior"]
        looking = self.experts + STACKS
        weights = graph.constant(prior[:looking].reshape(1, -1, 1))
        usual = graph.constant((prior[looking:] @ self.usual)[np.newaxis])
        return graph.node("Add", graph.sum(graph.node("Mul", said, weights), 1), usual)

    def probabilities(self) -> str:
        """Return the probability of each class, [rows, classes], in the order of the labels."""
        graph, trust = self.graph, self.memory["trust"]
        scores = self.scores()
        said = self._shares(graph.node("Concat", scores, self.stacked(scores), axis=1))
        mixed = self._weighed(said)
        tabled = self._with_top(mixed, SHARES)
        first = self._between(mixed, tabled, trust[:2])
        out = self._between(first, self._with_top(first, CORRECTIONS), trust[2:])
        if self.outputs > 1:
            return out
        return graph.node("Concat", graph.node("Sub", graph.constant(1.0), out), out, axis=1)

    def _shares(self, scores: str) -> str:
        """Return what scores say as probabilities."""
        graph = self.graph
        if self.outputs == 1:
            return graph.node("Sigmoid", graph.clip(scores, -HIGHEST, HIGHEST))
        top = graph.node("ReduceMax", scores, axes=[2], keepdims=1)
        power = graph.node("Exp", graph.node("Max", graph.node("Sub", scores, top), graph.constant(-HIGHEST)))
        return graph.node("Div", power, graph.sum(power, 2, keep=True))

    def _between(self, one: str, other: str, weights: NDArray[np.float64]) -> str:
        graph = self.graph
        parts = [graph.node("Mul", part, graph.constant(w)) for part, w in zip((one, other), weights, strict=True)]
        return graph.node("Add", *parts)

    def _with_top(self, answer: str, row: int) -> str:
        """Return an answer with the probability of its likeliest class as the table has it, others in proportion."""
        graph = self.graph
        top = graph.node("ReduceMax", answer, axes=[1], keepdims=1)
        p = graph.clip(top, LEAST, 1.0 - LEAST)
        odds = graph.node("Log", graph.node("Div", p, graph.node("Sub", graph.constant(1.0), p)))
        odds = graph.clip(odds, -CUT, CUT * 0.999999)
        place = graph.node("Mul", graph.node("Add", odds, graph.constant(CUT)), graph.constant((KNOTS - 1) / (2 * CUT)))
        below = graph.node("Floor", place)
        part = graph.node("Sub", place, below)
        knot = graph.cast(below, np.int64)
        table = self.memory["table"][row]
        low = graph.node("Gather", graph.constant(table), knot, axis=0)
        rise = graph.node("Gather", graph.constant(np.append(np.diff(table), 0.0)), knot, axis=0)
        found = graph.node("Add", low, graph.node("Mul", rise, part))
        if row == CORRECTIONS:
            found = graph.node("Add", top, found)
        found = graph.clip(found, LEAST, 1.0 - LEAST)
        if self.outputs == 1:
            return found
        left = graph.node("Max", graph.node("Sub", graph.constant(1.0), top), graph.constant(LEAST))
        rest = graph.node("Div", graph.node("Sub", graph.constant(1.0), found), left)
        others = graph.node("Mul", answer, rest)
        number = graph.node("ArgMax", answer, axis=1, keepdims=1)
        is_top = graph.node("Equal", number, graph.integers(range(self.outputs)))
        return graph.node("Where", is_top, found, others)
