"""Files that are still being written, followed like `tail -F`."""

from __future__ import annotations

from stream_maxloss_connectors.follow.source import FollowedSource

__all__ = ["FollowedSource"]
