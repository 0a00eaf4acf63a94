"""Load states whose arrays were changed at random, and go on with what was accepted. Run as a child process.

`python mutated_states.py SEED COUNT` prints how many states were refused and how many were taken; a crash ends it.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from stream_maxloss import LLD, BalancedWinnow, ClassQuota, FocusedClassifier, HingeOGD, MarginPursuit, Scaler, Winnow
from stream_maxloss.checkpoint import Content, put_model, take_model
from stream_maxloss.errors import CheckpointError

HOSTILE = [-1.0, -(2.0**31), 2.0**31 - 1, 2.0**53, 1e18, 1e300, -1e300, 0.0, 0.5, 7.0, 1e6, -7.0]
MODELS: dict[str, Any] = {
    "focused": lambda: FocusedClassifier(HingeOGD(), window=20, replays=3, seed=1),
    "slack and copies": lambda: FocusedClassifier(
        LLD(), window=20, replays=3, slack=3.0, output="majority", snapshots=3, seed=1
    ),
    "quota, hashed": lambda: FocusedClassifier(HingeOGD(hash_bits=6), window=20, admission=ClassQuota(), seed=1),
    "scaled": lambda: Scaler() | FocusedClassifier(HingeOGD(averaged=True), window=20, share=0.01, seed=1),
    "multiplicative": lambda: FocusedClassifier(BalancedWinnow(), window=20, admission="reservoir", seed=1),
    "winnow": lambda: Winnow(),
    "warm-up": lambda: MarginPursuit(scale="data"),
}


def rows(count: int, seed: int) -> tuple[pa.Table, list[bool]]:
    chance = np.random.default_rng(seed)
    X = pa.table({"a": chance.random(count), "b": chance.random(count), "c": chance.choice(["x", "y"], count)})
    return X, (chance.random(count) < 0.5).tolist()


def mutate(content: Content, chance: np.random.Generator) -> None:
    """Change one array: an entry, its length or its shape."""
    name = chance.choice(sorted(content.arrays))
    array = content.arrays[name].copy()
    kind = chance.integers(10)
    if kind == 0 and array.size:
        array = array[: chance.integers(len(array))]
    elif kind == 1 and array.ndim:
        array = np.concatenate([array, array, array])
    elif array.size:
        with np.errstate(invalid="ignore", over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = np.array([chance.choice(HOSTILE)]).astype(array.dtype)[0]
        flat = array.reshape(-1)
        flat[chance.integers(flat.size)] = value
        if kind == 2:
            flat[:] = value
    content.arrays[name] = array


def go_on(model: Any) -> None:
    """Use what was loaded as its owner would."""
    X, y = rows(60, 5)
    try:
        model.learn_many(X, y)
        for x, label in zip(X.slice(0, 20).to_pylist(), y, strict=False):
            model.learn_one(x, label)
            model.predict_proba_one(x)
        model.predict_many(X)
        focused = model["FocusedClassifier"] if hasattr(model, "steps") else model
        if hasattr(focused, "hardest"):
            focused.hardest(5)
        model_content = Content()
        put_model(model_content, model)
    except ValueError:
        pass  # weights may be absurd; what counts is that nothing worse happens


def main(seed: int, count: int) -> None:
    contents = {}
    for name, make in MODELS.items():
        model = make()
        model.learn_many(*rows(50, 1))
        contents[name] = Content()
        put_model(contents[name], model)
    refused = taken = 0
    for number in range(count):
        chance = np.random.default_rng([seed, number])
        original = contents[chance.choice(sorted(contents))]
        content = Content(arrays=dict(original.arrays), values=dict(original.values))
        mutate(content, chance)
        try:
            model = take_model(content)
        except CheckpointError:
            refused += 1
            continue
        taken += 1
        go_on(model)
    sys.stdout.write(f"{refused} refused, {taken} taken\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
