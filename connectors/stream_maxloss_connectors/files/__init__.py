"""Bounded files as a source of rows, and files that rows are appended to."""

from __future__ import annotations

from stream_maxloss_connectors.files.source import FileSource

__all__ = ["FileSource"]
