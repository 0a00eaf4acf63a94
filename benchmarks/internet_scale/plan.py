"""The model of cost: formulas of queues and of time, from what a row and a checkpoint cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

__all__ = ["Plan", "needed_workers"]

BUSY = 0.7
"""Share of a worker's time that may be spoken for: the rest catches up after failures."""


@dataclass(frozen=True)
class Plan:
    """A job: rows a second, workers of one core each, shards, checkpoints and failures.

    Parameters
    ----------
    rate
        Rows a second, of all.
    workers, shards
        How many.
    row_seconds
        Processor time of a row: decoding and learning.
    stall_seconds
        How long a shard stands still for a checkpoint.
    disk_seconds
        How long a checkpoint keeps the shared disk busy.
    disks
        How many of such disks (or servers of one file system) share the shards.
    checkpoint_every
        Seconds between two checkpoints of a shard.
    failures_every
        Seconds between two failures of one worker, on average.
    restart_seconds
        Until a worker that died works again.

    """

    rate: float
    workers: int
    shards: int
    row_seconds: float
    stall_seconds: float
    disk_seconds: float
    disks: int = 1
    checkpoint_every: float = 10.0
    failures_every: float = 30 * 86_400.0
    restart_seconds: float = 10.0

    @property
    def busy(self) -> float:
        """Share of a worker's time that is spoken for: rows, checkpoints, and rows learned again after failures."""
        own, checkpoints = self.rate / self.workers, self.shards / self.workers / self.checkpoint_every
        again = 1.0 + self.checkpoint_every / 2.0 / self.failures_every
        return own * self.row_seconds * again + checkpoints * self.stall_seconds

    @property
    def disk_busy(self) -> float:
        """Share of the shared disk's time."""
        return self.shards / self.checkpoint_every * self.disk_seconds / self.disks

    @property
    def disk_wait(self) -> float:
        """Seconds that a checkpoint waits for the disk: M/D/1, u s / (2 (1 - u))."""
        u = self.disk_busy
        return math.inf if u >= 1.0 else u * self.disk_seconds / (2.0 * (1.0 - u))

    @property
    def lag_after_failure(self) -> float:
        """Seconds of rows that a worker is behind when it has come back: the restart, and half an interval again."""
        return self.restart_seconds + self.checkpoint_every / 2.0

    @property
    def catch_up(self) -> float:
        """Seconds until it has caught up."""
        return math.inf if self.busy >= 1.0 else self.lag_after_failure * self.busy / (1.0 - self.busy)

    @property
    def share_behind(self) -> float:
        """Share of workers that are down or catching up at any time."""
        down = self.restart_seconds + self.catch_up
        return down / (self.failures_every + down)


def needed_workers(plan: Plan, busy: float = BUSY) -> Plan:
    """Return the plan with as many workers as keep each of them no busier than wanted."""
    again = 1.0 + plan.checkpoint_every / 2.0 / plan.failures_every
    load = plan.rate * plan.row_seconds * again + plan.shards / plan.checkpoint_every * plan.stall_seconds
    return replace(plan, workers=max(1, math.ceil(load / busy)))
