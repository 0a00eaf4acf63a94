"""Metrics by name."""

from __future__ import annotations

import inspect
from typing import Any

from stream_maxloss.errors import UsageError
from stream_maxloss.run.closest import closest
from stream_maxloss.run.words import parse_settings

__all__ = ["make_metrics", "metric_names", "metric_texts"]

OURS = ("CatoniMargin", "MaxLoss", "RollingCatoniMargin", "RollingMaxLoss", "RollingTailLoss", "TailLoss")


def make_metrics(metrics: Any, model: Any) -> Any:
    """Return fresh metrics as one `river.metrics.base.Metrics`.

    Parameters
    ----------
    metrics
        Names with arguments, such as `["accuracy", "tailloss:alpha=0.01"]`; a River metric or a sum of them; None or
        empty for what suits the model.
    model
        The model to be scored.

    Raises
    ------
    UsageError
        If there is no such metric, or it cannot score the model.

    Examples
    --------
    >>> from stream_maxloss.run.metrics import make_metrics, metric_names
    >>> from stream_maxloss.linear import Perceptron
    >>> metric_names(make_metrics(["recall", "tailloss:alpha=0.1"], Perceptron()))
    ['Recall', 'TailLoss']

    """
    from river.metrics.base import Metric, Metrics

    if isinstance(metrics, Metric):
        parts = [part.clone() for part in (metrics if isinstance(metrics, Metrics) else [metrics])]
        for part in parts:
            require_fit(part, model)
        return Metrics(parts)
    names = [name for text in metrics or () for name in split_metrics(text)]
    return Metrics([make_metric(name, model) for name in names or default_metrics(model)])


def is_named(metrics: Any) -> bool:
    """Return whether metrics are given by their names, which say all about them, and not as objects."""
    from river.metrics.base import Metric

    return not isinstance(metrics, Metric)


def metric_texts(metrics: Any) -> list[str]:
    """Return what a checkpoint says about the metrics of its run, so that another run can be compared with it."""
    from river.metrics.base import Metric, Metrics

    if not isinstance(metrics, Metric):
        return list(metrics or ())
    return [type(part).__name__ for part in (metrics if isinstance(metrics, Metrics) else [metrics])]


def split_metrics(text: str) -> list[str]:
    """Split at commas, except at those between the arguments of one metric (`TailLoss:alpha=0.1,loss=...`)."""
    parts: list[str] = []
    for piece in text.split(","):
        if parts and ":" in parts[-1] and "=" in piece and ":" not in piece:
            parts[-1] += f",{piece}"
        elif piece.strip():
            parts.append(piece.strip())
    return parts


def default_metrics(model: Any) -> list[str]:
    """Return the metrics shown unless others are named."""
    from river import base

    from stream_maxloss.linear.classifier import LinearClassifier

    if not isinstance(model, base.Classifier):
        return ["MAE"]
    if isinstance(getattr(model, "_last_step", model), LinearClassifier):
        return ["Accuracy", "TailLoss"]  # known without loading the focus
    from stream_maxloss.focus.focused import predicts_probabilities

    return ["Accuracy", "TailLoss"] if predicts_probabilities(model) else ["Accuracy"]


def make_metric(text: str, model: Any) -> Any:
    """Return one metric."""
    name, _, arguments = text.partition(":")
    known = known_metrics()
    if name.lower() not in known:
        raise UsageError(
            f"metric must name a metric, got {name!r}; {closest(name, sorted(known.values(), key=str.lower))}"
        )
    kind = find_metric(known[name.lower()])
    params = parse_settings(arguments.split(",")) if arguments else {}
    for param in params:
        if param not in inspect.signature(kind).parameters:
            raise UsageError(f"metric {text}: {closest(param, inspect.signature(kind).parameters)}")
    if "loss" in inspect.signature(kind).parameters and "loss" not in params:
        params |= regression_loss(model)
    try:
        metric = kind(**params)
    except (TypeError, ValueError) as error:
        raise UsageError(f"metric {text}: {error}") from error
    require_fit(metric, model)
    return metric


def require_fit(metric: Any, model: Any) -> None:
    """Refuse a metric that cannot score a model."""
    if not metric.works_with(model):
        raise UsageError(f"metric {type(metric).__name__} cannot score this model; {advice(model)}")


def known_metrics() -> dict[str, str]:
    """Return lower-case name -> name."""
    from river import metrics

    names = [*OURS, *(name for name in metrics.__all__ if name not in ("base", "multioutput"))]
    return {name.lower(): name for name in names}


def find_metric(name: str) -> Any:
    """Return the class of a metric."""
    if name in OURS:
        from stream_maxloss import metrics as ours

        return getattr(ours, name)
    from river import metrics

    return getattr(metrics, name)


def regression_loss(model: Any) -> dict[str, Any]:
    """Return the row loss for metrics of losses: theirs is meant for classifiers."""
    from river import base

    if isinstance(model, base.Classifier):
        return {}
    from stream_maxloss.metrics import AbsoluteLoss

    return {"loss": AbsoluteLoss()}


def advice(model: Any) -> str:
    """Return which metrics suit a model."""
    from river import base

    if isinstance(model, base.Classifier):
        return "a classifier takes Accuracy, Recall, F1, LogLoss, MaxLoss and others"
    return "a regressor takes MAE, RMSE, R2 and others"


def metric_names(metrics: Any) -> list[str]:
    """Return a name for each part, told apart by a number where two are alike."""
    names: list[str] = []
    for part in metrics:
        name = type(part).__name__
        twins = sum(known == name or known.startswith(f"{name} ") for known in names)
        names.append(f"{name} {twins + 1}" if twins else name)
    return names
