"""Focused Online Learning: any online learner as a minimiser of the maximal loss over a retained window."""

from __future__ import annotations

from stream_maxloss.focus.admission import AdmitAll, ClassQuota, Reservoir, SubSample
from stream_maxloss.focus.classifier import FocusedClassifier
from stream_maxloss.focus.focused import HardRow
from stream_maxloss.focus.regressor import FocusedRegressor
from stream_maxloss.focus.slack import Slack
from stream_maxloss.focus.sum_tree import SumTree

__all__ = [
    "AdmitAll",
    "ClassQuota",
    "FocusedClassifier",
    "FocusedRegressor",
    "HardRow",
    "Reservoir",
    "Slack",
    "SubSample",
    "SumTree",
]
