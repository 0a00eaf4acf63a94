"""Several threads read a model while one writes to it: every call answers, or says in one error what was wrong.

`python threads.py SECONDS SEED` prints how many calls were made for each model, and what failed. Names keep coming, so
that memory keeps moving; threads take turns as often as the interpreter lets them.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent))

from forked import outcome

from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.mixture import AutoClassifier, AutoRegressor

MODELS: dict[str, Callable[[], Any]] = {
    "linear": HingeOGD,
    "scaled": lambda: Scaler() | HingeOGD(),
    "focused": lambda: FocusedClassifier(HingeOGD(), window=50, replays=2, seed=1),
    "focused, snapshots": lambda: FocusedClassifier(
        HingeOGD(), window=50, replays=2, output="majority", snapshots=3, seed=1
    ),
    "scaled and focused": lambda: Scaler() | FocusedClassifier(HingeOGD(), window=50, replays=2, seed=1),
    "auto": lambda: AutoClassifier(memory=60, compute="least", seed=1),
    "auto, numbers": lambda: AutoRegressor(memory=60, compute="least", seed=1),
}
CLEAR = ("one call at a time", "while another thread", "by one thread at a time")


def make_row(generator: random.Random) -> dict[str, float]:
    return {f"x{generator.randrange(10 + generator.randrange(3000))}": generator.gauss(0, 1) for _ in range(8)}


def make_frame(generator: random.Random) -> pa.Table:
    names = {f"x{generator.randrange(3000)}" for _ in range(6)}
    return pa.table({name: [generator.gauss(0, 1) for _ in range(20)] for name in sorted(names)})


def readings(model: Any, generator: random.Random) -> list[Callable[[], Any]]:
    """Return the ways to read a model."""
    last = getattr(model, "_last_step", model)
    found = [
        lambda: model.predict_one(make_row(generator)),
        lambda: model.predict_many(make_frame(generator)),
    ]
    # A focused learner is saved by whoever writes to it: a window and a learner of two moments would not fit.
    found += [] if hasattr(last, "describe") else [last.state_dict]
    found += [last.describe] if hasattr(last, "describe") else []
    found += [lambda: last.hardest(3)] if hasattr(last, "hardest") else []
    found += [lambda: last.weights] if isinstance(last, HingeOGD) else []
    return found


def write(model: Any, generator: random.Random, until: float, counts: Counter[str], wrong: list[str]) -> None:
    is_number = isinstance(model, AutoRegressor)
    while time.monotonic() < until:
        try:
            if generator.random() < 0.8:
                model.learn_one(make_row(generator), generator.gauss(0, 1) if is_number else generator.random() < 0.5)
            else:
                X = make_frame(generator)
                model.learn_many(X, [1.0 if is_number else True] * X.num_rows)
            counts["written"] += 1
        except Exception as error:
            wrong.append(f"writer: {type(error).__name__}: {error}")


def read(model: Any, generator: random.Random, until: float, counts: Counter[str], wrong: list[str]) -> None:
    ways = readings(model, generator)
    while time.monotonic() < until:
        try:
            generator.choice(ways)()
            counts["read"] += 1
        except RuntimeError as error:
            counts["refused"] += 1
            if not any(words in str(error) for words in CLEAR):
                wrong.append(f"reader: RuntimeError: {error}")
        except Exception as error:
            wrong.append(f"reader: {type(error).__name__}: {error}")


def share(name: str, seconds: float, seed: int, place: Path | None = None) -> None:
    """Let one thread write and three read; raise what went wrong, and write down how much was done."""
    warnings.simplefilter("ignore")
    sys.setswitchinterval(1e-6)
    model, counts, wrong = MODELS[name](), Counter(), []
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=write, args=(model, random.Random(seed), until, counts, wrong))]
    threads += [
        threading.Thread(target=read, args=(model, random.Random(seed + number), until, counts, wrong))
        for number in (1, 2, 3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if place is not None:
        place.write_text(json.dumps(counts))
    if wrong:
        raise AssertionError(f"{len(wrong)} calls failed: {Counter(wrong).most_common(3)}")


def main() -> None:
    import tempfile

    seconds, seed = float(sys.argv[1]), int(sys.argv[2])
    for make in MODELS.values():  # compiled once, before the forks
        model = make()
        for _ in range(3):
            model.learn_one({"x0": 1.0}, 1)
            model.predict_one({"x0": 1.0})
        model.learn_many(pa.table({"x0": [1.0, 2.0]}), [1, 0])
        model.predict_many(pa.table({"x0": [1.0, 2.0]}))
    failures, done = [], {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "counts.json")
        for name in MODELS:
            found = outcome(lambda name=name: share(name, seconds, seed, place), int(seconds) + 60)
            done[name] = json.loads(place.read_text()) if place.exists() else {}
            place.unlink(missing_ok=True)
            if found is not None:
                failures.append(f"{name}: {found.strip().splitlines()[-1][:600]}")
    sys.stdout.write(json.dumps({"calls": done, "failures": failures}) + "\n")


if __name__ == "__main__":
    main()
