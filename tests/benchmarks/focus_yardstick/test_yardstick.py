from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.focus_yardstick.__main__ import main
from benchmarks.focus_yardstick.leaves import DEPTH, FERNS, over_leaves
from benchmarks.focus_yardstick.mixture import make_auto
from benchmarks.focus_yardstick.page import BEGIN, END, write_pages
from benchmarks.focus_yardstick.runs import figures, rare_recall, slice_names
from benchmarks.streams.stream import Stream


def stream(rows: int = 400) -> Stream:
    chance = np.random.default_rng(0)
    a = chance.normal(size=rows)
    kind = np.where(chance.uniform(size=rows) < 0.5, "x", "y")
    labels = a > 0.5
    table = pa.table({"a": a, "constant": np.ones(rows), "kind": kind})
    return Stream(table, labels, {"x": labels & (kind == "x"), "y": labels & (kind == "y")})


def test_the_worst_slice_and_the_tail_are_what_they_say() -> None:
    rows, answers = stream(), np.linspace(0.0, 1.0, 400)
    found = figures(rows, answers, 1.0)
    assert found["worst slice at 1 %"] == min(cut["recall at 1 %"] for cut in found["slices"].values())
    losses = sorted(np.where(rows.labels, 1.0 - answers, answers))
    assert found["tail loss"] == pytest.approx(np.mean(losses[-20:]))
    assert found["microseconds a row"] == 2500.0


def test_a_row_lies_in_one_leaf_of_each_fern() -> None:
    found = over_leaves(stream(), seed=3)
    rows = found.table.column(0).to_pylist()
    assert {len(row) for row in rows} == {FERNS}
    assert all(sum(value**2 for _, value in row) == pytest.approx(1.0) for row in rows)
    ferns = [{name.split(":")[0] for name, _ in row} for row in rows]
    assert all(len(names) == FERNS for names in ferns)
    assert max(int(name.split(":")[1]) for row in rows for name, _ in row) < 2**DEPTH


def test_it_runs_and_its_pages_name_every_way(tmp_path) -> None:
    results = tmp_path / "found.json"
    ways = "bare,uniform replay,capped"
    main(["--streams", "sea", "--learners", "HingeOGD", "--ways", ways, "--shuffles", "2", "--rows", "300",
          "--results", str(results)])  # fmt: skip
    kept = json.loads(results.read_text())
    assert [len(kept["figures"]["sea"]["HingeOGD"][way]) for way in ways.split(",")] == [2, 2, 2]
    (tmp_path / "focus.md").write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_pages(kept, tmp_path)
    text = (tmp_path / "focus.md").read_text()
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| capped | 1 |" in text
    assert "| sea |" in (tmp_path / "yardstick.md").read_text()


def test_the_rare_slice_is_looked_for_at_the_false_alarms_of_uniform_replay() -> None:
    labels = np.array([True, True, True, False, False, False, False])
    rows = Stream(pa.table({"a": np.zeros(7)}), labels, {"rare": np.arange(7) < 2}, "rare")
    even = np.array([0.9, 0.9, 0.9, 0.6, 0.1, 0.1, 0.1])
    # One false alarm is allowed: the threshold is the second highest score of the negatives, 0.4.
    answers = np.array([0.45, 0.3, 0.2, 0.5, 0.4, 0.0, 0.0])
    assert rare_recall(rows, answers, even) == 0.5
    assert slice_names(rows).tolist() == ["rare"] * 2 + ["others"] * 5


def test_auto_is_run_without_replays_with_even_draws_and_as_it_is() -> None:
    replays = {way: int(make_auto(way)._model.memory["header"][4]) for way in ("bare", "no replays", "focus")}
    assert replays == {"bare": 0, "no replays": 0, "focus": 6}
    assert len(make_auto("bare")._model.memory["prior"]) == 11
    assert make_auto("uniform replay")._model.memory["game"][2] == 1.0
    doubts = {way: make_auto(way)._model.memory["scale"][7] for way in ("uniform replay", "all believed", "focus")}
    assert doubts == {"uniform replay": 0.0, "all believed": 0.0, "focus": 1.0}
