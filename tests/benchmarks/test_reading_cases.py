"""What the cases about files, Kafka, the command line and memory make of what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.cases import command_line, ingestion, kafka, memory
from benchmarks.point import OURS
from benchmarks.processes import Run


def verdicts(claims: list[dict[str, Any]]) -> dict[str, tuple[float, bool | None]]:
    return {claim["what"]: (round(claim["value"], 3), claim["met"]) for claim in claims}


def spread(value: float) -> dict[str, float]:
    return {"median": value, "lower": value * 0.9, "upper": value * 1.1}


@pytest.mark.parametrize("case", [ingestion, kafka, command_line, memory])
def test_points_have_names_of_their_own_and_the_quick_form_has_no_others(case: Any) -> None:
    names = [point.name for point in case.points(quick=False)]
    assert len(set(names)) == len(names)
    assert {point.name for point in case.points(quick=True)} <= set(names)


@pytest.mark.parametrize("ending", list(ingestion.LABELS))
@pytest.mark.parametrize("system", [OURS, "peers"])
def test_every_system_reads_all_rows_of_its_file(ending: str, system: str) -> None:
    with ingestion.surroundings(quick=True):
        for name in (OURS,) if system == OURS else ingestion.PEERS[ending]:
            try:
                work = ingestion.prepare(name, {"ending": ending, "rows": 500})
            except ImportError as error:
                pytest.skip(f"{name} is not installed: {error}")
            assert work() == 500


def test_our_time_is_held_against_pyarrows_and_the_parser_against_ours() -> None:
    point = {"settings": {"ending": ".csv"}, "ratios": {"pyarrow": spread(0.8), ingestion.VW: spread(1.2)}}
    found = verdicts(ingestion.conclude({"csv": point}))
    assert found == {
        "CSV to the matrix, beside pyarrow to record batches": (1.25, True),
        "CSV, against vowpalwabbit (its text)": (1.2, False),
    }


def test_the_rate_from_kafka_is_that_on_the_wall() -> None:
    point = {
        "label": "JSON",
        "seconds_per_unit": {OURS: spread(2e-6), kafka.BARE: spread(1e-6)},
        "ratios": {kafka.BARE: spread(0.5)},
        "wall_over_processor_time": {OURS: 1.0, kafka.BARE: 1.5},
    }
    first, second = kafka.conclude({"json": point})
    assert (first["value"], first["met"]) == (0.75, True)
    assert (second["value"], second["target"]) == (0.5, None)
    [(_, rows)] = kafka.tables({"json": point})
    assert rows == [["JSON", OURS, "500,000"], ["JSON", kafka.BARE, "666,667"]]


def test_without_a_broker_the_reason_stands_in_place_of_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kafka.REASON, "there is no 'java' on the path")
    with pytest.raises(ImportError, match="there is no 'java'"):
        kafka.prepare(OURS, {"rows": 1})
    assert kafka.conclude({"json": {"seconds_per_unit": {}, "ratios": {}}}) == []


def test_the_command_line_is_judged_on_the_wall() -> None:
    facts = {
        "rows": command_line.ROWS,
        f"{OURS} whole": {"wall": 2.0, "processor": 2.0},
        "whole process, wall": spread(1.9),
        "whole process, processor": spread(9.0),
        "after start-up, wall": {"median": 6.0, "lower": None, "upper": None},
    }
    measured = {
        "ipc": {"label": "Arrow IPC", "facts": {OURS: facts}},
        "checkpoint": {"facts": {OURS: {"seconds a checkpoint": spread(0.05)}}},
        "help": {"facts": {OURS: {"wall": spread(0.5), "processor": 0.1}}},
    }
    assert verdicts(command_line.conclude(measured)) == {
        "Arrow IPC against its cache, whole process": (1.9, False),
        "Arrow IPC against its cache, whole process, processor time": (9.0, None),
        "Arrow IPC against its cache, after start-up": (6.0, True),
        "a checkpoint every 5 s": (1.0, True),
        "`maxloss --help`": (0.5, False),
    }
    [(_, rows)] = command_line.tables(measured)
    assert rows == [["Arrow IPC", f"{OURS} whole", "2", "2"]]
    facts["rows"] = 200_000
    assert all(claim["target"] is None for claim in command_line.conclude(measured) if claim["point"] == "ipc")


def test_memory_is_judged_by_its_most_and_by_its_growth() -> None:
    point = {"label": "CSV", "facts": {OURS: {"most MB": 499.0, "growth MB": 30.0}}}
    assert verdicts(memory.conclude({"csv": point})) == {
        "CSV: most memory held": (499.0, True),
        "CSV: growth": (30.0, False),
    }
    assert memory.conclude({"csv": {"label": "CSV", "facts": {OURS: {"missing": "no space"}}}}) == []


def test_memory_is_that_of_the_whole_run_where_the_reading_was_shorter_than_a_start(monkeypatch) -> None:
    runs = iter([Run(9.0, 9.0), Run(2.0, 2.0, [(0.5, 100_000_000), (1.5, 200_000_000)])])
    monkeypatch.setattr(memory, "run", lambda command, sample_every=None: next(runs))
    with memory.surroundings(quick=True):
        assert memory.observe(OURS, {"ending": ".csv", "rows": 2_000})["most MB"] == 200.0


def test_memory_is_drawn_where_it_was_measured(tmp_path: Path) -> None:
    point = {"label": "CSV", "facts": {OURS: {"most MB": 300.0, "MB over time": [200.0, 300.0, 290.0]}}}
    [(_, name)] = memory.plot({"csv": point}, tmp_path)
    assert (tmp_path / name).stat().st_size > 1000
    assert memory.plot({"csv": {"label": "CSV", "facts": {OURS: {"missing": "no space"}}}}, tmp_path) == []
