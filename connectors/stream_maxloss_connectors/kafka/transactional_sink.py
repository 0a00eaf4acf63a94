"""Predictions to a Kafka topic, each exactly once for readers of committed records."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.base import Position
from stream_maxloss_connectors.kafka.outage import Outage, TopicWarning
from stream_maxloss_connectors.kafka.rows import encode_rows, key_of, pack_rows, unpack_rows
from stream_maxloss_connectors.kafka.topic_sink import TopicSink
from stream_maxloss_connectors.kafka.transactions import TransactionError, Transactions
from stream_maxloss_connectors.positions import check_entry, is_count, is_text

__all__ = ["TransactionalKafkaSink"]

# Seconds for the first attempt at a transaction, as a part of `flush_timeout`. If a new client fails, too, the next has
# twice as many.
_FIRST_PART = 1 / 6

# Seconds that a request may take: the client wants fewer than `transaction.timeout.ms`, which is a minute.
_SHORTEST_REQUEST, _LONGEST_REQUEST = 1.0, 50.0

# How many times `flush_timeout` an outage is waited out before the run ends with an error.
_PATIENCE = 3.0


class TransactionalKafkaSink(TopicSink):
    """Writes each row as a JSON object, exactly once.

    Rows are kept back until a checkpoint holds them: `flush` returns them in the position, and `commit` sends them,
    after the checkpoint is on the disk, in one Kafka transaction together with their number. A process that is killed
    between the two leaves it open whether the transaction took place; the next one asks the broker for the number of
    the last row that was committed, and sends the rows of the checkpoint if they are not among them. So readers with
    `isolation.level=read_committed`, the default of librdkafka and not of the Java client, see every row once; others
    may also see rows of transactions that were aborted.

    A client whose broker goes away in the middle of a transaction may hold on to a request that nobody will answer, or
    come back with an epoch that the broker takes for an old one. So it is not waited for: another client takes its
    place, asks for the number as the next process would, and sends the rows if they are not there.

    Readers see rows when they are committed, which is once a checkpoint. `KafkaSink` writes at once and at least once.

    The parameters are those of `TopicSink`.

    Notes
    -----
    The broker keeps the number under a consumer group of the same name as the transactional id, `maxloss-...`. It
    forgets it `offsets.retention.minutes` after the last transaction, a week by default: a run that was killed and
    stood still for longer may write the rows of its last checkpoint a second time, and a `TopicWarning` says so.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka import TransactionalKafkaSink
    >>> TransactionalKafkaSink("localhost:9092", "predictions", key="row").exactly_once
    True

    """

    exactly_once = True
    holds_back = True

    def _begin(self) -> None:
        self._transactions: Transactions | None = None
        self._id = ""
        self._committed = 0
        self._skip = 0
        self._pending: list[bytes] = []
        self._begun = False

    def open(self, position: Mapping[str, Any] | None = None) -> None:
        """Connect, end what a killed process left behind, and send the rows of the position if they are not there.

        Raises
        ------
        SourceError
            If no broker answers, the topic is not there, or transactions are not allowed.

        """
        self._let_go()
        self._restore(position)
        self._transactions = self._begin_transactions(self.flush_timeout, _FIRST_PART * self.flush_timeout)
        if position is not None and "id" in position:
            self._catch_up(self._transactions.last_committed())

    def write(self, records: pa.RecordBatch) -> None:
        """Keep rows until they are committed."""
        if self._transactions is None:
            raise self._not_open()
        rows = [value for value, _ in encode_rows(records, self.key)]
        self._written += len(rows)
        passed = min(self._skip, len(rows))
        self._skip -= passed
        self._pending += rows[passed:]

    def flush(self) -> Position:
        """Return a position that holds the rows which are not committed yet."""
        counts = {"written": self._written, "committed": self._committed}
        return {"id": self._id, **counts, **pack_rows(self._pending)}

    def commit(self, position: Mapping[str, Any]) -> None:
        """Send the rows of a position that a checkpoint holds, in one transaction.

        Raises
        ------
        SourceError
            If the brokers did not take it, after an outage has been waited out for three times `flush_timeout`. The
            rows are in the checkpoint, and are sent when the run is resumed.

        """
        self._begun = True
        if int(position["written"]) != self._written:
            raise ValueError(f"position must be the last one of flush, got one of {position['written']} rows")
        self._send()

    def close(self) -> None:
        """Disconnect; rows that were kept back are sent only if nobody else decides about that by `commit`."""
        try:
            if self._transactions is not None and not self._begun:
                self._send()
        finally:
            self._let_go()

    def _restore(self, position: Mapping[str, Any] | None) -> None:
        self._begun = position is not None
        self._written = self._committed = self._skip = 0
        self._pending = []
        self._id = f"maxloss-{self.topic}-{uuid.uuid4().hex}"
        if position is None:
            return
        check_entry(self.topic, position, written=is_count)
        self._written = self._committed = position["written"]
        if "id" in position:
            # Without one it is the position of a `KafkaSink`, which had written all of its rows.
            check_entry(self.topic, position, id=is_text, committed=is_count)
            self._id, self._committed = position["id"], position["committed"]
            self._pending = unpack_rows(position, self.topic)

    def _catch_up(self, last: int | None) -> None:
        """Send what of the position is not in the topic, given how many rows were committed last."""
        if last is None and self._committed and self._pending:
            warnings.warn(
                f"{self.topic}: the broker has forgotten which rows were committed; the last {len(self._pending)} "
                "before the checkpoint may come twice",
                TopicWarning,
                stacklevel=3,
            )
        done = self._committed if last is None else last
        if done >= self._written:
            # The position is that of an older checkpoint if more rows are there than it knows of: they are made again.
            self._skip, self._pending, self._committed = done - self._written, [], done
        else:
            self._send()

    def _send(self) -> None:
        """Send what is kept back, after an outage with another client."""
        if self._transactions is None or not self._pending:
            return
        outage = Outage(self.topic)
        deadline = time.monotonic() + _PATIENCE * self.flush_timeout
        seconds = _FIRST_PART * self.flush_timeout
        outage.begin("")
        while True:
            fresh = self._transactions is None
            try:
                self._attempt(seconds)
                break
            except SourceError as error:
                # Without an outage it is another writer's doing, or nothing that time would mend.
                if (isinstance(error, TransactionError) and not error.passing) or time.monotonic() > deadline:
                    raise
                outage.begin(error.reason if isinstance(error, TransactionError) else self._errors.last)
                outage.tell()
                self._let_go()
                if fresh and isinstance(error, TransactionError):
                    # A broker answers, and slowly; while none does, more time would only delay the next client.
                    seconds = min(2 * seconds, self.flush_timeout)
        self._pending, self._committed = [], self._written
        outage.end()

    def _attempt(self, seconds: float) -> None:
        """Send once; a new client asks first whether the one before it came through."""
        if self._transactions is None:
            self._transactions = self._begin_transactions(seconds, seconds)
            last = self._transactions.last_committed()
            if last == self._written:
                return
            if last not in (None, self._committed):
                reason = f"another writer has brought it to {last} rows, this one to {self._committed}"
                raise TransactionError(self.topic, reason, passing=False)
        rows = ((value, key_of(value, self.key)) for value in self._pending)
        self._transactions.send(rows, self._written, seconds)

    def _begin_transactions(self, seconds: float, request: float) -> Transactions:
        """Return a client that is the only writer; `request` is how many seconds one request to a broker may take.

        Steps of a transaction whose request waits for a coordinator that went away come back only when the request
        does, whatever their own time limit: after a minute by default, also if a broker has answered long since.
        """
        settings = {"transactional.id": self._id}
        if not self._settings.keys() & {"socket.timeout.ms", "transaction.timeout.ms"}:
            limit = min(max(request, _SHORTEST_REQUEST), _LONGEST_REQUEST)
            settings["socket.timeout.ms"] = str(round(1000 * limit))
        producer = self._connect(**settings)
        transactions = Transactions(producer, self._errors, self.topic, self._id, seconds)
        try:
            transactions.begin()
        except SourceError:
            transactions.close()
            raise
        return transactions

    def _let_go(self) -> None:
        if self._transactions is not None:
            self._transactions.close()
            self._transactions = None
