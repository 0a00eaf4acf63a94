from __future__ import annotations

import pytest

from benchmarks.cases import quality


def fact(error: float, recall: float, spread: list[float] | None = None) -> dict[str, object]:
    return {
        "error": error,
        "errors of slices": {"anomaly": 1.0 - recall, "normal": 0.0},
        "rows of slices": {"anomaly": 40, "normal": 60},
        "worst slice": "anomaly",
        "rare": "anomaly",
        "rare recall": recall,
        "rare recall of all seeds": spread,
        "max loss": 1.0,
        "tail loss": 0.5,
        "rows": 100,
        "seconds": 0.5,
        "bytes grown": 2e6,
    }


@pytest.fixture
def measured():
    facts = {
        "HingeOGD": fact(0.04, 0.1),
        "HingeOGD focused": fact(0.05, 0.6, [0.5, 0.7]),
        "River ARF": fact(0.01, 0.4),
        "VW hinge": {"missing": "No module named 'vowpalwabbit'"},
    }
    return {"shuttle": {"label": "shuttle", "facts": facts}}


def test_lowest_error_comes_first_whoever_has_it(measured):
    header, rows = next(part for part in quality.tables(measured) if not isinstance(part, str))
    assert [row[0] for row in rows] == ["River ARF", "**HingeOGD**", "**HingeOGD focused**"]
    assert all(len(row) == len(header) for row in rows)
    assert rows[2][3] == "60.0% (50.0% to 70.0%)"
    assert rows[0][-1] == '`python -m benchmarks --only "quality:shuttle:River ARF"`'


def test_the_leader_is_named_with_the_best_of_ours_behind_it(measured):
    text = "\n".join(part for part in quality.tables(measured) if isinstance(part, str))
    assert "Lowest error: River ARF (1.00% wrong, 40.0% of the rare found, 0.5 s); of ours HingeOGD (4.00%" in text
    assert "Most of the rare rows: HingeOGD focused" in text
    assert "Left out: VW hinge: No module named 'vowpalwabbit'." in text


def test_error_against_compute_is_drawn_for_the_systems_that_ran(measured, tmp_path):
    [(_, file)] = quality.plot(measured, tmp_path)
    assert (tmp_path / file).stat().st_size > 10_000
    assert (tmp_path / quality.picture_of("shuttle")).stat().st_size > 10_000
    assert any(quality.picture_of("shuttle") in part for part in quality.tables(measured) if isinstance(part, str))
    assert quality.plot({}, tmp_path) == []


def test_ranks_are_means_over_the_data_sets_and_equal_ones_share_a_place(measured):
    facts = measured["shuttle"]["facts"]
    both = {"shuttle": {"facts": facts}, "phishing": {"facts": facts | {"HingeOGD": fact(0.05, 0.8)}}}
    words, (header, rows), *_ = quality.tables(both)
    assert "3 systems over 2 data sets" in words
    assert header[:3] == ["system", "error", "rare recall"]
    assert [row[:3] for row in rows] == [
        ["River ARF", "1.0", "2.5"],
        ["**HingeOGD**", "2.2", "2.0"],
        ["**HingeOGD focused**", "2.8", "1.5"],
    ]


def test_without_stored_data_rivers_own_streams_are_used(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAM_MAXLOSS_DATA", str(tmp_path))
    assert [point.name for point in quality.points(quick=False)] == ["shuttle", "phishing", "bananas"]
    assert [point.name for point in quality.points(quick=True)] == ["shuttle"]


def test_observed_scores_are_of_the_middle_run_with_the_spread_of_all():
    found = quality.observe("LLD focused", {"stream": "shuttle", "rows": 400})
    least, most = found["rare recall of all seeds"]
    assert least <= found["rare recall"] <= most
    assert found["rows"] == 400
    assert found["seconds"] > 0.0
