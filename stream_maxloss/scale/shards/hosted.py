"""A shard in the process that hosts it."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from stream_maxloss.checkpoint.lock import HeldError
from stream_maxloss.errors import GapError, SourceError
from stream_maxloss.run.progress import short_position
from stream_maxloss.run.requests import Requests
from stream_maxloss.scale.shards.job import Job, Shard
from stream_maxloss.scale.shards.standing import Standing

if TYPE_CHECKING:
    import pyarrow as pa

    from stream_maxloss.run.tail import Tail
    from stream_maxloss.scale.shards.keys import KeySample

__all__ = ["HostedShard"]

LOCK_SECONDS = 60.0
"""How long to wait for the lock of a shard whose last host is about to end."""

PATIENCE = 300.0
"""How long a shard whose source fails is started again without a row of progress."""

PUBLISH_SECONDS = 0.5


class HostedShard:
    """Runs a shard in a thread of its own, from its last checkpoint on, until its end or until it is stopped.

    A host that was replaced cannot write: the directory of the shard is locked by who hosts it, and a transactional
    producer of predictions is fenced off by its successor of the same name, which the checkpoint holds. A source that
    fails, as while a broker is down, is tried again from the checkpoint.

    Parameters
    ----------
    job
        What it is a shard of.
    shard
        Which.
    head
        The first rows of the job's source.

    """

    def __init__(self, job: Job, shard: Shard, head: pa.RecordBatch | None) -> None:
        self.job = job
        self.shard = shard
        self.head = head
        self.requests = Requests()
        self._standing = Standing(shard.name)
        self._published = 0.0
        self._thread = threading.Thread(target=self._run, name=shard.name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def standing(self) -> Standing:
        """How it stands, as of a moment ago."""
        return self._standing

    def stop(self, seconds: float) -> bool:
        """Ask it to write a checkpoint and end; return whether it did in time."""
        self.requests.stopped = True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        failing_since, rows, pause = time.monotonic(), -1, 0.5
        while True:
            try:
                self._run_once()
                return
            except GapError as error:
                self._fail(error)
                return
            except SourceError as error:
                now = time.monotonic()
                if self._standing.rows > rows:
                    failing_since, rows, pause = now, self._standing.rows, 0.5
                if self.requests.stopped or now - failing_since > PATIENCE:
                    self._fail(error)
                    return
                trouble = " ".join(str(error).split())
                self._standing = replace(self._standing, retries=self._standing.retries + 1, trouble=trouble)
                time.sleep(pause)
                pause = min(2 * pause, 10.0)
            except BaseException as error:
                self._fail(error)
                return

    def _run_once(self) -> None:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            tail, keys = self.job.make_tail(self.shard, self.head)
            try:
                tail.__enter__()
                break
            except HeldError:
                # Its last host has not ended yet, or is cut off from us: as long as it may write, we must not.
                if time.monotonic() > deadline or self.requests.stopped:
                    raise
                time.sleep(0.2)
        try:
            tail.requests = self.requests
            tail.on_step = lambda: self._publish(tail, keys)
            for _ in tail:
                pass
            self._publish(tail, keys, at_end=True)
        finally:
            tail.close()

    def _publish(self, tail: Tail, keys: KeySample, at_end: bool = False) -> None:
        now = time.monotonic()
        if not at_end and now - self._published < PUBLISH_SECONDS:
            return
        session = tail.session
        self._standing = Standing(
            self.shard.name,
            rows=session.rows,
            learned=session.learned,
            bad=session.bad_records.count,
            run_rows=tail.meter.run_rows,
            lag=session.source.lag(),
            lag_unit=session.source.lag_unit,
            positions=short_position(session.source.position()),
            checkpoint=None if tail.store is None else tail.store.seq,
            finished=at_end and session.finished,
            board=session.board.totals(),
            keys=keys.state_dict() if self.job.per is not None else None,
            retries=self._standing.retries,
            trouble=self._standing.trouble,
        )
        self._published = time.monotonic()

    def _fail(self, error: BaseException) -> None:
        line = " ".join(str(error).split()) or type(error).__name__
        self._standing = replace(self._standing, error=line, error_kind=type(error).__name__)
