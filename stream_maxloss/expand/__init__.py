"""More features from fewer: quantile bins and decision leaves, as River transformers."""

from __future__ import annotations

from stream_maxloss.expand.bins import Bins
from stream_maxloss.expand.ferns import Ferns
from stream_maxloss.expand.taught_ferns import TaughtFerns

__all__ = ["Bins", "Ferns", "TaughtFerns"]
