"""The process that reads."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import warnings
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import DecodeError, StreamMaxlossError
from stream_maxloss_connectors.aside.wire import Wire, WireClosedError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.base import Batch, Source

__all__ = ["ADDRESS", "PLACE", "RecordedBad", "error_from", "replay", "serve"]


class RecordedBad(BadRecords):
    """The policy of a run, in the process that reads: it decides alike, writes nothing, and notes what it was told."""

    def __init__(self, like: BadRecords) -> None:
        super().__init__("skip" if like.policy == "dlq" else like.policy, None, like.limit)
        self.count, self.seen = like.count, like.seen
        self._events: list[Any] = []

    def saw(self, records: int) -> None:
        """Count records that were looked at."""
        super().saw(records)
        self._events.append(records)

    def handle(self, error: DecodeError) -> None:
        """Treat one bad record by the policy."""
        self._events.append((error.address, error.reason, error.raw))
        super().handle(error)

    def take(self) -> list[Any]:
        """Return what was noted since the last call."""
        events, self._events = self._events, []
        return events


def replay(events: list[Any], bad: BadRecords) -> None:
    """Tell a policy what another was told; it may raise as that one did."""
    for event in events:
        if isinstance(event, int):
            bad.saw(event)
        else:
            bad.handle(DecodeError(*event))


def plain_error(error: BaseException) -> tuple[str, str]:
    """Return an error as plain values."""
    return type(error).__name__, str(error)


def error_from(found: tuple[str, str]) -> Exception:
    """Return an error like one of the other process; one that is not ours is shown with its kind."""
    from stream_maxloss import errors

    name, text = found
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, StreamMaxlossError) and name not in ("DecodeError", "RowError"):
        made = kind.__new__(kind)
        made.args = (text,)
        return made
    if name in ("ValueError", "TypeError"):
        return {"ValueError": ValueError, "TypeError": TypeError}[name](text)
    return RuntimeError(f"the process that reads failed: {name}: {text}")


ADDRESS = "address"
PLACE = "place."
# Seconds that a source is waited for, before the other side is told that nothing came.
WAIT = 0.2


class Reader:
    """Reads ahead of the process that learns, as far as that one lets it.

    Parameters
    ----------
    wire
        The connection.
    source
        The source, not yet opened.
    bad
        The policy that it has.
    batch_rows
        Most rows of a batch.
    ahead
        Batches that may wait at the other side.

    """

    def __init__(self, wire: Wire, source: Source, bad: RecordedBad, batch_rows: int, ahead: int) -> None:
        self.wire = wire
        self.source = source
        self.bad = bad
        self.batch_rows = batch_rows
        self.room = ahead

    def run(self, position: Any) -> None:
        """Open the source, and send what it has until it ends or nobody listens."""
        self.source.open(position)
        self.wire.send({"kind": "opened", **self._standing()})
        while True:
            self._listen()
            batch = self.source.next_batch(self.batch_rows, WAIT)
            if batch is not None:
                self._send(batch)
                self.room -= 1
            elif self.source.exhausted:
                self.wire.send({"kind": "end", **self._standing()})
                self._wait_for_close()
            else:
                self.wire.send({"kind": "idle", **self._standing()})
                self.room -= 1

    def _send(self, batch: Batch) -> None:
        columns: dict[str, Any] = {ADDRESS: pa.array([batch.address(row) for row in range(batch.num_rows)])}
        if batch.places is not None:
            places = batch.places()
            columns |= {f"{PLACE}{name}": places.column(name) for name in places.schema.names}
        told = {"kind": "batch", "partition": batch.partition, **self._standing()}
        self.wire.send(told, [batch.records, pa.record_batch(columns)])

    def _standing(self) -> dict[str, Any]:
        source = self.source
        standing = {"position": source.position(), "events": self.bad.take(), "lag": source.lag()}
        return {**standing, "partitions": source.partitions()}

    def _listen(self) -> None:
        """Take what the other side asks for, and wait while it has enough."""
        while self.wire.poll() or self.room <= 0:
            (kind, value), _ = self.wire.receive()
            if kind == "more":
                self.room += value
            else:
                self.source.commit(value)

    def _wait_for_close(self) -> None:
        while True:
            (kind, value), _ = self.wire.receive()
            if kind == "commit":
                self.source.commit(value)


def serve(wire: Wire) -> None:
    """Read what the first message asks for, until nobody listens."""
    order, _ = wire.receive()
    source: Source = order["source"]
    source.with_keys = order["with_keys"]
    warnings.simplefilter("always")

    def forward(message: Any, category: Any, *rest: Any, **others: Any) -> None:
        wire.send({"kind": "warning", "text": str(message), "category": category.__name__})

    warnings.showwarning = forward
    reader = Reader(wire, source, order["bad"], order["batch_rows"], order["ahead"])
    try:
        reader.run(order["position"])
    except WireClosedError:
        raise
    except Exception as error:
        wire.send({"kind": "error", "error": plain_error(error), "events": reader.bad.take()})
    finally:
        source.close()


def main() -> None:
    """Run until the process that started this one hangs up, as it does when it is killed, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to both; the other one ends this one
    wire = Wire(socket.socket(fileno=int(sys.argv[1])))
    with contextlib.suppress(WireClosedError):
        serve(wire)
    # Without waiting for threads that decode what nobody will take.
    sys.stderr.flush()
    os._exit(0)
