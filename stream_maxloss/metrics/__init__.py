"""Metrics of the worst rows, of the margin, and of slices, in River's own form."""

from __future__ import annotations

from stream_maxloss.metrics.batch import update_metric_many, update_twins_many
from stream_maxloss.metrics.catoni import catoni_estimate, catoni_psi, catoni_rho, catoni_scale
from stream_maxloss.metrics.catoni_margin import CatoniMargin, RollingCatoniMargin
from stream_maxloss.metrics.margin_distribution import MarginDistribution, MarginSummary
from stream_maxloss.metrics.margin_metric import margin_of, margins_of
from stream_maxloss.metrics.max_loss import MaxLoss, RollingMaxLoss
from stream_maxloss.metrics.row_loss import AbsoluteLoss, ProbabilityLoss, RowLoss, ZeroOneLoss
from stream_maxloss.metrics.slices import SliceReport
from stream_maxloss.metrics.state import metric_state, restore_metric
from stream_maxloss.metrics.tail_loss import RollingTailLoss, TailLoss

__all__ = [
    "AbsoluteLoss",
    "CatoniMargin",
    "MarginDistribution",
    "MarginSummary",
    "MaxLoss",
    "ProbabilityLoss",
    "RollingCatoniMargin",
    "RollingMaxLoss",
    "RollingTailLoss",
    "RowLoss",
    "SliceReport",
    "TailLoss",
    "ZeroOneLoss",
    "catoni_estimate",
    "catoni_psi",
    "catoni_rho",
    "catoni_scale",
    "margin_of",
    "margins_of",
    "metric_state",
    "restore_metric",
    "update_metric_many",
    "update_twins_many",
]
