"""A job on Ray, as one run."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from stream_maxloss import errors
from stream_maxloss.errors import CheckpointError, ModelError, StreamMaxlossError, UsageError
from stream_maxloss.evaluate import Progress
from stream_maxloss.run.requests import Requests
from stream_maxloss.run.schedule import Schedule
from stream_maxloss.scale.ray.cluster import LOCAL, connect, disconnect
from stream_maxloss.scale.ray.crew import Crew
from stream_maxloss.scale.shards.directory import JobDirectory
from stream_maxloss.scale.shards.job import Job
from stream_maxloss.scale.shards.standing import Merged, Standing, merge_standings

__all__ = ["RayRun"]

logger = logging.getLogger("stream_maxloss.run")

LOOK_SECONDS = 0.5


class RayRun:
    """A job whose shards are hosted by workers on a Ray cluster.

    A context manager; iterating runs to the end of the source or a request to stop, and yields how all shards stand
    together at each report. Every row counts once, whatever dies: a worker that is killed is started again and goes on
    from the checkpoints of its shards; when the driver is killed its workers end with it, and the next driver on the
    same directory goes on; a broker that is away is waited for.

    Parameters
    ----------
    job
        What to run.
    workers
        How many processes host its shards; at most as many as there are shards. It does not change a bit of any model.
    address
        `local`, `host:port` or `ray://host:port`.
    report_every
        `5s` for seconds, `10000` for rows, `2x` for 1, 2, 4, ... rows; None reports only at the end.
    fresh
        Whether to set what is in the directory aside and start over.
    requests
        What is asked of the run from outside.
    say
        Called with a line about each thing that happens to the workers.
    runtime_env
        What workers need beside what their machines have, as `ray.init` takes it.

    Raises
    ------
    SourceError
        If no cluster answers, or its machines differ.
    CheckpointError
        If the directory is of something else, or has another driver.

    """

    def __init__(
        self,
        job: Job,
        workers: int = 2,
        address: str = LOCAL,
        *,
        report_every: str | Schedule | None = "2x",
        fresh: bool = False,
        requests: Requests | None = None,
        say: Callable[[str], None] = logger.info,
        runtime_env: Mapping[str, Any] | None = None,
    ) -> None:
        if workers < 1:
            raise UsageError(f"--workers must be at least 1, got {workers!r}")
        job.check()
        self.job = job
        self.workers = workers
        self.address = address
        self.fresh = fresh
        self.requests = Requests() if requests is None else requests
        self.say = say
        self.on_step: Callable[[], None] = lambda: None
        self.runtime_env = runtime_env
        never = str(1 << 62)
        self.report_every = (
            report_every if isinstance(report_every, Schedule) else Schedule(report_every or never, "report_every")
        )
        self.directory = JobDirectory(job.directory)
        self._reported = (0, 0.0)
        self._totals: dict[str, Any] | None = None
        self._told: set[str] = set()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            stack.callback(self.directory.close)
            self.directory.open(self.job, self.fresh)
            ray = connect(self.address, self.runtime_env)
            stack.callback(disconnect, ray)
            cpus = 0.0 if self.address == LOCAL else 1.0
            self.crew = Crew(ray, self.job, self.directory.shards, cpus, self.say)
            self._began = time.monotonic()
            self._first_rows: dict[str, int] = {}
            self.crew.resize(self._fitting(self.workers))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def rescale(self, workers: int) -> None:
        """Have so many workers from now on; shards move with their state."""
        self.workers = workers
        self.crew.resize(self._fitting(workers))

    def _fitting(self, workers: int) -> int:
        shards = len(self.directory.shards)
        if workers > shards:
            self.say(f"{shards} shards need no more than {shards} workers, got {workers}; the others are not started")
        return min(workers, shards)

    def __iter__(self) -> Iterator[Progress]:
        while not self.requests.stopped:
            self.crew.look(LOOK_SECONDS)
            self._raise_failures()
            self._obey()
            rows = self.rows
            if rows > self._reported[0] and self.report_every.due(rows, self._reported[0]):
                yield self.measure()
                self.report_every.done()
                self._reported = (rows, time.monotonic() - self._began)
                self._totals = self._merged.total
            self.on_step()
            if self.finished:
                break
            time.sleep(0.05)
        self.crew.stop()
        self._raise_failures()

    def run(self) -> Progress:
        """Run to the end or a request to stop; return how it stands then."""
        for _ in self:
            pass
        return self.measure()

    @property
    def finished(self) -> bool:
        """Whether all shards have come to their end."""
        found = self.crew.standings
        return len(found) == len(self.directory.shards) and all(one.finished for one in found.values())

    @property
    def rows(self) -> int:
        """Rows of all shards."""
        return sum(standing.rows for standing in self.crew.standings.values())

    @property
    def standings(self) -> list[Standing]:
        """How each shard stands."""
        found = self.crew.standings
        return [found.get(shard.name, Standing(shard.name)) for shard in self.directory.shards]

    def merge(self) -> Merged:
        """Return scores and slices of all shards together."""
        standings = self.standings
        for standing in standings:
            if standing.board is not None:
                self._first_rows.setdefault(standing.name, standing.rows - standing.run_rows)
        seconds, rows = time.monotonic() - self._began, self.rows
        before, then = self._reported
        recent = (rows - max(before, sum(self._first_rows.values()))) / max(seconds - then, 1e-9)
        run_rows = rows - sum(self._first_rows.values())
        merged = merge_standings(self.job, standings, seconds, run_rows, max(recent, 0.0), self._totals)
        self._tell_shared(merged)
        self._merged = merged
        return merged

    def measure(self) -> Progress:
        """Return how all shards stand together."""
        return self.merge().progress

    def _tell_shared(self, merged: Merged) -> None:
        """Warn once that a key's rows are in two shards, each with a model that knows only half of them."""
        new = [key for key in merged.shared if key not in self._told]
        if new and not self._told:
            self.say(
                f"warning: {self.job.per} {new[0]!r} is in {' and '.join(merged.shared[new[0]][:3])}"
                f"{f', and {len(new) - 1} others are in several' if len(new) > 1 else ''}; a model per {self.job.per} "
                f"is exact only where the topic is partitioned by {self.job.per}"
            )
        self._told.update(new)

    def _obey(self) -> None:
        """Look whether somebody wants another number of workers."""
        try:
            wanted = self.directory.wanted_workers()
        except ValueError as error:
            self.say(f"warning: {error}")
            return
        if wanted is not None and wanted != self.workers:
            self.rescale(wanted)

    def _raise_failures(self) -> None:
        for standing in self.crew.standings.values():
            if standing.error is not None:
                self.crew.stop()
                raise failure_of(standing)


def failure_of(standing: Standing) -> StreamMaxlossError:
    """Return what has ended a shard, as an error of the same class, whose exit code is the same."""
    line = f"{standing.name}: {standing.error}"
    kind: Any = getattr(errors, standing.error_kind or "", None)
    if kind is errors.DecodeError:
        return errors.DecodeError(standing.name, str(standing.error))
    plain = isinstance(kind, type) and issubclass(kind, StreamMaxlossError)
    if plain and kind not in (errors.RowError, errors.MissingExtraError):
        found: StreamMaxlossError = kind(line)
        return found
    return CheckpointError(line) if standing.error_kind == "HeldError" else ModelError(line)
