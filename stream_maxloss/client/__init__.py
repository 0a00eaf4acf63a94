"""Clients of `maxloss serve`, for Python: one that waits and one that awaits.

Needs httpx, which the extra `serve` brings.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_maxloss.client.asynchronous import AsyncClient
    from stream_maxloss.client.calls import ServiceError
    from stream_maxloss.client.synchronous import Client

__all__ = ["AsyncClient", "Client", "ServiceError"]

_HOMES = {"AsyncClient": "asynchronous", "Client": "synchronous", "ServiceError": "calls"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
