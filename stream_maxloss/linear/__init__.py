"""Online linear learners that run one dict at a time and over Arrow batches with the same result."""

from __future__ import annotations

from stream_maxloss.linear.absolute import AbsoluteOGD
from stream_maxloss.linear.balanced_winnow import BalancedWinnow
from stream_maxloss.linear.hinge import HingeOGD
from stream_maxloss.linear.lld import LLD
from stream_maxloss.linear.llm import LLM
from stream_maxloss.linear.logistic_regression import Logistic
from stream_maxloss.linear.margin_pursuit import MarginPursuit
from stream_maxloss.linear.pegasos import Pegasos
from stream_maxloss.linear.perceptron import Perceptron
from stream_maxloss.linear.pipeline import RowPipeline
from stream_maxloss.linear.scaler import Scaler
from stream_maxloss.linear.winnow import Winnow

__all__ = [
    "LLD",
    "LLM",
    "AbsoluteOGD",
    "BalancedWinnow",
    "HingeOGD",
    "Logistic",
    "MarginPursuit",
    "Pegasos",
    "Perceptron",
    "RowPipeline",
    "Scaler",
    "Winnow",
]
