"""Runs are kept, run anew when the system changes, and end at their limit."""

from __future__ import annotations

import json

import pytest

from benchmarks.streams import __main__ as command
from benchmarks.streams import runs
from benchmarks.streams.runs import Run

CONSTANT = Run("constant", "phishing", 1, 200)


def test_a_run_is_kept_with_its_figures_and_answers(tmp_path):
    assert runs.recall(CONSTANT, tmp_path) is None
    found = runs.run(CONSTANT, tmp_path, 60)
    assert found["rows"] == 200
    assert 0.0 < found["log loss"] < 1.0
    assert runs.recall(CONSTANT, tmp_path) == json.loads(json.dumps(found))
    assert CONSTANT.path(tmp_path).with_suffix(".npz").is_file()


def test_a_result_of_another_version_is_not_recalled(tmp_path, monkeypatch):
    path = CONSTANT.path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"version": "0", "error": 0.5}))
    assert runs.recall(CONSTANT, tmp_path) is None
    monkeypatch.setattr(runs, "version_of", lambda system: "0")
    assert runs.recall(CONSTANT, tmp_path) == {"version": "0", "error": 0.5}


def test_a_run_past_its_processor_time_is_ended_and_says_so(tmp_path):
    found = runs.run(Run("tests.benchmarks.streams.endless:Endless", "phishing", 1, 50), tmp_path, 1)
    assert found["failed"] == "not done after 1 s of processor time"


def test_a_run_that_breaks_says_why(tmp_path):
    found = runs.run(Run("tests.benchmarks.streams.endless:Broken", "phishing", 1, 50), tmp_path, 60)
    assert found["failed"] == "RuntimeError: it broke"


def test_what_cannot_be_tried_is_not_kept(tmp_path):
    absent = Run("no_such_module:Model", "phishing", 1, 50)
    assert "no_such_module" in runs.run(absent, tmp_path, 60)["missing"]
    assert runs.recall(absent, tmp_path) is None


def test_the_command_prints_figures_and_places_and_runs_nothing_twice(tmp_path, capsys):
    words = ["--systems", "constant,last label", "--streams", "phishing,chick_weights", "--rows", "200"]
    words += ["--cache", str(tmp_path)]
    command.main(words)
    first = capsys.readouterr().out
    assert "phishing, 200 rows" in first
    assert "mean place in log loss (streams)" in first
    assert "mean place in mae (streams)" in first
    assert first.count(" ...\n") == 4
    command.main(words)
    assert " ...\n" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--streams", "nile"], "there are nsl_kdd"), (["--systems", "oracle"], "a system must be one of auto")],
)
def test_unknown_names_are_refused_with_the_known_ones(words, told):
    with pytest.raises(SystemExit, match=told):
        command.main(words)


def test_saved_results_are_json_with_a_line_for_each_run():
    figures = {"s": {"a": {"error": 0.1}, "b": {"failed": "slow"}}, "t": {"a": {"error": 0.2}}}
    result = {"rows": 5, "machine": {"cores": 2}, "figures": figures}
    text = command.in_lines(result)
    assert json.loads(text) == result
    assert '   "b": {"failed": "slow"}\n' in text


def test_a_stream_of_one_order_is_run_once():
    planned = list(command.plan(["constant"], ["elec2", "phishing"], 3, 50_000))
    assert [(run.stream, run.seed, run.rows) for run in planned] == [
        ("elec2", 1, 45_312),
        ("phishing", 1, 1250),
        ("phishing", 2, 1250),
        ("phishing", 3, 1250),
    ]


def test_figures_of_systems_that_were_not_run_stay_on_the_page():
    from argparse import Namespace

    from benchmarks.streams.__main__ import with_last

    last = {"rows": 10, "shuffles": 1, "figures": {"phishing": {"VW": {"error": 1}, "auto": {"error": 2}}}}
    now = {"phishing": {"auto": {"error": 3}}, "flights": {"auto": {"mae": 4}}}
    joined = with_last(now, last, Namespace(rows=10, shuffles=1))
    assert joined == {"phishing": {"auto": {"error": 3}, "VW": {"error": 1}}, "flights": {"auto": {"mae": 4}}}
    assert with_last(now, last, Namespace(rows=20, shuffles=1)) == now
