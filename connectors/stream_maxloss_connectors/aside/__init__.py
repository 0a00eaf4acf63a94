"""Reading and decoding in a process of its own, beside the one that learns."""

from __future__ import annotations

from stream_maxloss_connectors.aside.source import AsideSource
from stream_maxloss_connectors.aside.wire import Wire

__all__ = ["AsideSource", "Wire"]
