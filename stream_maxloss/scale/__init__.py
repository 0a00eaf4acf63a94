"""Runs on several machines: a job cut into shards, and Ray to host them. All load on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_maxloss.scale.ray.driver import RayRun
    from stream_maxloss.scale.shards.job import Job, Shard

__all__ = ["Job", "RayRun", "Shard"]

_HOMES = {"Job": "shards.job", "Shard": "shards.job", "RayRun": "ray.driver"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
