"""LightGBM, which learns no stream, refitted again and again on the last rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.baselines import prepare as baseline
from benchmarks.peers.matrix import coded, sparse
from benchmarks.streams.stream import BINARY, NUMBER, Stream

__all__ = ["LIGHTGBM", "prepare", "refits"]

EVERY, WINDOW, FIRST = 5000, 20_000, 250
LIGHTGBM = {
    "LightGBM refitted": "`LGBMClassifier()` or `LGBMRegressor()`, text as categorical columns, fitted anew every "
    "5,000 rows on the last 20,000; before, after 250, 500, 1,000, 2,000 and 4,000 rows, and constant until then",
}


def refits(rows: int) -> list[int]:
    """Return after how many rows a new model is fitted."""
    early = [FIRST << power for power in range(5)]
    return [count for count in [*early, *range(EVERY, rows, EVERY)] if count < rows]


def prepare(system: str, stream: Stream) -> Callable[[], NDArray[np.float64]]:
    """Return a run: each stretch is predicted by the model fitted on what came before it."""
    import lightgbm

    X, words = (sparse(stream), {}) if stream.is_sparse else coded(stream)
    y = stream.labels if stream.kind == NUMBER else stream.codes()
    fixed: dict[str, Any] = {"n_jobs": 1, "random_state": 1, "verbose": -1}
    if words:
        fixed["categorical_feature"] = list(words)

    def run() -> NDArray[np.float64]:
        answers = baseline("constant", stream)()
        starts = refits(len(y))
        for first, last in zip(starts, [*starts[1:], len(y)], strict=True):
            window = slice(max(0, first - WINDOW), first)
            if stream.kind == NUMBER:
                answers[first:last] = lightgbm.LGBMRegressor(**fixed).fit(X[window], y[window]).predict(X[first:last])
                continue
            known = np.unique(y[window])
            if len(known) == 1:
                continue
            said = lightgbm.LGBMClassifier(**fixed).fit(X[window], y[window]).predict_proba(X[first:last])
            if stream.kind == BINARY:
                answers[first:last] = said[:, 1]
            else:
                answers[first:last] = 0.0
                answers[first:last, known] = said
        return answers

    return run
