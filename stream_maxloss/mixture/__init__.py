"""The learner without knobs: experts over one reading of the row, mixed by how well they predict."""

from __future__ import annotations

from stream_maxloss.mixture.classifier import AutoClassifier
from stream_maxloss.mixture.experts import Expert
from stream_maxloss.mixture.reasons import Reason
from stream_maxloss.mixture.regressor import AutoRegressor

__all__ = ["AutoClassifier", "AutoRegressor", "Expert", "Reason"]
