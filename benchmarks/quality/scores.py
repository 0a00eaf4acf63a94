"""What a run is worth: errors, slices, worst losses; and what it costs."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.processes import resident_bytes
from benchmarks.streams import Stream

__all__ = ["score", "sigmoid", "watch"]

ALPHA = 0.05
SUPPORT = 30


def sigmoid(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities of scores, as River's linear models and ours make them of theirs."""
    return 0.5 * (1.0 + np.tanh(0.5 * scores))  # unlike exp, never overflows


def watch(run: Callable[[], NDArray[np.float64]]) -> tuple[NDArray[np.float64], float, int | None]:
    """Return what the run returns, its processor seconds, and by how many bytes the process grew at most."""
    gc.collect()
    before = reset_peak()
    started = time.process_time()
    answers = run()
    seconds = time.process_time() - started
    return answers, seconds, None if before is None else resident_bytes(field="VmHWM") - before


def reset_peak() -> int | None:
    """Set the process' greatest memory so far to what it holds now, and return that; None where only Linux can."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return None
    return resident_bytes()


def score(stream: Stream, answers: NDArray[np.float64]) -> dict[str, Any]:
    """Return the scores of the probabilities that a system gave before it learned each row."""
    from stream_maxloss.metrics import MaxLoss, ProbabilityLoss, TailLoss, update_metric_many

    if answers.shape != stream.labels.shape or not np.all(np.isfinite(answers)):
        raise ValueError(f"a system must give one finite answer per row, got {answers.shape} for {stream.labels.shape}")
    wrong = (answers > 0.5) != stream.labels
    errors = {name: float(np.mean(wrong[mask])) for name, mask in stream.slices.items()}
    sizes = {name: int(np.sum(mask)) for name, mask in stream.slices.items()}
    worst = max((name for name in errors if sizes[name] >= SUPPORT), key=errors.__getitem__)
    greatest, tail = MaxLoss(loss=ProbabilityLoss()), TailLoss(ALPHA, loss=ProbabilityLoss())
    for metric in (greatest, tail):
        update_metric_many(metric, stream.labels, proba_true=answers)
    return {
        "error": float(np.mean(wrong)),
        "errors of slices": errors,
        "rows of slices": sizes,
        "worst slice": worst,
        "rare": stream.rare,
        "rare recall": 1.0 - errors[stream.rare],
        "max loss": greatest.get(),
        "tail loss": tail.get(),
    }
