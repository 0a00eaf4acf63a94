"""Where the shards of a job are, for those that only look."""

from __future__ import annotations

from pathlib import Path

__all__ = ["JOB_FILE", "shard_directories"]

JOB_FILE = "job.json"


def shard_directories(path: Path) -> list[Path]:
    """Return the directories of the shards of a job; empty where there is no job."""
    return sorted(path.glob("shard-*")) if (path / JOB_FILE).is_file() else []
