"""What a row, a key and a checkpoint cost on this machine, in processor time, which other load hardly changes."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from stream_maxloss.checkpoint import CheckpointStore, Content
from stream_maxloss.expand import Bins
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.keyed import KeyedClassifier
from stream_maxloss.linear import HingeOGD, Logistic, Scaler
from stream_maxloss.mixture import AutoClassifier
from stream_maxloss_connectors.payloads.formats import make_decoder

__all__ = ["measure"]

FEATURES, ROWS = 20, 20_000


def processor_time(action: Callable[[], Any], repeats: int = 3) -> float:
    """Return the median seconds of processor time of an action; its first run, which may compile, does not count."""
    action()
    found = []
    for _ in range(repeats):
        began = time.process_time()
        action()
        found.append(time.process_time() - began)
    return float(np.median(found))


def rows_of(count: int) -> tuple[pa.Table, np.ndarray[Any, Any], list[bytes]]:
    """Return rows of twenty numbers and a key, as a table and as JSON messages."""
    generator = np.random.default_rng(1)
    X = generator.normal(size=(count, FEATURES)).round(4)
    y = X[:, 0] + 0.5 * X[:, 1] > 0
    keys = [f"key-{key}" for key in generator.integers(0, count // 10, count)]
    names = [f"x{i}" for i in range(FEATURES)]
    table = pa.table({**{name: X[:, i] for i, name in enumerate(names)}, "who": keys})
    values = [
        json.dumps({**dict(zip(names, row, strict=True)), "who": key, "y": bool(label)}).encode()
        for row, key, label in zip(X.tolist(), keys, y.tolist(), strict=True)
    ]
    return table, y, values


def measure() -> dict[str, float]:
    """Return microseconds a row of decoding and of learning, bytes a message and a key, milliseconds a checkpoint."""
    table, y, values = rows_of(ROWS)
    plain = table.drop_columns(["who"])
    decoder = make_decoder("json")
    decoder.infer(values[:1000])
    found = {"message_bytes": float(np.mean([len(value) for value in values]))}
    found["decode"] = processor_time(lambda: decoder.decode(values, ROWS)) / ROWS * 1e6
    models: dict[str, Callable[[], Any]] = {
        "linear": lambda: Scaler() | HingeOGD(),
        "focused": lambda: Scaler() | FocusedClassifier(HingeOGD(), window=10_000),
        "leaves": lambda: Bins() | Logistic(),
        "auto": AutoClassifier,
    }
    for name, make in models.items():
        rows = ROWS if name != "auto" else ROWS // 5
        found[name] = processor_time(lambda m=make, n=rows: m().learn_many(plain.slice(0, n), y[:n])) / rows * 1e6
    found["replay"] = found["focused"] - found["linear"]
    found["keyed"] = processor_time(lambda: KeyedClassifier(Logistic(), "who").learn_many(table, y)) / ROWS * 1e6
    found["key_bytes"] = 8.0 * len(taught(plain, y).state_dict()["memory"]) + 64
    return found | checkpoints()


def taught(plain: pa.Table, y: Any) -> Any:
    """Return the model of a key that has seen some rows."""
    model = Logistic()
    model.learn_many(plain.slice(0, 50), y[:50])
    return model


def checkpoints() -> dict[str, float]:
    """Return what a checkpoint takes: a part of its own, and a part for each megabyte, by least squares; wall time."""
    sizes, seconds = [], []
    with tempfile.TemporaryDirectory() as folder, CheckpointStore(Path(folder)) as store:
        for megabytes in (0, 1, 4, 16) * 5:
            content = Content(arrays={"a": np.full(megabytes << 17, random.random())})
            began = time.perf_counter()
            store.save(content)
            sizes.append(float(megabytes))
            seconds.append(time.perf_counter() - began)
    by_size = {size: np.median([s for z, s in zip(sizes, seconds, strict=True) if z == size]) for size in set(sizes)}
    slope, base = np.polyfit(list(by_size), list(by_size.values()), 1)
    return {"checkpoint_ms": 1e3 * float(base), "checkpoint_ms_per_mb": 1e3 * float(slope)}
