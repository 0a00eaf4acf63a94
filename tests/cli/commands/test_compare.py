from __future__ import annotations

import importlib.util
import json

import pytest

from stream_maxloss.cli.demo.stream import FileWriter, make_connections
from stream_maxloss.cli.options.model_words import parse_model


@pytest.fixture
def stream(tmp_path):
    FileWriter(make_connections(3000), tmp_path / "c.csv", pause=0.0).run()
    return tmp_path / "c.csv"


def test_each_model_scores_what_it_scores_alone(maxloss, stream):
    models = ["HingeOGD", "HingeOGD,no-focus,lr=0.5", "river.naive_bayes:GaussianNB"]
    words = ["compare", stream, "--target", "attack", "--slice-by", "kind", "-o", "jsonl"]
    together = maxloss(*words, *(word for model in models for word in ("--model", model)))
    assert together.code == 0, together.err
    lines = [json.loads(line) for line in together.out.splitlines()]
    assert [line["model"] for line in lines] == [*models, "(constant)"]
    for model, line in zip(models, lines, strict=False):
        alone = json.loads(maxloss(*words, "--model", model).out.splitlines()[0])
        assert (line["metrics"], line["worst_slice"]) == (alone["metrics"], alone["worst_slice"])
        assert line["rows"] == 3000
        assert line["memory_bytes"] > 0


def test_the_scores_are_those_of_tail(maxloss, stream):
    compared = maxloss("compare", stream, "-t", "attack", "--exclude", "kind", "--model", "Perceptron", "-o", "jsonl")
    tailed = maxloss("tail", stream, "-t", "attack", "--exclude", "kind", "--model", "Perceptron", "-o", "jsonl")
    last = json.loads(tailed.out.splitlines()[-1])
    expected = {name: scores["total"] for name, scores in last["metric"].items()}
    assert json.loads(compared.out.splitlines()[0])["metrics"] == expected


def test_the_table_has_a_line_for_each_model_and_the_constant_prediction(maxloss, stream):
    done = maxloss("compare", stream, "--target", "attack", "--slice-by", "kind", "--limit", 2000)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == ["model", "HingeOGD,no-focus", "HingeOGD", "auto", "(constant)"]
    assert lines[0].split()[-2:] == ["seconds", "memory"]
    assert "2,000 rows" in done.err


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="the plot needs matplotlib")
def test_the_plot_does_not_change_the_scores(maxloss, stream, tmp_path):
    words = ["compare", stream, "-t", "attack", "--slice-by", "kind", "-o", "jsonl"]
    plain, drawn = maxloss(*words), maxloss(*words, "--plot", "p.png")
    assert drawn.code == 0, drawn.err
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    for one, other in zip(plain.out.splitlines(), drawn.out.splitlines(), strict=True):
        assert json.loads(one)["metrics"] == pytest.approx(json.loads(other)["metrics"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--target must name the label's column"),
        (["-t", "atack"], "did you mean 'attack'?"),
        (["-t", "attack", "--model", "HingeODG"], "did you mean"),
        (["-t", "attack", "--model", "LLD", "--model", "LLD"], "got 'LLD' twice"),
        (["-t", "attack", "--model", "LLD", "--model", "AbsoluteOGD"], "all classifiers or all regressors"),
        (["-t", "attack", "--model", "LLD,bare"], "a setting must be NAME=VALUE"),
        (["-t", "attack", "--model", "LLD,window=big"], "window must be a whole number, got 'big'"),
        (["-t", "attack", "-o", "xml"], "--output must be text or jsonl"),
    ],
    ids=["no target", "misspelt column", "misspelt model", "twins", "mixed", "word", "number", "output"],
)
def test_mistakes_are_one_line_with_the_remedy(maxloss, stream, words, message):
    done = maxloss("compare", stream, *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_settings_in_a_word():
    settings = parse_model("river.tree:HoeffdingTreeClassifier,focus,window=50,share=0.1,grace_period=20", seed=3)
    assert (settings.name, settings.focus, settings.window) == ("river.tree:HoeffdingTreeClassifier", True, 50)
    assert (settings.share, settings.settings, settings.seed) == (0.1, ("grace_period=20",), 3)


def test_regressors_are_compared_by_their_errors(maxloss, stream):
    words = ["compare", stream, "-t", "ports", "--exclude", "kind", "--limit", 500, "-o", "jsonl"]
    done = maxloss(*words, "--model", "AbsoluteOGD", "--model", "river.linear_model:LinearRegression,scale")
    assert done.code == 0, done.err
    assert all("MAE" in json.loads(line)["metrics"] for line in done.out.splitlines())


@pytest.mark.parametrize("words", [["--plot"], ["--on-bad"]], ids=["plot", "dead letters"])
def test_what_is_compared_on_is_not_written_to(maxloss, stream, words):
    before = stream.read_bytes()
    place = str(stream) if words == ["--plot"] else f"dlq={stream}"
    refused = maxloss("compare", stream, "-t", "attack", "--model", "Perceptron", *words, place)
    assert (refused.code, stream.read_bytes()) == (2, before)
    assert "must not be written to what is read" in refused.err


def test_a_plot_and_dead_letters_are_two_files(maxloss, stream, tmp_path):
    words = ["--plot", tmp_path / "one.png", "--on-bad", f"dlq={tmp_path / 'one.png'}"]
    refused = maxloss("compare", stream, "-t", "attack", "--model", "Perceptron", *words)
    assert refused.code == 2
    assert "the plot must not be written to dead letters" in refused.err


def test_dead_letters_of_schema_are_not_written_to_the_source(maxloss, stream):
    with stream.open("a") as file:
        file.write("one,cell,more,than,there,are,columns,and,many,others,which,is,bad\n")
    before = stream.read_bytes()
    refused = maxloss("schema", stream, "--on-bad", f"dlq={stream}")
    assert (refused.code, stream.read_bytes()) == (2, before)
