"""The one writer: takes requests to learn, logs them by groups, applies them in the log's order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from stream_maxloss.errors import DecodeError, RowError
from stream_maxloss.serve.bodies import Body
from stream_maxloss.serve.extremes import find_extremes
from stream_maxloss.serve.keys import KeyReuseError, Keys, digest
from stream_maxloss.serve.limits import Limits
from stream_maxloss.serve.log import Kind, Record
from stream_maxloss.serve.log_source import PARTITION, Entry, LogSource, part_of, split_rows
from stream_maxloss.serve.unavailable import BusyError, StoppedError

if TYPE_CHECKING:
    from stream_maxloss.checkpoint import Content
    from stream_maxloss.evaluate import RowBatch
    from stream_maxloss.run import Tail
    from stream_maxloss.serve.refusals import Refusals
    from stream_maxloss_connectors import Batch, Source

__all__ = ["Learner"]

logger = logging.getLogger("stream_maxloss.serve")

SHOWN_REFUSALS, MOST_ROWS = 1000, 16384
IDLE_SECONDS = 0.05


class Learner:
    """Learns rows exactly once.

    Everything that touches the model runs in the thread of the event loop, so nothing is locked: learning gives way to
    readers after each slice of a few milliseconds. What waits for the disk runs in one other thread.

    Parameters
    ----------
    tail
        An opened run over the log (and perhaps a source beside it).
    log
        Its log.
    source
        What is followed beside it, or None.
    refusals
        The run's policy for bad records.
    keys
        What was answered before.
    limits
        Bounds.
    on_report
        Called when a report is due.

    """

    def __init__(
        self,
        tail: Tail,
        log: LogSource,
        source: Source | None,
        refusals: Refusals,
        keys: Keys,
        limits: Limits,
        on_report: Callable[[], None] = lambda: None,
    ) -> None:
        self.tail = tail
        self.log = log
        self.source = source
        self.refusals = refusals
        self.keys = keys
        self.limits = limits
        self.on_report = on_report
        self.on_slice: Callable[[int, float], None] = lambda rows, seconds: None
        self.on_stop_wanted: Callable[[], None] = lambda: None
        self.failure: BaseException | None = None
        self.synced = 0
        self.saved_at = time.time()
        self.queued_rows = 0
        self.queued_bytes = 0
        self._end = log.journal.end
        self._pending: list[Entry] = []
        self._in_flight: dict[str, tuple[str, asyncio.Future[dict[str, Any]]]] = {}
        self._wake = asyncio.Event()
        self._stopping = False
        self.recovered = asyncio.Event()
        self._slice_rows = 64
        self._saving: asyncio.Future[None] | None = None
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="maxloss-log")
        self._checkpoints = ThreadPoolExecutor(1, thread_name_prefix="maxloss-checkpoint")

    @property
    def ready(self) -> bool:
        """Whether all that the log held at the start was learned, and nothing has failed."""
        return self.failure is None and not self._stopping and self.recovered.is_set()

    # Requests

    async def learn(self, body: Body, key: str = "") -> dict[str, Any]:
        """Learn rows; return when they are on the disk and in the model.

        Returns
        -------
        dict
            `sequence` of the first row, `rows`, how many were `learned`, and the `refused` ones with their reasons.

        Raises
        ------
        UsageError
            If the rows as a whole cannot be learned.
        BusyError, StoppedError
            If there is no room now, or no more.

        """
        return await self._submit(body.kind, body.data, body.rows, body, key)

    async def label(self, labels: list[dict[str, Any]], key: str = "") -> dict[str, Any]:
        """Learn rows that were predicted before, now that their labels have come; returns as `learn` does."""
        return await self._submit(Kind.LABELS, orjson.dumps(labels), len(labels), None, key)

    def keep(self, rows: list[dict[str, Any]], said: list[dict[str, Any]]) -> None:
        """Let rows wait for their labels, to be scored by what was said of each; nobody waits until that is logged."""
        data = orjson.dumps({"rows": rows, "said": said})
        self._require_room(len(rows), len(data))
        self._enqueue(Kind.WAITING, data, len(rows), None, "")

    async def _submit(self, kind: Kind, data: bytes, rows: int, body: Body | None, key: str) -> dict[str, Any]:
        if not rows:
            return {"sequence": self._end, "rows": 0, "learned": 0, "refused": []}
        if not self.recovered.is_set():
            # Before the keys are asked: those of rows that are in the log and not in a checkpoint come by replaying.
            raise StoppedError("the log is being replayed; try again in a moment")
        if key:
            known = self.keys.find(key, digest(data))
            if known is not None:
                return known | {"repeated": True}
            if key in self._in_flight:
                return await self._wait_for_twin(key, digest(data))
        self._require_room(rows, len(data))
        if body is not None:
            self._agree_on_form(body)
        entry = self._enqueue(kind, data, rows, body, key)
        entry.done = asyncio.get_running_loop().create_future()
        if key:
            self._in_flight[key] = (digest(data), entry.done)
            entry.done.add_done_callback(lambda _: self._in_flight.pop(key, None))
        # A client that goes away does not take its row back: it is as good as learned.
        return await asyncio.shield(entry.done)

    async def _wait_for_twin(self, key: str, body: str) -> dict[str, Any]:
        known, future = self._in_flight[key]
        if known != body:
            raise KeyReuseError(f"Idempotency-Key must come with the body it came with first, got another for {key!r}")
        return (await asyncio.shield(future)) | {"repeated": True}

    def _require_room(self, rows: int, size: int) -> None:
        if self._stopping or self.failure is not None:
            raise StoppedError("the service is stopping; try another one, or later")
        if self.queued_rows + rows > self.limits.queue_rows or self.queued_bytes + size > self.limits.queue_bytes:
            raise BusyError(f"{self.queued_rows:,} rows wait to be learned; try again later")

    def _agree_on_form(self, body: Body) -> None:
        """Check what can be checked before it is logged; what the first rows look like is logged before them."""
        form = self.log.form
        if form.schema is None:
            schema = form.infer(body)
            self._enqueue(Kind.SCHEMA, schema.serialize().to_pybytes(), 1, None, "")
            form.fix(schema)
        if body.records is not None:
            form.conform(body.records)

    def _enqueue(self, kind: Kind, data: bytes, rows: int, body: Body | None, key: str) -> Entry:
        entry = Entry(Record(self._end, rows, kind, data, time.time(), key), body)
        self._end += rows
        self._pending.append(entry)
        self.queued_rows += rows
        self.queued_bytes += len(data)
        self._wake.set()
        return entry

    # The loop

    async def run(self) -> None:
        """Learn until `stop`, then write a last checkpoint."""
        try:
            while not (self._stopping and not self._pending and not self.log.replaying):
                await self._turn()
            await self._finish_saving()
            await self._save()
            await self._finish_saving()
        except BaseException as error:
            self._fail(error)
            raise
        finally:
            self._disk.shutdown()
            self._checkpoints.shutdown()

    def stop(self) -> None:
        """Take nothing more, and learn what was taken."""
        self._stopping = True
        self._wake.set()

    async def _turn(self) -> None:
        self._wake.clear()
        if self.tail.requests.stopped:
            self.on_stop_wanted()
        if self._pending:
            await self._write_group()
        worked = await self._drain_log()
        self.recovered.set()
        if self.source is not None and not self._stopping:
            worked = await self._follow() or worked
        self._report_if_due()
        if self._checkpoint_due():
            await self._save()
        if not worked and not self._pending:
            await self._rest()

    async def _rest(self) -> None:
        waits = IDLE_SECONDS if self.source is not None else 0.25
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), waits)

    async def _write_group(self) -> None:
        """Force all that waits to the disk, with one sync for everybody."""
        group, self._pending = self._pending, []
        records = [entry.record for entry in group]
        try:
            await asyncio.get_running_loop().run_in_executor(self._disk, self.log.journal.append, records)
        except OSError as error:
            self._refuse_group(group, error)
            return
        self.synced += 1
        self.log.offer(group)

    def _refuse_group(self, group: list[Entry], error: OSError) -> None:
        """Notify all who wait that nothing was learned; numbers that were handed out are handed out again."""
        logger.error("the log cannot be written: %s", error.strerror or error)
        for entry in [*group, *self._pending]:
            self._release(entry)
            if entry.done is not None and not entry.done.done():
                entry.done.set_exception(StoppedError("the log cannot be written; nothing was learned"))
            if entry.record.kind == Kind.SCHEMA:
                self.log.form.schema = None
        self._pending = []
        self._end = self.log.journal.end

    async def _drain_log(self) -> bool:
        worked = False
        while (batch := self.log.next_batch(self._slice_rows, 0.0)) is not None:
            self._learn_slice(batch)
            worked = True
            await asyncio.sleep(0)
        self._settle()
        return worked

    async def _follow(self) -> bool:
        """Learn some rows of the source; reading them, which may wait, is left to another thread."""
        if self.source is None or self.source.exhausted:
            return False
        room = min(MOST_ROWS, 8 * self._slice_rows)  # so that rows of the log do not wait for long
        read = asyncio.get_running_loop().run_in_executor(self._disk, self.source.next_batch, room, 0.0)
        batch = await read
        if batch is None:
            return False
        if self.log.form.schema is None:
            # The log's rows look like those of the source, unless they came first.
            self._enqueue(Kind.SCHEMA, batch.records.schema.serialize().to_pybytes(), 1, None, "")
            self.log.form.fix(batch.records.schema)
        first = 0
        while first < batch.num_rows:
            rows = self._slice_rows  # which changes while they are learned
            self._learn_slice(part_of(batch, first, rows))
            first += rows
            await asyncio.sleep(0)
        return True

    def _learn_slice(self, batch: Batch) -> None:
        began = time.perf_counter()
        session = self.tail.session
        rows = split_rows(session.feed, batch, self.refusals.handle)
        if rows is not None and batch.partition == PARTITION:
            rows = self._refuse_unusable(self.log.with_said(rows))
        if rows is not None and len(rows):
            if session.loop.engine.is_native:
                session.take(rows)
            else:
                self._learn_one_by_one(rows)
        self._settle()
        seconds = time.perf_counter() - began
        self.on_slice(batch.num_rows, seconds)
        wanted = self._slice_rows * min(2.0, self.limits.slice_seconds / max(seconds, 1e-9))
        if batch.num_rows >= self._slice_rows or seconds > self.limits.slice_seconds:
            self._slice_rows = int(np.clip(wanted, 1, MOST_ROWS))

    def _refuse_unusable(self, rows: RowBatch) -> RowBatch:
        """Refuse rows with numbers beyond all bounds, and without a label, which a client has forgotten."""
        extremes = find_extremes(rows.X) if len(rows) else {}
        for row, why in extremes.items():
            self.refusals.handle(DecodeError(rows.address(row), why))
        rows = rows.without(list(extremes)) if extremes else rows
        if rows.unlabelled is None or not rows.unlabelled.any():
            return rows
        missing = np.flatnonzero(rows.unlabelled).tolist()
        reason = f"target {self.tail.columns.target!r} must be present, got null"
        for row in missing:
            self.refusals.handle(DecodeError(rows.address(row), reason))
        return rows.without(missing)

    def _learn_one_by_one(self, rows: RowBatch) -> None:
        """Learn with a model that is not ours: a row that it fails on is refused, and the service lives on."""
        session = self.tail.session
        for row in range(len(rows)):
            part = rows.part(row, row + 1)
            try:
                session.take(part)
            except RowError:
                raise
            except Exception as error:
                logger.exception("the model failed on %s", rows.address(row))
                reason = f"the model failed on it: {type(error.__cause__ or error).__name__}"
                self.refusals.handle(DecodeError(rows.address(row), reason))

    def _settle(self) -> None:
        """Notify those whose rows are learned."""
        for entry in self.log.finished():
            record = entry.record
            self._release(entry)
            refused = self.refusals.take(record.first, record.end)
            told = [{"row": row, "reason": reason} for row, reason in list(refused.items())[:SHOWN_REFUSALS]]
            answer: dict[str, Any] = {"sequence": record.first, "rows": record.rows}
            answer |= {"learned": record.rows - len(refused), "refused": told}
            if record.key:
                self.keys.remember(record.key, digest(record.payload), answer)
            if entry.done is not None and not entry.done.done():
                entry.done.set_result(answer)

    def _release(self, entry: Entry) -> None:
        if entry.done is not None or entry.record.kind in (Kind.SCHEMA, Kind.WAITING):
            self.queued_rows = max(0, self.queued_rows - entry.record.rows)
            self.queued_bytes = max(0, self.queued_bytes - len(entry.record.payload))

    # Reports and checkpoints

    def _report_if_due(self) -> None:
        tail = self.tail
        if tail.report_every.due(tail.session.rows, 0):
            self.on_report()
            tail.report_every.done()

    def _checkpoint_due(self) -> bool:
        if self._saving is not None and not self._saving.done():
            return False
        return self.tail._checkpoint_due() or self.tail.requests.take_checkpoint_wanted()

    async def _save(self) -> None:
        """Copy what a checkpoint holds, and let another thread write it."""
        await self._finish_saving()
        store = self.tail.store
        if store is None:
            return
        content = store.collect(self.tail.session, self.tail.names)
        content.arrays = {name: np.array(array) for name, array in content.arrays.items()}
        self.tail.checkpoint_every.done()
        run = asyncio.get_running_loop().run_in_executor(self._checkpoints, store.write, content)
        self._saving = asyncio.ensure_future(self._tell(run, content))

    async def _tell(self, writing: asyncio.Future[None], content: Content) -> None:
        await writing
        store = self.tail.store
        if store is None:
            return
        store.tell(self.tail.session, content)
        self.saved_at = time.time()
        # The log must reach back to the oldest checkpoint, which a damaged one falls back to.
        oldest = min((int(found[PARTITION]["next"]) for found in store.sources() if PARTITION in found), default=0)
        await asyncio.get_running_loop().run_in_executor(self._disk, self._prune, oldest)

    def _prune(self, oldest: int) -> None:
        self.log.journal.rotate_past(1 << 20)
        self.log.journal.prune(oldest)

    async def _finish_saving(self) -> None:
        if self._saving is not None:
            saving, self._saving = self._saving, None
            await saving

    def _fail(self, error: BaseException) -> None:
        self.failure = error
        for entry in [*self._pending, *self.log.unfinished()]:
            if entry.done is not None and not entry.done.done():
                entry.done.set_exception(StoppedError("the service failed; see its log"))
