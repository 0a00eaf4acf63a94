"""`hard`, `inspect` and `verify` on checkpoints of real runs."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from river import linear_model

from stream_maxloss.checkpoint import CheckpointStore, save, take_model
from stream_maxloss.cli.demo.stream import FileWriter, make_connections
from stream_maxloss.cli.reports.hard_rows import unscale
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Perceptron, Scaler
from stream_maxloss.run import Columns, Tail


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A file, and a directory with two checkpoints of a run over it."""
    folder = tmp_path_factory.mktemp("trained")
    FileWriter(make_connections(3000), folder / "c.csv", pause=0.0).run()
    columns = Columns("attack", slice_by="kind")
    for limit in (2000, 3000):
        model = Scaler() | FocusedClassifier(HingeOGD(), window=500, seed=0)
        with Tail(str(folder / "c.csv"), model, columns, limit=limit, checkpoint=folder / "run") as run:
            run.run()
    return folder


def test_hard_lists_the_rows_of_highest_weight(maxloss, trained):
    done = maxloss("hard", trained / "run", "-k", 7, "-o", "jsonl", "--scaled")
    assert done.code == 0, done.err
    found = [json.loads(line) for line in done.out.splitlines()]
    model = take_model(CheckpointStore(trained / "run").load())
    expected = model["FocusedClassifier"].hardest(7)
    assert [row["weight"] for row in found] == [row.weight for row in expected]
    assert [row["x"] for row in found] == [row.x for row in expected]
    assert [row["y"] for row in found] == [row.y for row in expected]


def test_hard_turns_standardised_numbers_back(maxloss, trained):
    done = maxloss("hard", trained / "run", "-k", 50, "-o", "jsonl")
    counts = np.array([json.loads(line)["x"]["root_commands"] for line in done.out.splitlines()])
    # The column holds whole numbers, and these are what was read, not what the scaler makes of them.
    assert np.array_equal(counts, np.round(counts))
    assert counts.min() >= 0.0
    assert done.err == ""


def test_unscale_is_exact_while_the_scaler_stands_still():
    scaler = Scaler()
    for value in (1.0, 4.0, 10.0):
        scaler.learn_one({"a": value, "b": 3.0})
    row = scaler.transform_one({"a": 4.0, "b": 3.0, "text": "t"})
    assert unscale(row, scaler) == {"a": 4.0, "b": 3.0, "text": "t"}


def test_hard_prints_a_table_and_writes_parquet(maxloss, trained, tmp_path):
    done = maxloss("hard", trained / "run", "-k", 3)
    lines = done.out.splitlines()
    assert lines[0].split() == ["rank", "loss", "weight", "replays", "age", "label", "origin", "slice", "row"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3"]
    assert maxloss("hard", trained / "run", "-k", 3, "-o", "parquet", "--to", "h.parquet").code == 0
    table = pq.read_table(tmp_path / "h.parquet")
    assert table.num_rows == 3
    assert {"loss", "weight", "y", "x.root_commands"} <= set(table.column_names)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "parquet"], "add --to"),
        (["-o", "xml"], "--output must be text, jsonl or parquet, got 'xml'"),
        (["--to", "no/such/dir/file"], "--to must be a writable file"),
    ],
    ids=["parquet to stdout", "unknown form", "unwritable file"],
)
def test_hard_refuses_in_one_line(maxloss, trained, words, message):
    done = maxloss("hard", trained / "run", *words)
    assert done.code == 2
    assert message in done.err


def test_hard_of_a_model_without_focus_exits_with_4(maxloss, tmp_path):
    save(tmp_path / "bare", Perceptron())
    done = maxloss("hard", "bare")
    assert done.code == 4
    assert "train it with --focus" in done.err


def test_hard_of_a_model_that_learned_nothing_is_an_empty_table(maxloss, tmp_path):
    save(tmp_path / "fresh", FocusedClassifier(Perceptron(), window=10))
    done = maxloss("hard", "fresh")
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 1
    assert "the window is empty" in done.err


def test_inspect_shows_model_weights_window_positions_and_counters(maxloss, trained):
    done = maxloss("inspect", trained / "run", "-o", "jsonl", "-k", 2)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["model"]["class"] == "Scaler | FocusedClassifier(HingeOGD)"
    weights = take_model(CheckpointStore(trained / "run").load())["FocusedClassifier"].classifier.weights
    assert list(found["weights"]["largest"]) == sorted(weights, key=lambda name: -abs(weights[name]))[:2]
    assert found["window"]["rows"] == 500
    assert found["counters"]["rows"] == 3000
    assert list(found["positions"]) == [str(trained / "c.csv")]
    text = maxloss("inspect", trained / "run").out
    for word in ("root_commands", "effective_rows", "slice-by kind", "learned 3,000"):
        assert word in text


def test_inspect_of_one_checkpoint_shows_that_one(maxloss, trained):
    stores = sorted((trained / "run").glob("ckpt-*"))
    found = [json.loads(maxloss("inspect", store, "-o", "jsonl").out)["counters"]["rows"] for store in stores]
    assert found == [0, 2000, 3000]  # the first is written before the first row


def test_the_position_in_a_followed_file_is_the_next_unread_byte(maxloss, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,1\n2,0\n")
    assert maxloss("tail", "a.csv", "-t", "y", "--follow", "--until-eof", "--checkpoint", "run", "-q").code == 0
    position = json.loads(maxloss("inspect", "run", "-o", "jsonl").out)["positions"]["a.csv"]
    assert position["offset"] == 12
    assert "header" not in position


class Bomb:
    """A pickle of it makes a file when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_a_pickle_is_not_opened_unless_allowed(maxloss, tmp_path):
    save(tmp_path / "foreign", linear_model.LogisticRegression(), allow_pickle=True)
    store = CheckpointStore(tmp_path / "foreign")
    content = store.load(allow_pickle=True)
    content.blobs["model"] = pickle.dumps(Bomb(tmp_path / "exploded"))
    with store:
        store.save(content, allow_pickle=True)
    shown = maxloss("inspect", "foreign")
    assert shown.code == 0, shown.err
    assert "LogisticRegression, a pickle that was not opened" in shown.out
    refused = maxloss("hard", "foreign")
    assert refused.code == 4
    assert "--allow-pickle" in refused.err
    verified = maxloss("verify", "foreign")
    assert verified.code == 0
    assert "was not opened" in verified.err
    assert not (tmp_path / "exploded").exists()


def test_an_allowed_pickle_is_shown(maxloss, tmp_path):
    model = linear_model.LogisticRegression()
    model.learn_one({"a": 1.0}, True)
    save(tmp_path / "foreign", model, allow_pickle=True)
    found = json.loads(maxloss("inspect", "foreign", "--allow-pickle", "-o", "jsonl").out)
    assert found["weights"]["largest"] == {"a": pytest.approx(0.005)}
    assert maxloss("verify", "foreign", "--allow-pickle").err == ""


def test_verify_says_ok_of_every_file(maxloss, trained):
    done = maxloss("verify", trained / "run")
    assert (done.code, done.err) == (0, "")
    assert done.out.count(" ok") == 11


@pytest.mark.parametrize("file", ["manifest.json", "arrays.safetensors", "extra.json"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "deleted"])
def test_verify_exits_with_4_and_names_what_is_damaged(maxloss, trained, tmp_path, file, damage):
    shutil.copytree(trained / "run", tmp_path / "run")
    newest = max((tmp_path / "run").glob("ckpt-*"))
    path = newest / file
    data = bytearray(path.read_bytes())
    if damage == "deleted":
        path.unlink()
    else:
        data[len(data) // 2] ^= 4
        path.write_bytes(data if damage == "flipped" else data[: len(data) // 2])
    done = maxloss("verify", "run", "-o", "jsonl")
    assert done.code == 4
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [(line["checkpoint"], line["file"]) for line in found if line["problem"]] == [(newest.name, file)]
    assert newest.name in done.err
    assert maxloss("verify", newest).code == 4


@pytest.mark.parametrize("command", ["hard", "inspect", "verify"])
def test_a_directory_without_checkpoints_exits_with_4_and_one_line(maxloss, tmp_path, command):
    done = maxloss(command, tmp_path)
    assert (done.code, done.out, done.err.count("\n")) == (4, "", 1)
    assert "check the path" in done.err


def test_inspect_shows_the_weights_of_each_class(maxloss, tmp_path):
    rows = [f"{n % 7},{n % 5},{('low', 'middle', 'high')[n % 3]}" for n in range(90)]
    (tmp_path / "classes.csv").write_text("\n".join(["a,b,size", *rows]) + "\n")
    assert maxloss("tail", "classes.csv", "-t", "size", "--model", "Logistic", "-c", "sizes", "-q").code == 0
    done = maxloss("inspect", "sizes")
    assert done.code == 0, done.err
    assert "middle: a" in done.out
