"""A discrete-event simulation of the same job: every worker, every checkpoint, every failure, one disk queue each."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass

from benchmarks.internet_scale.plan import Plan

__all__ = ["Outcome", "simulate"]


@dataclass(frozen=True)
class Outcome:
    """What came of it: shares of time, and seconds."""

    busy: float
    disk_busy: float
    disk_wait: float
    share_behind: float
    failures: int
    worst_lag: float
    events: int


class Worker:
    """One core: a backlog of rows that grows and is worked off between events."""

    def __init__(self, plan: Plan) -> None:
        self.rate = plan.rate / plan.workers
        self.speed = 1.0 / plan.row_seconds
        self.at = 0.0
        self.backlog = 0.0
        self.worked = 0.0
        self.blocked_until = 0.0
        self.down_until = 0.0
        self.since_checkpoint = 0.0  # rows that would have to be learned again
        self.behind = 0.0

    def move(self, now: float) -> None:
        """Work on until now: nothing while it is down or writes a checkpoint, then as fast as it can."""
        while self.at < now:
            stop = max(self.blocked_until, self.down_until)
            if self.at < stop:
                step = min(now, stop) - self.at
                self.backlog += self.rate * step
                self.behind += step if self.at < self.down_until else 0.0
            else:
                gain = self.speed - self.rate
                full = now - self.at
                step = min(full, self.backlog / gain) if self.backlog > 0.0 and gain > 0.0 else full
                done = (self.speed if self.backlog > 0.0 else min(self.rate, self.speed)) * step
                self.behind += step if self.backlog > self.rate else 0.0  # more than a second of rows
                self.backlog = max(0.0, self.backlog + self.rate * step - done)
                self.backlog = 0.0 if self.backlog < 1e-6 else self.backlog
                self.worked += done / self.speed
                self.since_checkpoint += done
            self.at += step


def simulate(plan: Plan, seconds: float, seed: int = 1) -> Outcome:
    """Run a job for some time; return what was seen."""
    generator = random.Random(seed)
    workers = [Worker(plan) for _ in range(plan.workers)]
    disks = [0.0] * plan.disks
    events: list[tuple[float, int, int, int]] = []
    each = plan.shards / plan.workers
    for number in range(plan.workers):
        for shard in range(max(1, round(each))):
            heapq.heappush(events, (generator.uniform(0, plan.checkpoint_every), 0, number, shard))
        heapq.heappush(events, (generator.expovariate(1.0 / plan.failures_every), 1, number, 0))
    waits = disk_used = stalled = worst = 0.0
    saved = failures = count = 0
    while events and events[0][0] < seconds:
        now, kind, number, shard = heapq.heappop(events)
        worker = workers[number]
        worker.move(now)
        worst, count = max(worst, worker.backlog / worker.rate), count + 1
        if kind == 1:
            failures += 1
            worker.down_until = now + plan.restart_seconds
            worker.backlog += worker.since_checkpoint
            worker.since_checkpoint = 0.0
            heapq.heappush(events, (now + generator.expovariate(1.0 / plan.failures_every), 1, number, 0))
            continue
        place = (number * 7919 + shard) % plan.disks
        start = max(now, disks[place])
        disks[place] = start + plan.disk_seconds
        waits, saved, disk_used = waits + start - now, saved + 1, disk_used + plan.disk_seconds
        if now >= worker.down_until:
            worker.blocked_until = max(worker.blocked_until, now) + (start - now) + plan.stall_seconds
            stalled += plan.stall_seconds
            worker.since_checkpoint *= 1.0 - 1.0 / max(1, round(each))
        jitter = generator.uniform(0.9, 1.1)  # schedules drift apart, as those of real workers do
        heapq.heappush(events, (now + plan.checkpoint_every * jitter, 0, number, shard))
    for worker in workers:
        worker.move(seconds)
    total = seconds * plan.workers
    return Outcome(
        busy=(sum(worker.worked for worker in workers) + stalled) / total,
        disk_busy=disk_used / seconds / plan.disks,
        disk_wait=waits / max(saved, 1),
        share_behind=sum(worker.behind for worker in workers) / total,
        failures=failures,
        worst_lag=worst,
        events=count,
    )
