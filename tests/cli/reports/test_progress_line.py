"""The line that says how far a command is."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from stream_maxloss.cli.reports.progress_line import ProgressLine, time_left


class Screen(io.StringIO):
    def isatty(self):
        return True


def make(monkeypatch, stream, lag=1000, waits=False, **options):
    monkeypatch.setenv("TERM", "xterm")
    clock = SimpleNamespace(now=0.0)
    source = SimpleNamespace(lag=lambda: source.left, left=lag, waits=waits)
    line = ProgressLine(source, stream=stream, clock=lambda: clock.now, **options)
    line.begin()
    return line, clock, source


def test_rows_rate_and_time_left_are_shown_and_taken_away(monkeypatch):
    stream = Screen()
    line, clock, source = make(monkeypatch, stream)
    clock.now, source.left = 10.0, 750
    line.show(5000)
    assert stream.getvalue() == "\r25%  5,000 rows  500 rows/s  10 s  30 s left"
    line.show(5001)  # too soon to draw again
    assert "5,001" not in stream.getvalue()
    line.close()
    assert stream.getvalue().endswith("\r" + " " * 44 + "\r")


def test_what_is_followed_has_no_time_left(monkeypatch):
    stream = Screen()
    line, clock, _ = make(monkeypatch, stream, waits=True)
    clock.now = 2.0
    line.show(10)
    assert stream.getvalue() == "\r10 rows  5 rows/s  2 s"


@pytest.mark.parametrize("case", ["no terminal", "quiet", "dumb", "soon done"])
def test_nothing_is_shown_where_it_would_be_in_the_way(monkeypatch, case):
    stream = io.StringIO() if case == "no terminal" else Screen()
    line, clock, _ = make(monkeypatch, stream, quiet=case == "quiet")
    if case == "dumb":
        monkeypatch.setenv("TERM", "dumb")
        line = ProgressLine(line._source, stream=stream, clock=lambda: clock.now)
    clock.now = 0.5 if case == "soon done" else 5.0
    line.show(10)
    line.close()
    assert stream.getvalue() == ""


def test_long_times_are_reported_in_minutes_and_hours():
    assert time_left(100.0, 0.5) == "1 min 40 s left"
    assert time_left(7200.0, 0.5) == "2 h 00 min left"
