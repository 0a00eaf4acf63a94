"""Going on with a run from nothing but its checkpoints."""

from __future__ import annotations

import json

import pytest

WORDS = ["--target", "fraud", "--slice-by", "kind", "--model", "HingeOGD", "--set", "lr=0.3", "--window", 50]
MORE = ["--metric", "Recall,Accuracy", "--weight", "importance", "--exclude", "c", "--delay", 3]


def test_a_resumed_run_is_the_run_that_was_never_stopped(maxloss, day, state_of, tmp_path):
    words = ["tail", day, *WORDS, *MORE, "-p"]
    assert maxloss(*words, "straight.jsonl", "-c", "straight", "-q").code == 0
    assert maxloss(*words, "parts.jsonl", "-c", "parts", "--limit", 200, "-q").code == 0
    done = maxloss("resume", "parts", "--quiet")
    assert (done.code, done.out) == (0, "")
    ignored = ("value predictions", "outputs")
    assert state_of(tmp_path / "parts", ignored) == state_of(tmp_path / "straight", ignored)
    assert (tmp_path / "parts.jsonl").read_bytes() == (tmp_path / "straight.jsonl").read_bytes()


def test_options_are_found_again_after_a_second_resume(maxloss, day, tmp_path):
    assert maxloss("tail", day, *WORDS, "-c", "state", "--limit", 100, "-q").code == 0
    for limit in (150, 200):
        done = maxloss("resume", "state", "--limit", limit, "-o", "jsonl")
        assert done.code == 0, done.err
        assert json.loads(done.out.splitlines()[-1])["rows"] == limit
    assert "slices" in json.loads(done.out.splitlines()[-1])


def test_a_run_can_be_resumed_from_another_folder(maxloss, python, rows_of, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "day.csv").write_text("\n".join(rows_of(300)) + "\n")
    words = [
        "tail",
        "day.csv",
        "-t",
        "fraud",
        "--model",
        "HingeOGD",
        "-c",
        "state",
        "-p",
        "out.jsonl",
        "--limit",
        "100",
        "-q",
    ]
    code = (
        f"import os, sys; os.chdir({str(inner)!r}); sys.argv[1:] = {words}; from stream_maxloss.cli import main; main()"
    )
    assert python("-c", code).code == 0
    done = maxloss("resume", "inner/state", "-q")
    assert done.code == 0, done.err
    assert len((inner / "out.jsonl").read_text().splitlines()) == 300


def test_tail_fills_in_what_is_left_out_too(maxloss, day):
    assert maxloss("tail", day, *WORDS, "-c", "state", "--limit", 100, "-q").code == 0
    done = maxloss("tail", "--checkpoint", "state", "-o", "jsonl")
    assert done.code == 0, done.err
    assert json.loads(done.out.splitlines()[-1])["rows"] == 500
    done = maxloss("tail", day, "--target", "fraud", "--model", "HingeOGD", "--checkpoint", "state")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--slice-by", "importance"], "whose slice-by was kind, and now it is importance; leave out --slice-by"),
        (["--set", "lr=0.4"], "lr was 0.3, and now it is 0.4; leave out --set"),
        (["--model", "Perceptron"], "was HingeOGD, and now it is Perceptron; leave out --model"),
        (["--target", "a"], "whose target was fraud, and now it is a; leave out --target"),
        (["--metric", "F1"], "whose metric was none, and now it is F1; leave out --metric"),
        (["--key", "kind"], "whose key was None, and now it is kind; leave out --key"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_contradiction_names_the_option(maxloss, day, words, message):
    assert maxloss("tail", day, *WORDS, "-c", "state", "--limit", 100, "-q").code == 0
    done = maxloss("resume", "state", *words)
    assert done.code == 4
    assert message in done.err
    assert done.err.count("\n") == 1


def test_secrets_are_not_kept_and_are_asked_for(maxloss, tmp_path):
    from types import SimpleNamespace

    import click

    from stream_maxloss.checkpoint import Content
    from stream_maxloss.cli.commands.tail import tail
    from stream_maxloss.cli.options.saved import command_of, fill_in, kept_command
    from stream_maxloss.errors import UsageError

    words = ["kafka://localhost:9/t", "-t", "y", "-X", "sasl.password=hunter2", "-X", "fetch.min.bytes=7"]
    kept = kept_command(tail.make_context("tail", [*words, "-c", str(tmp_path / "state")]))
    assert "hunter2" not in str(kept)
    assert kept["options"]["extra"] == ["fetch.min.bytes=7"]
    command = command_of(SimpleNamespace(values=Content(values={"command": kept}).values))
    with pytest.raises(UsageError, match=r"-X sasl.password=... must be given again"):
        fill_in(tail.make_context("tail", []), command, None)
    context: click.Context = tail.make_context("tail", ["-X", "sasl.password=hunter3"])
    fill_in(context, command, None)
    assert context.params["extra"] == ("fetch.min.bytes=7", "sasl.password=hunter3")
    assert context.params["sources"] == ("kafka://localhost:9/t",)


def test_a_directory_without_a_checkpoint_is_one_line(maxloss, tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nowhere"):
        done = maxloss("resume", name)
        assert done.code == 4
        assert "must hold a checkpoint that is whole, got none" in done.err


def test_a_checkpoint_from_python_says_that_it_has_no_options(maxloss, day, tmp_path):
    from stream_maxloss.linear import Perceptron
    from stream_maxloss.run import Columns, Tail

    columns = Columns("fraud", exclude=("kind",))
    with Tail(day, Perceptron(), columns, checkpoint=tmp_path / "state", limit=100) as run:
        run.run()
    done = maxloss("resume", "state")
    assert done.code == 4
    assert "must hold the options of its run" in done.err


@pytest.mark.parametrize(
    "command", [7, {"options": 3}, {"options": {"window": "many"}}, {"options": {}, "secrets": [1]}]
)
def test_hostile_options_in_a_checkpoint_are_one_line(maxloss, day, tmp_path, command):
    from stream_maxloss.checkpoint import CheckpointStore

    assert maxloss("tail", day, *WORDS, "-c", "state", "--limit", 100, "-q").code == 0
    store = CheckpointStore(tmp_path / "state")
    content = store.load()
    content.values["command"] = command
    store.lock()
    store.save(content)
    store.close()
    done = maxloss("resume", "state")
    assert done.code == 4
    assert "Traceback" not in done.err
    assert done.err.count("\n") == 1


def change_checkpoint(place, change):
    """Seal a checkpoint again after a change, as anybody can who hands one on."""
    from stream_maxloss.checkpoint import CheckpointStore

    with CheckpointStore(place) as store:
        content = store.load()
        change(content)
        store.save(content)


HARM = {
    "a program to run": {"alerts": ["accuracy>0"], "actions": ["run=touch harmed"]},
    "a module to import": {"name": "harm:make"},
    "pickles to open": {"allow_pickle": True},
    "a library to load": {"extra": ["plugin.library.paths=harm"]},
    "a file to write": {"on_bad": "dlq=harmed"},
}


@pytest.mark.parametrize("options", HARM.values(), ids=HARM)
@pytest.mark.parametrize("command", ["resume", "tail"])
def test_what_somebody_else_wrote_into_a_checkpoint_runs_and_writes_nothing(maxloss, day, tmp_path, options, command):
    assert maxloss("tail", day, *WORDS, "-c", "state", "--limit", 100, "-q").code == 0
    change_checkpoint(tmp_path / "state", lambda content: content.values["command"]["options"].update(options))
    (tmp_path / "harm.py").write_text("open('harmed', 'w').close()\n")
    done = maxloss("resume", "state") if command == "resume" else maxloss("tail", day, "-c", "state")
    assert done.code == 4
    assert "must be sealed by this user to be resumed by itself" in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "harmed").exists()


def test_predictions_are_not_written_where_somebody_else_says(maxloss, day, tmp_path):
    (tmp_path / "precious.csv").write_text("kept\n")
    assert maxloss("tail", day, *WORDS, "-c", "state", "-p", "out.csv", "--limit", 100, "-q").code == 0

    def change(content):
        content.values["predictions"]["uri"] = "precious.csv"
        content.values["predictions"]["position"] |= {"length": 0, "schema": None}
        content.outputs = {"precious.csv": 0}

    change_checkpoint(tmp_path / "state", change)
    done = maxloss("resume", "state")
    assert done.code == 4
    assert "--predictions precious.csv" in done.err
    assert (tmp_path / "precious.csv").read_text() == "kept\n"


def test_a_checkpoint_of_another_user_continues_once_its_files_are_named(maxloss, day, tmp_path):
    assert maxloss("tail", day, *WORDS, "-c", "state", "-p", "out.jsonl", "--limit", 100, "-q").code == 0
    another = {"XDG_STATE_HOME": str(tmp_path / "another")}
    done = maxloss("resume", "state", **another)
    assert done.code == 4
    assert f"give them to maxloss tail: {day} --predictions out.jsonl" in done.err
    done = maxloss("tail", day, "-c", "state", "-p", "out.jsonl", "-q", **another)
    assert done.code == 0, done.err
    assert maxloss("resume", "state", "-q", **another).code == 0  # whose seal it has by now


def test_following_ends_where_no_follow_says_so(maxloss, day, tmp_path):
    assert maxloss("tail", day, *WORDS, "-c", "state", "--follow", "--limit", 100, "-q").code == 0
    done = maxloss("resume", "state", "--limit", 200)
    assert "following, as the run did before; --no-follow stops" in done.err
    done = maxloss("resume", "state", "--no-follow")
    assert done.code == 0
    assert "following" not in done.err
