"""What a service takes on at most."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Bounds that keep one client from taking the service away from all others.

    Parameters
    ----------
    body_bytes, body_rows
        Of one request; more is 413.
    queue_rows, queue_bytes
        That wait to be learned; more is 429.
    seconds
        Until a request must have come, head and body; else it is hung up on, with 408.
    connections
        At once; more is 503.
    slice_seconds
        How long learning keeps readers waiting, about: batches are cut so that each part takes no longer.
    keys
        Idempotency keys that are remembered.

    """

    body_bytes: int = 32 << 20
    body_rows: int = 100_000
    queue_rows: int = 500_000
    queue_bytes: int = 256 << 20
    seconds: float = 30.0
    connections: int = 1000
    slice_seconds: float = 0.004
    keys: int = 10_000
