"""What the answers of a run are worth, each given before its row was learned. Exact: no figure is approximated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.streams.stream import BINARY, NUMBER, Stream

__all__ = [
    "BINS",
    "FALSE_ALARMS",
    "FLOOR",
    "average_precision",
    "calibration_error",
    "recall_at",
    "reliability",
    "score",
    "threshold_at",
]

# No answer costs more than -log of this: a single 0 would otherwise decide the mean of a whole stream.
FLOOR = 1e-6
BINS = 15
FALSE_ALARMS = {"recall at 0.1 %": 0.001, "recall at 1 %": 0.01}

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def average_precision(positive: Flags, scores: Floats) -> float:
    """Return the area under precision and recall, one step for each distinct score; NaN without positives."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(positive[order])
    if not len(hits) or hits[-1] == 0:
        return float("nan")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    found = hits[ends]
    precision = found / (ends + 1.0)
    return float(np.sum(precision * np.diff(found, prepend=0)) / hits[-1])


def threshold_at(positive: Flags, scores: Floats, rate: float) -> float:
    """Return the lowest score at which an alarm is raised on at most so large a share of the negative rows.

    An alarm is a score at or above it. Where equal scores would cross the share, none of them is an alarm.
    """
    negatives = np.sort(scores[~positive])[::-1]
    allowed = int(np.floor(rate * len(negatives)))
    above = scores if allowed >= len(negatives) else scores[scores > negatives[allowed]]
    return float(above.min()) if len(above) else float("inf")


def recall_at(positive: Flags, scores: Floats, rate: float) -> float:
    """Return the share of positive rows that raise an alarm at so many false alarms; NaN without positives."""
    return float(np.mean(scores[positive] >= threshold_at(positive, scores, rate))) if positive.any() else float("nan")


def reliability(happened: Flags, probabilities: Floats) -> list[tuple[int, float, float]]:
    """Return for each bin of equal width its rows, their mean probability, and the share that happened."""
    places = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
    rows = np.bincount(places, minlength=BINS)
    said = np.bincount(places, weights=probabilities, minlength=BINS)
    came = np.bincount(places, weights=happened, minlength=BINS)
    return [
        (int(count), float(expected / count), float(true / count)) if count else (0, 0.0, 0.0)
        for count, expected, true in zip(rows, said, came, strict=True)
    ]


def calibration_error(bins: list[tuple[int, float, float]]) -> float:
    """Return the expected calibration error: the mean over all rows of how far their bin is from what happened."""
    rows = sum(count for count, _, _ in bins)
    return sum(count * abs(said - came) for count, said, came in bins) / rows


def score(stream: Stream, answers: Floats) -> dict[str, Any]:
    """Return all figures of a run.

    Raises
    ------
    ValueError
        If there is not one finite answer for each row.

    """
    if len(answers) != len(stream) or not np.all(np.isfinite(answers)):
        raise ValueError(f"a system must give one finite answer per row, got {answers.shape}; {len(stream)} rows")
    if stream.kind == NUMBER:
        return score_numbers(stream, answers)
    return score_binary(stream, answers) if stream.kind == BINARY else score_classes(stream, answers)


def score_numbers(stream: Stream, answers: Floats) -> dict[str, Any]:
    """Return the figures of a regressor."""
    away = np.abs(answers - stream.labels)
    slices = {name: {"rows": int(mask.sum()), "mae": float(away[mask].mean())} for name, mask in present(stream)}
    return {"mae": float(away.mean()), "rmse": float(np.sqrt(np.mean(away**2))), "slices": slices}


def score_binary(stream: Stream, answers: Floats) -> dict[str, Any]:
    """Return the figures of probabilities of True; a slice's positives are set against all negative rows."""
    positive = stream.labels.astype(bool)
    wrong = (answers > 0.5) != positive
    bins = reliability(positive, answers)
    slices = {}
    for name, mask in present(stream):
        slices[name] = {"rows": int(mask.sum()), "error": float(wrong[mask].mean())}
        if (mask & positive).any():
            slices[name] |= against_negatives(positive, mask & positive, answers)
    return {
        "error": float(wrong.mean()),
        "log loss": log_loss(np.where(positive, answers, 1.0 - answers)),
        "ap": average_precision(positive, answers),
        **{name: recall_at(positive, answers, rate) for name, rate in FALSE_ALARMS.items()},
        "ece": calibration_error(bins),
        "reliability": bins,
        "slices": slices,
    }


def against_negatives(positive: Flags, members: Flags, answers: Floats) -> dict[str, float]:
    """Return average precision and recalls of some of the positive rows, at the thresholds of all negative ones."""
    kept = members | ~positive
    found = {"ap": average_precision(members[kept], answers[kept])}
    return found | {name: recall_at(members[kept], answers[kept], rate) for name, rate in FALSE_ALARMS.items()}


def score_classes(stream: Stream, answers: Floats) -> dict[str, Any]:
    """Return the figures of a probability for each class; AP is the mean over the classes, each against the rest."""
    total = answers.sum(axis=1, keepdims=True)
    shares = np.where(total > 0.0, answers / np.where(total > 0.0, total, 1.0), 1.0 / answers.shape[1])
    codes, rows = stream.codes(), np.arange(len(stream))
    wrong = shares.argmax(axis=1) != codes
    bins = reliability(~wrong, shares.max(axis=1))
    slices = {}
    for place, name in enumerate(stream.classes):
        mask = codes == place
        slices[name] = {
            "rows": int(mask.sum()),
            "error": float(wrong[mask].mean()),
            "ap": average_precision(mask, shares[:, place]),
        }
    return {
        "error": float(wrong.mean()),
        "log loss": log_loss(shares[rows, codes]),
        "ap": float(np.mean([figures["ap"] for figures in slices.values()])),
        "ece": calibration_error(bins),
        "reliability": bins,
        "slices": slices,
    }


def log_loss(of_label: Floats) -> float:
    """Return the mean logarithmic loss, given the probability of each row's own label."""
    return float(-np.mean(np.log(np.clip(of_label, FLOOR, 1.0))))


def present(stream: Stream) -> list[tuple[str, Flags]]:
    """Return the slices that have any row."""
    return [(name, mask) for name, mask in stream.slices.items() if mask.any()]
