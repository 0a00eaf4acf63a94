"""The simulation against what queueing theory says of cases that it solves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.internet_scale.plan import Plan, needed_workers
from benchmarks.internet_scale.simulation import simulate

PLAN = Plan(
    rate=60_000.0,
    workers=20,
    shards=200,
    row_seconds=2e-4,
    stall_seconds=0.01,
    disk_seconds=0.02,
    checkpoint_every=10.0,
    failures_every=1e9,
)


def test_without_failures_work_is_rows_and_checkpoints():
    seen = simulate(PLAN, 400.0)
    assert seen.failures == 0
    assert seen.share_behind == 0.0
    # 3,000 rows of 0.2 ms and one checkpoint of 10 ms in a second of a worker.
    assert seen.busy == pytest.approx(0.61, abs=0.01)
    assert PLAN.busy == pytest.approx(0.61, abs=1e-6)


def test_checkpoints_wait_for_the_disk_as_in_a_queue_of_fixed_service():
    seen = simulate(PLAN, 2000.0)
    assert seen.disk_busy == pytest.approx(0.4, abs=0.01)
    # M/D/1: u s / 2 (1 - u); the spread of 40,000 waits is far below a tenth of it.
    assert seen.disk_wait == pytest.approx(0.4 * 0.02 / 2 / 0.6, rel=0.1)


def test_failures_make_workers_fall_behind_as_long_as_the_formula_says():
    plan = replace(PLAN, failures_every=1000.0, stall_seconds=1e-4, disk_seconds=1e-4)
    seen = simulate(plan, 5000.0)
    assert seen.failures == pytest.approx(100, abs=30)  # Poisson: three standard deviations
    by_hand = (10 + 15 * 0.6 / 0.4) / (1000 + 10 + 15 * 0.6 / 0.4)
    assert plan.share_behind == pytest.approx(by_hand, rel=0.01)
    assert seen.share_behind == pytest.approx(seen.failures / 100 * by_hand, rel=0.25)


def test_a_disk_that_is_asked_for_more_than_it_can_is_told():
    plan = replace(PLAN, shards=2000)
    assert plan.disk_busy == pytest.approx(4.0)
    assert np.isinf(plan.disk_wait)


def test_as_many_workers_are_planned_as_keep_them_below_the_wanted_share():
    plan = needed_workers(replace(PLAN, rate=1e6), busy=0.7)
    assert plan.busy <= 0.7
    assert replace(plan, workers=plan.workers - 1).busy > 0.7
