from __future__ import annotations

import pytest

from stream_maxloss.errors import UsageError
from stream_maxloss.run import Schedule


@pytest.mark.parametrize("text", ["", "0", "-5", "often", "0s", "1x", "0.5x", "s"])
def test_what_never_or_always_happens_is_refused(text):
    with pytest.raises(UsageError, match="report_every must be a number of rows"):
        Schedule(text, "report_every")


def test_rows_are_counted_from_the_beginning_of_the_run_not_of_the_process():
    schedule = Schedule("100", "every")
    assert [schedule.next_row(rows) for rows in (0, 99, 100, 250)] == [100, 100, 200, 300]
    assert schedule.due(300, since=250)
    assert not schedule.due(299, since=250)


def test_seconds_are_counted_from_the_last_time():
    now = [0.0]
    schedule = Schedule("5s", "every", clock=lambda: now[0])
    assert schedule.next_row(0) is None
    now[0] = 5.0
    assert schedule.due(1, since=0)
    schedule.done()
    assert not schedule.due(2, since=0)


def test_a_growth_below_two_still_moves_on():
    schedule = Schedule("1.1x", "every")
    rows, seen = 0, []
    for _ in range(5):
        rows = schedule.next_row(rows)
        seen.append(rows)
    assert seen == [1, 2, 3, 4, 5]
