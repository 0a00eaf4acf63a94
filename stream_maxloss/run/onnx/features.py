"""The features of a row in an ONNX graph: inputs, and what scalers, bins and ferns make of them.

All of them answer one question: `values(names)`, a tensor [rows, names] of doubles, NaN for an absent feature.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from stream_maxloss.expand.bins import bin_names
from stream_maxloss.expand.entries import LARGEST
from stream_maxloss.features import text_feature
from stream_maxloss.run.onnx.graph import Graph

__all__ = ["Binned", "Features", "Ferny", "Inputs", "Scaled"]

OTHER = "(other)"


class Features(Protocol):
    """What a part of a model reads."""

    graph: Graph

    def values(self, names: Sequence[str]) -> str:
        """Return the tensor of some features."""
        ...

    def has(self, name: str) -> bool:
        """Tell whether a row may have a feature: some are no longer made."""
        ...

    def is_text(self, name: str) -> bool:
        """Tell whether a feature is a text of a column."""
        ...


class Inputs:
    """Features as inputs: a number is one of shape [rows, 1]; the texts of a column are one of shape [rows, texts].

    Parameters
    ----------
    graph
        The graph.
    numbers
        Columns that are numbers, whatever their names look like.
    texts
        Columns of text: how many texts a row has of each, None for any number.

    """

    def __init__(self, graph: Graph, numbers: Iterable[str], texts: dict[str, int | None]) -> None:
        self.graph, self.numbers, self.texts = graph, set(numbers), texts
        self._number_inputs: dict[str, str] = {}
        self._text_inputs: dict[str, str] = {}

    def values(self, names: Sequence[str]) -> str:
        """Return the tensor of some features."""
        graph = self.graph
        places: dict[str, int] = {}
        parts: list[str] = []
        by_column: dict[str, list[tuple[str, str]]] = {}
        for name in dict.fromkeys(names):
            column, _, text = name.partition("=")
            if self.is_text(name):
                by_column.setdefault(column, []).append((name, text))
                continue
            places[name] = len(places)
            parts.append(self._number(name))
        for column, found in by_column.items():
            for name, _ in found:
                places[name] = len(places)
            parts.append(self._flags(column, [text for _, text in found]))
        joined = graph.node("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        return graph.pick(joined, [places[name] for name in names])

    def has(self, name: str) -> bool:
        """Return True: a feature that is no column is made of one, and an input by itself."""
        return True

    def is_text(self, name: str) -> bool:
        """Tell whether a feature is a text of a column."""
        column, separator, _ = name.partition("=")
        return bool(separator) and name not in self.numbers and column in self.texts

    def _number(self, name: str) -> str:
        if name not in self._number_inputs:
            self._number_inputs[name] = self.graph.input(name, np.float64, 1)
        return self._number_inputs[name]

    def _flags(self, column: str, texts: list[str]) -> str:
        """Return 1 for each text that a row has, NaN for the others."""
        graph, width = self.graph, self.texts[column]
        if column not in self._text_inputs:
            self._text_inputs[column] = graph.input(column, np.object_, width or f"texts of {column}")
        # A text that is not known counts as the common one where there is one; a missing one, "", as none.
        none = len(texts)
        codes = {text: code for code, text in enumerate(texts)} | {"": none}
        code = graph.node(
            "LabelEncoder",
            self._text_inputs[column],
            domain="ai.onnx.ml",
            keys_strings=list(codes),
            values_int64s=list(codes.values()),
            default_int64=codes.get(OTHER, none),
        )
        # [rows, texts, known texts] -> whether a row has each.
        same = graph.node("Equal", graph.node("Unsqueeze", code, graph.integers([2])), graph.integers(range(none)))
        has = graph.node("ReduceMax", graph.cast(same, np.float32), axes=[1], keepdims=0)
        return graph.node("Where", graph.cast(has, np.bool_), graph.constant(1.0), graph.constant(math.nan))


class Scaled:
    """What a `Scaler` makes of features."""

    def __init__(self, scaler: Any, source: Features) -> None:
        self.scaler, self.source, self.graph = scaler, source, source.graph

    def values(self, names: Sequence[str]) -> str:
        """Return the tensor of some features: (x - mean) / deviation, 0 where there is no deviation."""
        graph, scaler = self.graph, self.scaler
        means, variances = by_text(scaler.means), by_text(scaler.variances)
        value = self.source.values(names)
        centred = graph.node("Sub", value, graph.constant([means.get(name, 0.0) for name in names]))
        deviations = np.sqrt([variances.get(name, 1.0) for name in names])
        scaled = graph.node("Div", centred, graph.constant(np.where(deviations > 0.0, deviations, 1.0)))
        scaled = graph.node("Mul", scaled, graph.constant((deviations > 0.0).astype(np.float64)))
        return scaled if scaler.clip is None else graph.clip(scaled, -scaler.clip, scaler.clip)

    def has(self, name: str) -> bool:
        """Tell whether a row may have a feature."""
        return self.source.has(name)

    def is_text(self, name: str) -> bool:
        """Tell whether a feature is a text of a column."""
        return self.source.is_text(name)


class Binned:
    """What `Bins` make of features: a flag for the bin that a number lies in; texts stay."""

    def __init__(self, bins: Any, source: Features) -> None:
        self.source, self.graph = source, source.graph
        self._bins: dict[str, tuple[str, float, float]] = {}
        for name, edges in bins._columns.edges.items():
            ends = [-math.inf, *edges, math.inf]
            for place, flag in enumerate(bin_names(name, edges)) if edges else ():
                self._bins[flag] = (str(name), ends[place], ends[place + 1])
        self._with_bins = {name for name, _, _ in self._bins.values()}

    def has(self, name: str) -> bool:
        """Tell whether a row may have a feature: a column is the flag that it is there only until it has bins."""
        return name in self._bins or (name not in self._with_bins and self.source.has(name))

    def is_text(self, name: str) -> bool:
        """Tell whether a feature is a text of a column."""
        return name not in self._bins and self.source.is_text(name)

    def values(self, names: Sequence[str]) -> str:
        """Return the tensor of some flags: 1 where low < x <= high."""
        graph = self.graph
        found = [self._bins.get(name, (name, -math.inf, math.inf)) for name in names]
        value = graph.clip(self.source.values([name for name, _, _ in found]), -LARGEST, LARGEST)
        above = graph.node("Greater", value, graph.constant([low for _, low, _ in found]))
        within = graph.node("LessOrEqual", value, graph.constant([high for _, _, high in found]))
        return graph.node("Where", graph.node("And", above, within), graph.constant(1.0), graph.constant(math.nan))


class Ferny:
    """What `Ferns` make of features: the leaf of each fern, and what is kept of the row."""

    def __init__(self, ferns: Any, source: Features) -> None:
        self.ferns, self.source, self.graph = ferns, source, source.graph
        self._leaves = {
            text_feature(ferns._fern_name(fern), str(leaf)): (fern, leaf)
            for fern in range(len(ferns._tests))
            for leaf in range(1 << ferns.depth)
        }

    def has(self, name: str) -> bool:
        """Tell whether a row may have a feature: a fern that was changed has other leaves."""
        if name in self._leaves or self.ferns.keep == "none":
            return name in self._leaves
        return self.source.is_text(name) or (self.ferns.keep == "all" and not re.match(r"fern \d+(\.\d+)?=", name))

    def is_text(self, name: str) -> bool:
        """Tell whether a feature is a text of a column."""
        return name not in self._leaves and self.source.is_text(name)

    def values(self, names: Sequence[str]) -> str:
        """Return the tensor of some features."""
        graph = self.graph
        leaves = [name for name in names if name in self._leaves]
        others = [name for name in names if name not in self._leaves]
        parts = [self._flags(leaves)] if leaves else []
        parts += [self.source.values(others)] if others else []
        joined = graph.node("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        places = {name: place for place, name in enumerate([*leaves, *others])}
        return graph.pick(joined, [places[name] for name in names])

    def _flags(self, names: list[str]) -> str:
        graph, ferns = self.graph, self.ferns
        tests = [test for tests in ferns._tests for test in tests]
        value = graph.clip(self.source.values([str(name) for name, _ in tests]), -LARGEST, LARGEST)
        leaf = leaf_of(graph, graph.known(value, -math.inf), [limit for _, limit in tests], ferns.depth)
        found = [self._leaves[name] for name in names]
        same = graph.node("Equal", graph.pick(leaf, [fern for fern, _ in found]), graph.integers([n for _, n in found]))
        return graph.node("Where", same, graph.constant(ferns.value), graph.constant(math.nan))


def leaf_of(graph: Graph, value: str, thresholds: Any, depth: int, kind: Any = np.float64) -> str:
    """Return the leaves [rows, ferns] of ferns: a bit for each test x > threshold, the first the highest.

    Parameters
    ----------
    graph
        The graph.
    value
        The tested values, [rows, ferns times depth].
    thresholds
        What each must exceed.
    depth
        Tests of a fern.
    kind
        The type of values and thresholds.

    """
    passed = graph.cast(graph.node("Greater", value, graph.constant(thresholds, kind)), np.int64)
    bits = graph.reshape(passed, -1, len(thresholds) // depth, depth)
    return graph.sum(graph.node("Mul", bits, graph.integers([1 << place for place in range(depth)][::-1])), 2)


def by_text(found: Any) -> dict[str, float]:
    """Return numbers by the names of features as text."""
    return {str(name): float(value) for name, value in found.items()}
