"""One model of several workers, by averaging: what it costs, tried in one process."""

from __future__ import annotations

from stream_maxloss.mixing.merging import mix, require_mergeable
from stream_maxloss.mixing.workers import MixedClassifier, MixedRegressor

__all__ = ["MixedClassifier", "MixedRegressor", "mix", "require_mergeable"]
