"""The write-ahead log: every row to learn is here, on the disk, before anybody is told that it was taken."""

from __future__ import annotations

from stream_maxloss.serve.log.journal import Journal
from stream_maxloss.serve.log.record import Kind, Record

__all__ = ["Journal", "Kind", "Record"]
