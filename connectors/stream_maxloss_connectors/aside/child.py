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

from stream_maxloss_connectors.aside.recorded import RecordedBad, plain_error
from stream_maxloss_connectors.aside.wire import Wire, WireClosedError
from stream_maxloss_connectors.base import Batch, Source

__all__ = ["ADDRESS", "PLACE", "serve"]

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
