"""Progressive quality beside the peers: streams, systems, scores and their plot."""

from __future__ import annotations
