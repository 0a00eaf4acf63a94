"""Whole processes are timed, watched and not left behind."""

from __future__ import annotations

import sys

import pytest

from benchmarks.processes import peer_over_ours, resident_bytes, run, take_turns

BUSY = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
LARGE = "import time\ndata = bytearray(50_000_000)\ntime.sleep(1.0)"


def test_the_processor_time_of_a_command_is_counted() -> None:
    found = run([sys.executable, "-c", BUSY])
    # The kernel counts a child's time in ticks, and may cut one off at either end.
    assert found.processor > 0.4
    assert found.wall > 0.4
    assert found.resident == []


def test_memory_is_sampled_while_it_runs() -> None:
    found = run([sys.executable, "-c", LARGE], sample_every=0.05)
    assert len(found.resident) > 2
    assert max(held for _, held in found.resident) > 50_000_000
    assert [when for when, _ in found.resident] == sorted(when for when, _ in found.resident)


def test_a_command_that_fails_is_an_error_with_its_last_line() -> None:
    with pytest.raises(RuntimeError, match=r"exit code 1: \['ValueError: no such thing'\]"):
        run([sys.executable, "-c", "raise ValueError('no such thing')"])


def test_a_process_that_has_ended_holds_nothing() -> None:
    assert resident_bytes(2**22 + 1) == 0


def test_works_take_turns_and_ratios_are_those_of_neighbours() -> None:
    order: list[str] = []
    runs = take_turns({name: lambda name=name: order.append(name) or name for name in ("a", "b")}, 3)  # type: ignore[misc]
    assert order == ["a", "b"] * 3
    assert runs == {"a": ["a"] * 3, "b": ["b"] * 3}
    assert peer_over_ours([4.0, 6.0, 9.0], [2.0, 2.0, 3.0])["median"] == 3.0
