"""Odd rows for `learn_one`, `predict_one` and `learn_many`: odd types, odd names, and objects that call back.

`python row_fuzz.py ROWS SEED` prints how many it tried, and what failed.
"""

from __future__ import annotations

import contextlib
import decimal
import fractions
import json
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from forked import outcome

from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Perceptron, Scaler
from stream_maxloss.mixture import AutoClassifier

GROUP = 200


class CallsBack:
    """A number that uses the model while the model reads it."""

    def __init__(self, model: Any, number: int) -> None:
        self.model = model
        self.number = number

    def __float__(self) -> float:
        self.model.learn_one({f"new{self.number}_{i}": 1.0 for i in range(50)}, True)
        return 1.0


class Raises:
    def __float__(self) -> float:
        raise RuntimeError("not now")


def odd_value(generator: random.Random, model: Any) -> Any:
    return generator.choice(
        [
            *(0, 1, -1, 2**63, 10**30, True, None, "", "text", "é" * 50, b"bytes", 1.5, -0.0, 1e308, 5e-324),
            *(
                float("nan"),
                float("inf"),
                1j,
                decimal.Decimal("1.5"),
                fractions.Fraction(1, 3),
                [],
                [1.0],
                {},
                {"a": 1},
            ),
            *(np.float32(1.5), np.float64(2.5), np.int8(3), np.bool_(True), np.array(1.0), np.array([1.0]), np.nan),
            *(object(), Raises(), CallsBack(model, generator.randrange(10**6)), "x" * generator.randrange(1, 40)),
        ]
    )


def odd_name(generator: random.Random) -> Any:
    return generator.choice(["a", "b", "c", "", "é", "a=b", "\0", 1, 1.5, None, True, ("a", 1), b"a", "n" * 300])


def make_model(generator: random.Random) -> Any:
    bare = generator.choice([Perceptron, HingeOGD])()
    focused = FocusedClassifier(bare, window=20, replays=2, seed=1)
    return generator.choice([bare, Scaler() | bare, focused, AutoClassifier(memory=20, compute="least", seed=1)])


def try_row(model: Any, row: Any, generator: random.Random) -> None:
    """Learn a row and predict it, or be refused; either way the model must answer for the next one."""
    refusals = (TypeError, ValueError, OverflowError, RuntimeError)
    with contextlib.suppress(*refusals):
        model.learn_one(row, generator.random() < 0.5)
    with contextlib.suppress(*refusals):
        model.predict_one(row)
    try:
        model.learn_one({"a": 1.0, "b": -1.0}, True)
        answer = model.predict_one({"a": 1.0})
    except ValueError as error:
        if "finite" in str(error):
            return  # a weight of 1e308 was asked for
        raise
    if not isinstance(answer, bool | np.bool_):
        raise AssertionError(f"a model must answer after a row that it refused, got {answer!r}")


def run_group(first: int, seed: int) -> None:
    warnings.simplefilter("ignore")
    model: Any = None
    for number in range(first, first + GROUP):
        generator = random.Random(f"{seed}:{number}")
        # A few rows for each model, so that what one leaves behind meets the next.
        if number % 10 == 0 or number == first:
            model = make_model(generator)
        row = {odd_name(generator): odd_value(generator, model) for _ in range(generator.randrange(6))}
        try_row(model, row, generator)


def main() -> None:
    wanted, seed = int(sys.argv[1]), int(sys.argv[2])
    for kind in (Perceptron, HingeOGD):  # compiled once, before the forks
        for model in (kind(), FocusedClassifier(kind(), window=20, replays=2, seed=1), Scaler() | kind()):
            model.learn_one({"a": 1.0}, True)
            model.predict_one({"a": 1.0})
    warm = AutoClassifier(memory=20, compute="least", seed=1)
    for number in range(150):
        warm.learn_one({"a": float(number % 7), "b": 1.0}, number % 3 == 0)
        warm.predict_one({"a": 1.0})
    failures = []
    for first in range(0, wanted, GROUP):
        found = outcome(lambda first=first: run_group(first, seed), seconds=60)
        if found is not None:
            failures.append(f"{seed}:{first}: {found.strip().splitlines()[-1][:200]}")
    sys.stdout.write(json.dumps({"rows": wanted, "failures": len(failures), "first": failures[:8]}) + "\n")


if __name__ == "__main__":
    main()
