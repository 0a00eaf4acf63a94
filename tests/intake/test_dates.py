from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.intake.dates import Clock, cycles_of, find_format, microseconds, parse_dates

MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))


@settings(deadline=None)
@given(MOMENTS)
def test_cycles_are_those_of_the_calendar(moment):
    times, there = microseconds(pa.array([moment], pa.timestamp("us")))
    found = cycles_of(times, ("hour", "weekday", "day"))
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second + moment.microsecond / 1e6
    parts = {"hour": seconds / 86400, "weekday": moment.weekday() / 7, "day": (moment.timetuple().tm_yday - 1) / 365.25}
    assert there.all()
    for name, part in parts.items():
        assert found[f"{name}_sin"][0] == pytest.approx(math.sin(2 * math.pi * part), abs=1e-9)
        assert found[f"{name}_cos"][0] == pytest.approx(math.cos(2 * math.pi * part), abs=1e-9)


def since_the_last_other_time(times):
    """Plain Python: the time before the run of equal times that a row is in."""
    gaps = []
    for place, time in enumerate(times):
        others = [earlier for earlier in times[:place] if earlier != time]
        run = place
        while run and times[run - 1] == time:
            run -= 1
        gaps.append((time - times[run - 1]) / 1e6 if run and others else math.nan)
    return gaps


@settings(deadline=None)
@given(st.lists(st.integers(-3, 3), max_size=12), st.integers(0, 12))
def test_gaps_are_the_same_wherever_batches_are_cut(times, cut):
    clock = Clock()
    parts = [clock.gaps(np.array(part, dtype=np.int64), True) for part in (times[:cut], times[cut:])]
    np.testing.assert_allclose(np.concatenate(parts), since_the_last_other_time(times))


def test_a_row_has_the_same_gap_before_and_after_it_is_learned():
    clock = Clock()
    clock.gaps(np.array([0, 5_000_000]), learn=True)
    before = clock.gaps(np.array([9_000_000]), learn=False)
    clock.gaps(np.array([9_000_000]), learn=True)
    assert before.tolist() == clock.gaps(np.array([9_000_000]), learn=False).tolist() == [4.0]


def test_times_with_a_zone_count_as_its_clocks_show_them():
    moment = datetime(2026, 7, 1, 22, tzinfo=UTC)
    times, _ = microseconds(pa.array([moment], pa.timestamp("us", "Europe/Berlin")))
    assert times[0] == (datetime(2026, 7, 2, 0) - datetime(1970, 1, 1)) / timedelta(microseconds=1)


FORMS = {
    "day": (["2026-11-17", "2026-01-02"], (True, None)),
    "instant": (["2026-11-17 08:15:00", None], (True, None)),
    "zone": (["2026-11-17T08:15:00Z", "2026-11-17T08:15:00+02:00"], (True, None)),
    "dots": (["17.11.2026 08:15", "01.02.2026 09:00"], (True, "%d.%m.%Y %H:%M")),
    "day first": (["17/11/2026", "01/02/2026"], (True, "%d/%m/%Y")),
    "month first": (["11/17/2026", "01/02/2026"], (True, "%m/%d/%Y")),
    "either": (["01/02/2026", "03/04/2026"], (False, None)),
    "numbers": (["20261117", "20261118"], (False, None)),
    "words": (["tomorrow", "yesterday"], (False, None)),
    "nothing": ([None], (False, None)),
}


@pytest.mark.parametrize("case", FORMS)
def test_the_form_of_dates_is_found_from_texts(case):
    texts, expected = FORMS[case]
    assert find_format(pa.array(texts, pa.string())) == expected


def test_a_text_that_is_no_date_is_null_and_others_are_read():
    found = parse_dates(pa.array(["2026-11-17", "soon", None]), None)
    assert [value and value.day for value in found.to_pylist()] == [17, None, None]
