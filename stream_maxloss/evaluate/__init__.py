"""Progressive validation over Arrow batches or rows."""

from __future__ import annotations

from stream_maxloss.evaluate.batch import RowBatch
from stream_maxloss.evaluate.engine import Engine, Scored
from stream_maxloss.evaluate.loop import Board, Loop
from stream_maxloss.evaluate.progress import Progress, Scores
from stream_maxloss.evaluate.progressive import progressive

__all__ = ["Board", "Engine", "Loop", "Progress", "RowBatch", "Scored", "Scores", "progressive"]
