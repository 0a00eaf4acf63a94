"""Progressive validation over Arrow batches or rows."""

from __future__ import annotations

from stream_maxloss.evaluate.engine import Engine, Scored
from stream_maxloss.evaluate.progressive import Progress, progressive

__all__ = ["Engine", "Progress", "Scored", "progressive"]
