"""The kernels that take a row from a dict, as all models of a program share them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from stream_maxloss.linear.passes import UNREADABLE, learn_dict, score_dict
from stream_maxloss.linear.program import Program
from stream_maxloss.machine.compiled import made_once

__all__ = ["RowKernels", "row_kernels"]


class RowKernels:
    """What a model calls for each row; the kernels that were not needed yet do nothing.

    They are attributes of a class rather than of an object, and a model refers to that class. River counts the memory
    of a model by following its references: it leaves out classes, and must not follow kernels into numba's compiler,
    whose megabytes are no part of the model and whose weak references may be dead.
    """

    program: Program
    learns = False
    scores = False

    @staticmethod
    def score_row(shortcut: tuple[Any, ...], x: Any) -> float:
        """Return the score of a row, NaN if this way cannot read it."""
        return math.nan

    @staticmethod
    def learn_row(shortcut: tuple[Any, ...], x: Any, target: float, w: float) -> int:
        """Learn a row and return 0, or why this way cannot."""
        return UNREADABLE


@made_once
def row_kernels(program: Program, learns: bool = False, scores: bool = False) -> type[RowKernels]:
    """Return the kernels of a program, compiled as far as they are asked for.

    Parameters
    ----------
    program
        What the learner does to its memory.
    learns, scores
        Whether rows are learned, and scored, straight from their dicts.

    """
    kernels: dict[str, Callable[..., Any]] = {}
    if learns:
        kernels["learn_row"] = learn_dict(program)
    if scores:
        kernels["score_row"] = score_dict(program)
    return type("RowKernels", (RowKernels,), {"program": program, "learns": learns, "scores": scores, **kernels})
