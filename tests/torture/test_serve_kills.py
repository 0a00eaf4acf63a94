"""The short form: `python -m tests.torture.serve_kills 100` is the long one."""

from __future__ import annotations

from pathlib import Path

from .serve_kills import kill_a_service

KILLS = 20


def test_what_a_service_acknowledged_is_learned_once_however_often_it_is_killed(tmp_path: Path) -> None:
    found = kill_a_service(tmp_path, KILLS)
    assert found.holds, found
    assert found.kills == KILLS
    assert found.resumed >= 5
    assert found.rows > 100
