"""What the value of a metric is worth: whether it is defined, and how far chance may have moved it."""

from __future__ import annotations

import math
from typing import Any

from river import metrics
from river.metrics.base import MeanMetric
from river.utils.rolling import BaseRolling

__all__ = ["interval_of", "value_of", "wilson"]

Z = 1.959963984540054
"""The normal quantile of a two-sided interval of 95 %."""


def value_of(metric: Any) -> float:
    """Return the value of a metric, or NaN where it has none: a recall without positives is not 0.

    River gives 0 (ROCAUC: 0 or 0.5) where a ratio has nothing below the line.

    Examples
    --------
    >>> from river import metrics
    >>> from stream_maxloss.metrics.standing import value_of
    >>> recall = metrics.Recall()
    >>> recall.update(False, False)
    >>> recall.get(), value_of(recall)
    (0.0, nan)

    """
    inner = metric.obj if isinstance(metric, BaseRolling) else metric
    return float(metric.get()) if is_defined(inner) else math.nan


def is_defined(metric: Any) -> bool:
    """Return whether a metric has seen the rows that it is about."""
    kind = type(metric)
    if kind is metrics.Accuracy:
        return bool(metric.cm.n_samples > 0)
    if isinstance(metric, MeanMetric):
        return bool(metric._mean.n > 0)
    if kind is metrics.ROCAUC:
        cm, positive = metric.cms[0], metric.pos_val
        return positives(cm, positive) > 0 and negatives(cm, positive) > 0
    if kind not in (metrics.Recall, metrics.Precision, metrics.F1, metrics.FBeta, metrics.Jaccard, metrics.MCC):
        return True
    cm, positive = metric.cm, metric.pos_val
    said = cm.true_positives(positive) + cm.false_positives(positive)
    if kind is metrics.Recall:
        return bool(positives(cm, positive) > 0)
    if kind is metrics.Precision:
        return bool(said > 0)
    if kind is metrics.MCC:
        said_no = cm.true_negatives(positive) + cm.false_negatives(positive)
        return min(positives(cm, positive), negatives(cm, positive), said, said_no) > 0
    return bool(positives(cm, positive) + said > 0)


def positives(cm: Any, value: Any) -> float:
    """Return how many rows are positive."""
    return float(cm.true_positives(value) + cm.false_negatives(value))


def negatives(cm: Any, value: Any) -> float:
    """Return how many rows are negative."""
    return float(cm.true_negatives(value) + cm.false_positives(value))


def interval_of(metric: Any) -> tuple[float, float] | None:
    """Return the 95 % interval of a metric that is a share of rows (accuracy, recall, precision); else None.

    Examples
    --------
    >>> from river import metrics
    >>> from stream_maxloss.metrics.standing import interval_of
    >>> accuracy = metrics.Accuracy()
    >>> for right in [True] * 9 + [False]:
    ...     accuracy.update(True, right)
    >>> low, high = interval_of(accuracy)
    >>> round(low, 3), round(high, 3)
    (0.596, 0.982)

    """
    kind = type(metric)
    if kind is metrics.Accuracy:
        rows = float(metric.cm.n_samples)
        return None if not rows else wilson(float(metric.get()) * rows, rows)
    if kind not in (metrics.Recall, metrics.Precision) or not is_defined(metric):
        return None
    cm, positive = metric.cm, metric.pos_val
    hits = float(cm.true_positives(positive))
    other = cm.false_negatives(positive) if kind is metrics.Recall else cm.false_positives(positive)
    return wilson(hits, hits + float(other))


def wilson(hits: float, rows: float, z: float = Z) -> tuple[float, float]:
    """Return Wilson's score interval of a share (1927), which holds for few rows and for shares near 0 and 1.

    With p = hits/rows: (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n).

    Examples
    --------
    >>> from stream_maxloss.metrics.standing import wilson
    >>> low, high = wilson(0, 10)
    >>> low, round(high, 3)
    (0.0, 0.278)

    """
    share, extra = min(max(hits / rows, 0.0), 1.0), z * z / rows  # sums of weights round
    centre = share + extra / 2.0
    spread = z * math.sqrt(share * (1.0 - share) / rows + extra / (4.0 * rows))
    return max(0.0, (centre - spread) / (1.0 + extra)), min(1.0, (centre + spread) / (1.0 + extra))
