"""Every mistake of the first ten minutes is one line that ends with the remedy."""

from __future__ import annotations

import builtins
import sys

import pytest

CASES = {
    "no target": (["day.csv"], 2, "--target must name the label's column; there are a, b, c, kind, importance, fraud"),
    "no source": (["--target", "fraud"], 2, "a SOURCE must be given"),
    "misspelt column": (["day.csv", "--target", "fruad"], 2, "did you mean 'fraud'?"),
    "misspelt slice": (["day.csv", "--target", "fraud", "--slice-by", "knd"], 2, "did you mean 'kind'?"),
    "misspelt feature": (
        ["day.csv", "--target", "fraud", "--exclude", "d"],
        2,
        "must name a column, got 'd'",
    ),
    "text target": (
        ["day.csv", "--target", "kind", "--model", "lld"],
        2,
        "got the texts usual, rare; say which one counts as positive",
    ),
    "number target": (
        ["day.csv", "--target", "a", "--model", "lld"],
        3,
        "day.csv:2: target 'a' must be true/false, 0/1 or -1/1, got",
    ),
    "number as classes": (["day.csv", "--target", "a", "--task", "class"], 3, "a class, got"),
    "text as a number": (["day.csv", "--target", "kind", "--task", "number"], 2, "must be a number for a regressor"),
    "unknown task": (["day.csv", "--target", "fraud", "--task", "rank"], 2, "--task must be class or number"),
    "task of a learner": (
        ["day.csv", "--target", "fraud", "--task", "class", "--model", "lld"],
        2,
        "--task must come with the model auto",
    ),
    "task and positive": (
        ["day.csv", "--target", "kind", "--task", "class", "--positive", "rare"],
        2,
        "must not come with --positive",
    ),
    "focus of auto": (["day.csv", "--target", "fraud", "--focus"], 2, "auto scales and replays by itself"),
    "no scaler of auto": (["day.csv", "--target", "fraud", "--no-scale"], 2, "auto scales and replays by itself"),
    "replays of auto": (["day.csv", "--target", "fraud", "--replays", "3"], 2, "--set compute=least"),
    "compute of auto": (["day.csv", "--target", "fraud", "--set", "compute=more"], 2, "compute must be"),
    "wrong path": (["dya.csv", "--target", "fraud"], 5, "dya.csv: file must exist, got no such file; check the path"),
    "unknown ending": (["day.xls", "--target", "fraud"], 5, "file must exist"),
    "unknown model": (["day.csv", "--target", "fraud", "--model", "hing"], 2, "did you mean 'HingeOGD'?"),
    "unknown module": (["day.csv", "--target", "fraud", "--model", "nowhere:tree"], 2, "module must be importable"),
    "unknown parameter": (["day.csv", "--target", "fraud", "--set", "seeed=1"], 2, "did you mean 'seed'?"),
    "wrong parameter": (["day.csv", "--target", "fraud", "--window", "5", "--set", "memory=-1"], 2, "got -1"),
    "unknown metric": (["day.csv", "--target", "fraud", "--metric", "acuracy"], 2, "did you mean 'Accuracy'?"),
    "metric of regressors": (["day.csv", "--target", "fraud", "--metric", "mae"], 2, "a classifier takes Accuracy"),
    "misspelt option": (["day.csv", "--targt", "fraud"], 2, "'--target'"),
    "wrong schedule": (["day.csv", "--target", "fraud", "--report-every", "often"], 2, "--report-every must be"),
    "focus without": (
        ["day.csv", "--target", "fraud", "--model", "lld", "--no-focus", "--window", "5"],
        2,
        "add --focus",
    ),
    "no broker": (["kafka://127.0.0.1:1/orders", "--target", "y"], 5, "no broker answered"),
    "unknown predictions": (["day.csv", "--target", "fraud", "-p", "out.xls"], 2, "the format must be one of"),
    "fresh without a directory": (
        ["day.csv", "--target", "fraud", "--fresh"],
        2,
        "must come with --checkpoint",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_one_line_with_the_remedy(maxloss, day, case):
    words, code, expected = CASES[case]
    done = maxloss("tail", *words)
    assert done.code == code, done.err
    assert expected in done.err
    assert done.err.startswith("maxloss: ")
    assert len(done.err.splitlines()) == 1
    assert done.out == ""


def test_without_the_kafka_extra_the_pip_command_is_printed(python, tmp_path):
    (tmp_path / "confluent_kafka.py").write_text("raise ModuleNotFoundError('absent', name='confluent_kafka')\n")
    done = python("-m", "stream_maxloss.cli", "tail", "kafka://127.0.0.1:1/orders", "--target", "y")
    assert done.code == 2
    assert done.err.splitlines() == [
        "maxloss: reading from Kafka needs the 'kafka' extra; run: pip install 'stream-maxloss[kafka]'"
    ]


DIFFERENCES = {
    "another model": (["--model", "perceptron"], "model was AutoClassifier"),
    "another parameter": (["--set", "compute=least"], "whose model.compute was normal, and now it is least"),
    "another target": (["--target", "importance", "--positive", "1"], "whose target was fraud"),
    "other features": (["--exclude", "a"], "whose exclude was none, and now it is a"),
}


@pytest.mark.parametrize("case", DIFFERENCES)
def test_a_checkpoint_of_another_run_is_refused_with_the_difference(maxloss, day, tmp_path, case):
    more, expected = DIFFERENCES[case]
    assert maxloss("tail", day, "--target", "fraud", "-c", "checkpoints").code == 0
    done = maxloss("tail", day, "--target", "fraud", "-c", "checkpoints", *more)
    assert done.code == 4
    assert len(done.err.splitlines()) == 1
    assert "start over with --fresh (fresh=True), or choose another directory" in done.err
    if case != "another model":
        assert expected in done.err
    assert maxloss("tail", day, "--target", "fraud", "-c", "checkpoints", *more, "--fresh").code == 0
    assert list((tmp_path / "checkpoints").glob("retired-*"))


def test_a_file_of_another_schema_in_the_old_place_is_refused(maxloss, day):
    assert maxloss("tail", day, "--target", "fraud", "-c", "checkpoints").code == 0
    day.write_text("x,y,fraud\n" + "1,2,true\n" * 500)
    done = maxloss("tail", day, "--target", "fraud", "-c", "checkpoints")
    assert done.code == 5
    assert len(done.err.splitlines()) == 2  # where it goes on, and why it cannot
    assert "restore the file or start afresh" in done.err


def test_too_many_bad_records_have_an_exit_code_of_their_own(maxloss, day):
    lines = day.read_text().splitlines()
    day.write_text("\n".join([*lines[:50], "a", "b", "c", *lines[50:]]) + "\n")
    assert maxloss("tail", day, "--target", "fraud").code == 3
    limited = maxloss("tail", day, "--target", "fraud", "--on-bad", "skip", "--max-bad", "2")
    assert limited.code == 3
    assert "more than the limit of 2" in limited.err
    assert maxloss("tail", day, "--target", "fraud", "--on-bad", "skip", "--max-bad", "1%").code == 0


def test_a_positive_value_that_never_comes_is_pointed_out(maxloss, day):
    done = maxloss("tail", day, "--target", "kind", "--positive", "raer")
    assert done.code == 0
    assert "no row had the target 'raer'; check --positive" in done.err


def test_helping_loads_nothing_heavy():
    heavy = {"pyarrow", "numba", "river", "rich.live", "confluent_kafka", "numpy"}
    imported = set()
    original = builtins.__import__

    def watch(name, *rest, **options):
        imported.add(name)
        return original(name, *rest, **options)

    for module in [name for name in sys.modules if name.startswith("stream_maxloss.cli")]:
        del sys.modules[module]
    builtins.__import__ = watch
    try:
        import stream_maxloss.cli.app  # noqa: F401
    finally:
        builtins.__import__ = original
    assert not heavy & imported
