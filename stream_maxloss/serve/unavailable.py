"""Why a request to learn is not taken now."""

from __future__ import annotations

__all__ = ["BusyError", "StoppedError"]


class BusyError(Exception):
    """More waits to be learned than the limits allow; try again later."""


class StoppedError(Exception):
    """The service does not learn any more: it is being stopped, or the log cannot be written."""
