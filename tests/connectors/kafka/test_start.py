from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from stream_maxloss_connectors.kafka.start import parse_start


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", "earliest"),
        ("latest", "latest"),
        ("17", 17),
        (17, 17),
        ("@2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("@2026-05-01T12:00:00Z", datetime(2026, 5, 1, 12, tzinfo=UTC)),
        ("@2026-05-01T12:00:00+02:00", datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))),
        ("@0", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_forms_of_start(text, start):
    assert parse_start(text) == start


@pytest.mark.parametrize("text", ["", "beginning", "-1", -1, True, 1.5, None, "@", "@soon", "@99999999999999999999"])
def test_other_starts_are_refused(text):
    with pytest.raises(ValueError, match="start must be 'earliest', 'latest', an offset or a time"):
        parse_start(text)
