"""Focused Online Learning: any online learner as a minimiser of the maximal loss over a retained window."""

from __future__ import annotations

from stream_maxloss.focus.admission import Admission, AdmitAll, ClassQuota, Reservoir, SubSample
from stream_maxloss.focus.classifier import FocusedClassifier
from stream_maxloss.focus.hard_row import HardRow
from stream_maxloss.focus.policy import Capped, Corrected, Credible, Exponential, Policy, Slices, Uniform
from stream_maxloss.focus.regressor import FocusedRegressor
from stream_maxloss.focus.slack import Slack
from stream_maxloss.focus.sum_tree import SumTree

__all__ = [
    "Admission",
    "AdmitAll",
    "Capped",
    "ClassQuota",
    "Corrected",
    "Credible",
    "Exponential",
    "FocusedClassifier",
    "FocusedRegressor",
    "HardRow",
    "Policy",
    "Reservoir",
    "Slack",
    "Slices",
    "SubSample",
    "SumTree",
    "Uniform",
]
