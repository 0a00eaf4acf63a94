"""Labelled streams, and the comparison of every system on each of them: `python -m benchmarks.streams`."""

from __future__ import annotations

from benchmarks.streams.stream import Stream

__all__ = ["Stream"]
