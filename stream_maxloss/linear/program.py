"""What a learner does to its memory, as plain functions that kernels are made of."""

from __future__ import annotations

import importlib
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Program"]


@dataclass(frozen=True, eq=False)
class Program:
    """A learner's score, step and loss over its memory: all that its kernels are made of.

    The functions are plain ones of whole numbers and floats, compiled where a kernel needs them. `m` is the address of
    the memory (`linear.memory`), `row` a row as `linear.sums` describes it; `load`, `store`, `dot`, `add` and
    `vector_at` are how they get at both.

    Parameters
    ----------
    name
        What tells the program apart in a checkpoint.
    score
        score(m, row): what a row is predicted with: a float, or a tuple of `scores` floats.
    step
        step(m, row, score, target, weight): learn a row without absent values, of which `current` gave this score.
    loss
        loss(m, score, target): the loss in [0, 1] that the game sees.
    replay
        replay(m, row, score, target, weight): learn a row again that was learned before, if that is not the same step:
        a learner's estimate of its stream must not count it twice.
    current
        current(m, row): the score of the weights as they are, if that is not what is predicted with.
    prepare
        prepare(m, row): look at a row before it is learned, turn absent values into zeros; 0 or a fault.
    limit
        limit(m): the margin beyond which a step does nothing but count the row, if there is one. Such a step must move
        nothing but the first vector and the header, and its score must be additive's own.
    advance
        advance(m, score, target, weight, norm): the part of such a step that changes the header; how far the first
        vector moves along the row. It comes with `limit`, and norm is 0.
    scores
        Scores per row; 0 for as many as the memory says. A score is then (check, address, number): a finite number if
        all went well, and where the `number` of them that a batch returns lie until the next row is scored.
    vectors
        Vectors in the memory.
    code
        The number that stands for the name in the memory, as older checkpoints have it; None for one made of the name.
    origin
        The function and the arguments that made it, if it is no global of a module.

    """

    name: str
    score: Callable[..., Any]
    step: Callable[..., None]
    loss: Callable[..., float]
    current: Callable[..., Any] | None = None
    prepare: Callable[..., int] | None = None
    limit: Callable[..., float] | None = None
    advance: Callable[..., float] | None = None
    replay: Callable[..., None] | None = None
    scores: int = 1
    vectors: int = 2
    code: int | None = None

    origin: tuple[Callable[..., Any], tuple[Any, ...]] | None = field(default=None, repr=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        # A copy of a learner runs the kernels of the learner.
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        # As for a function, what is pickled is where to find it.
        if self.origin is not None:
            return self.origin
        module = self.score.__module__
        for name, thing in vars(sys.modules[module]).items():
            if thing is self:
                return find_program, (module, name)
        raise TypeError(f"a program must be a global of the module of its score to be pickled, got {self.name!r}")

    @property
    def number(self) -> float:
        """The number that stands for the program in a learner's memory."""
        return float(zlib.crc32(self.name.encode()) + 1000 if self.code is None else self.code)


def find_program(module: str, name: str) -> Program:
    """Return a program that is a global of a module."""
    program: Program = getattr(importlib.import_module(module), name)
    return program
