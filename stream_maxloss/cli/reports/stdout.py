"""Predictions on standard output."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from stream_maxloss_connectors import Position, Sink

__all__ = ["StdoutSink"]


class StdoutSink(Sink):
    """JSON lines on standard output."""

    exactly_once = False

    def open(self, position: Mapping[str, Any] | None = None) -> None:
        """Do nothing."""

    def files(self) -> list[Path]:
        """Return the file that standard output is redirected to, if it is: one that is read would never end."""
        with contextlib.suppress(OSError):
            if stat.S_ISREG(os.fstat(1).st_mode):
                return [Path("/dev/stdout")]
        return []

    def write(self, records: pa.RecordBatch) -> None:
        """Write rows."""
        options = orjson.OPT_APPEND_NEWLINE
        sys.stdout.buffer.write(
            b"".join([orjson.dumps(row, option=options, default=str) for row in records.to_pylist()])
        )
        sys.stdout.buffer.flush()

    def flush(self) -> Position:
        """Return nothing: what was printed cannot be taken back."""
        return {}

    def close(self) -> None:
        """Do nothing."""
