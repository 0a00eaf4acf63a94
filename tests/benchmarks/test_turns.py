from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import turns
from benchmarks.measure import ROOT
from benchmarks.point import OURS, Point

COSTS = {ROOT: [2.0, 4.0, 3.0], Path("/other"): [1.0, 2.0, 6.0]}


class FakeWorker:
    """Answers with costs that are known, in place of a process."""

    def __init__(self, case: str, system: str, point: Point, seconds: float, root: Path) -> None:
        assert system == OURS
        self.costs = iter([9.0, *COSTS[root]])  # the first run calibrates

    def read(self) -> dict[str, float]:
        return {}

    def run(self) -> dict[str, float]:
        return {"seconds": next(self.costs), "units": 1.0}

    def end(self) -> None:
        pass


def test_ratios_are_taken_repeat_by_repeat_with_the_other_tree_above(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "Worker", FakeWorker)
    found = turns.measure("case", None, Path("/other"), repeats=3, seconds=0.1)  # type: ignore[arg-type]
    assert (found["ratio"]["least"], found["ratio"]["median"], found["ratio"]["most"]) == (0.5, 0.5, 2.0)
    assert (found["this"]["median"], found["other"]["median"]) == (3.0, 2.0)


def test_only_timed_points_with_a_system_of_ours_are_taken() -> None:
    assert {point.name for _, point in turns.timed_points(["learn_one"])} == {"5", "20", "100", "500"}
    assert [point.name for _, point in turns.timed_points(["learn_one:20"])] == ["20"]
    assert turns.timed_points(["drift"]) == []


def test_a_path_without_benchmarks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="must be the root of a checkout"):
        turns.main([str(tmp_path)])
