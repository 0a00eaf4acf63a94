"""What a prediction is made of, in words."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.lanes import LANES
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.memory import Memory
from stream_maxloss.mixture.mixing import STACKS
from stream_maxloss.mixture.reading import BINNED, COARSE, RAW, TAUGHT, UNTAUGHT, UNTESTED

__all__ = ["Reason", "cells_at_hand", "reasons_of"]


@dataclass(frozen=True)
class Reason:
    """One part of a prediction.

    Parameters
    ----------
    condition
        What holds of the row: `age = 39`, or all tests of a leaf, `bytes > 220 and service = ftp`.
    contribution
        What it adds to the score of the class in question, in log-odds.

    """

    condition: str
    contribution: float


def reasons_of(memory: Memory, output: int, names: dict[int, Hashable], values: dict[int, float]) -> list[Reason]:
    """Return what the score of an output is made of, for the row at hand, the largest part first.

    The mixture is read as one linear model: the experts' scores, weighed by their own weight and by that of the stacks
    that use them. Its log-odds are close to this sum, and not equal to it: a mixture of probabilities is not linear.

    Parameters
    ----------
    memory
        With the row at hand that was answered last.
    output
        The output.
    names
        The name of each column: of the row's own, and of those that ferns test.
    values
        The value of each column of the row.

    """
    experts = memory["raw"].shape[0] * LANES
    prior, stack = memory["prior"], memory["stack"]
    share = prior[:experts] + sum(prior[experts + s] * stack[s, :experts] for s in range(STACKS))
    parts: dict[str, float] = {}
    for group in (RAW, BINNED, UNTAUGHT, TAUGHT):
        index = cells_at_hand(memory, group)
        added = contributions(memory, group, index, output, share)
        conditions = conditions_of(memory, group, index, names, values)
        for condition, part in zip(conditions, added.tolist(), strict=True):
            parts[condition] = parts.get(condition, 0.0) + part
    bias = sum(prior[experts + s] * stack[s, experts] for s in range(STACKS))
    parts["always"] = parts.get("always", 0.0) + float(bias)
    reasons = [Reason(condition, part) for condition, part in parts.items()]
    return sorted(reasons, key=lambda reason: -abs(reason.contribution))


def cells_at_hand(memory: Memory, group: int) -> NDArray[np.int64]:
    """Return the cells of a group that are active in the row at hand."""
    count = int(memory["active"][group])
    if group < UNTAUGHT:
        active: NDArray[np.int64] = memory["index"][group, :count]
        return active
    shift = int(memory["header"][f.SHIFT])
    ferns = np.arange(count) + (memory.untaught if group == TAUGHT else 0)
    return (ferns << (memory.level.depth - shift)) + (memory["leaf"][ferns].astype(np.int64) >> shift)


def contributions(
    memory: Memory, group: int, index: NDArray[np.int64], output: int, share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what each active feature of a group adds to the score."""
    cells = memory[("raw", "bins", "leaves", "leaves")[group]]
    value = memory["value"][group, : len(index)].astype(np.float64) if group < UNTAUGHT else 1.0
    total = np.zeros(len(index))
    for plane in range(cells.shape[0]):
        weights = cells[plane, index, output, :LANES].astype(np.float64)
        total += weights @ (share[plane * LANES : (plane + 1) * LANES] * memory["mask"][plane, group])
    return total * value / np.sqrt(max(len(index), 1))


def conditions_of(
    memory: Memory, group: int, index: NDArray[np.int64], names: dict[int, Hashable], values: dict[int, float]
) -> list[str]:
    """Return what each active feature of a group says of the row."""
    column_of = {int(memory["place"][column]): column for column in names}
    if group == RAW:
        room = memory["raw"].shape[1] - 1
        cells = {1 + column % room: column for column in values}
        return ["always" if cell == 0 else equals(cells[cell], names, values) for cell in index.tolist()]
    if group == BINNED:
        return [equals(column_of[cell // COARSE], names, values) for cell in index.tolist()]
    return [leaf_condition(memory, cell, names, column_of) for cell in index.tolist()]


def equals(column: int, names: dict[int, Hashable], values: dict[int, float]) -> str:
    """Return the value of a column in words; a text value is part of its name."""
    name, value = str(names[column]), values[column]
    feature, separator, text = name.partition("=")
    return f"{feature} = {text}" if separator and value == 1.0 else f"{name} = {value:g}"


def leaf_condition(memory: Memory, cell: int, names: dict[int, Hashable], column_of: dict[int, int]) -> str:
    """Return the tests of a leaf, those of the same number as one."""
    depth = memory.level.depth - int(memory["header"][f.SHIFT])
    fern, leaf = divmod(cell, 1 << depth)
    bounds: dict[int, list[float]] = {}
    for d in range(depth):
        number, threshold = int(memory["test_number"][fern, d]), float(memory["test_threshold"][fern, d])
        if threshold == UNTESTED:
            continue
        low_high = bounds.setdefault(number, [-np.inf, np.inf])
        if leaf >> (depth - 1 - d) & 1:
            low_high[0] = max(low_high[0], threshold)
        else:
            low_high[1] = min(low_high[1], threshold)
    parts = [interval(memory, number, str(names[column_of[number]]), *pair) for number, pair in sorted(bounds.items())]
    return " and ".join(part for part in parts if part)


def interval(memory: Memory, number: int, name: str, low: float, high: float) -> str:
    """Return in words that a number lies above `low` and not above `high`; a text value is there or not."""
    feature, separator, text = name.partition("=")
    if separator and memory["num_edges"][number] == 1:
        return f"{feature} = {text}" if low > -np.inf else f"{feature} != {text}"
    if low > -np.inf and high < np.inf:
        return f"{low:g} < {name} <= {high:g}"
    return f"{name} > {low:g}" if low > -np.inf else f"{name} <= {high:g}"
