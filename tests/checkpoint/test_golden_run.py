"""Checkpoints of real `maxloss tail` runs, written before the engine moved, must load and go on in every release.

`run-1-file` read a CSV file with a dead-letter file; `run-1-kafka` read a topic of a real broker with delayed labels
and a slack. Both are scaled, focused and sliced, with text features, sample weights and predictions. Each folder holds
the rows, the checkpoint at `saved_rows`, what had been written by then, and what the same release made of the rest.
Never rewrite them: add one per format version.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from stream_maxloss.checkpoint import CheckpointStore, Content, put_model, take_model

PROJECT = Path(__file__).parents[2]
GOLDEN = Path(__file__).with_name("golden")
RUNS = ("run-1-file", "run-1-kafka")
SECONDS = 240
# On one processor a release repeats these runs to the bit. Other processors round differently (fused multiply-add, the
# lanes of a sum, exp), in the last digits; a changed state or rule shows in the first ones.
ROUNDING = 1e-9


def expected_of(name: str) -> dict:
    return json.loads((GOLDEN / name / "expected.json").read_text())


def content_of(name: str) -> Content:
    return CheckpointStore(GOLDEN / name / "checkpoints").load()


def records_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def columns_of(records: list[dict]) -> dict[str, list]:
    return {key: [record[key] for record in records] for key in records[0]}


def assert_same_predictions(found: Path, wanted: Path) -> None:
    found_columns, wanted_columns = columns_of(records_of(found)), columns_of(records_of(wanted))
    assert found_columns.pop("probability") == pytest.approx(wanted_columns.pop("probability"), rel=ROUNDING)
    assert found_columns == wanted_columns


@pytest.fixture
def maxloss(tmp_path):
    """Runs the command in the folder of the test."""

    def run(*words: str) -> str:
        path = os.pathsep.join([str(PROJECT), str(PROJECT / "connectors")])
        environment = {**os.environ, "PYTHONPATH": path}
        command = [sys.executable, "-m", "stream_maxloss.cli", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    return run


def copy_run(name: str, folder: Path) -> None:
    for part in (GOLDEN / name).iterdir():
        if part.is_dir():
            shutil.copytree(part, folder / part.name)
        elif not part.name.startswith("continued"):
            shutil.copy(part, folder / part.name)


def test_the_positions_are_read_as_they_were_written():
    file = content_of("run-1-file").sources["source"]["rows.csv"]
    assert (file["byte"], file["line"], file["header"][0]) == (5698, 163, "a")
    topic = content_of("run-1-kafka").sources["source"]
    assert topic["0"] == {"offset": 160}
    assert (topic["_topic"]["name"], topic["_topic"]["gaps"]) == ("payments", [])


@pytest.mark.parametrize("name", RUNS)
def test_the_model_predicts_as_when_it_was_saved(name):
    answers = columns_of(records_of(GOLDEN / name / "answers.jsonl"))
    model = take_model(content_of(name))
    features = ["a", "amount", "country", "night"]
    if name == "run-1-kafka":
        rows = columns_of(records_of(GOLDEN / name / "rows.jsonl"))
    else:
        import pyarrow.csv

        options = pyarrow.csv.ParseOptions(invalid_row_handler=lambda _: "skip")
        rows = pyarrow.csv.read_csv(GOLDEN / name / "rows.csv", parse_options=options).to_pydict()
    frame = pa.table({feature: rows[feature] for feature in features})
    assert np.asarray(model.predict_many(frame)).tolist() == [
        text == "True" for text in map(str, answers["prediction"])
    ]
    found = model.predict_proba_many(frame)["True"].to_numpy()
    assert found.tolist() == pytest.approx(answers["probability"], rel=ROUNDING)


@pytest.mark.parametrize("name", RUNS)
def test_the_model_is_saved_under_the_names_it_was_loaded_from(name):
    content = content_of(name)
    saved = Content()
    put_model(saved, take_model(content))
    before = {key: (a.dtype, a.tobytes()) for key, a in content.arrays.items() if key.startswith("model")}
    assert {key: (a.dtype, a.tobytes()) for key, a in saved.arrays.items()} == before
    for key in saved.values:
        assert saved.values[key] == content.values[key]


def test_the_run_of_a_file_continues_as_it_did(maxloss, tmp_path):
    copy_run("run-1-file", tmp_path)
    out = maxloss("tail", "rows.csv", *expected_of("run-1-file")["words"])
    check_end(out, "run-1-file", tmp_path)
    letters = GOLDEN / "run-1-file" / "continued_bad.jsonl"
    assert (tmp_path / "bad.jsonl").read_bytes() == letters.read_bytes()


def test_the_run_of_a_topic_continues_as_it_did(maxloss, tmp_path):
    kafka_mock = pytest.importorskip("kafka_mock")
    copy_run("run-1-kafka", tmp_path)
    with CheckpointStore(tmp_path / "checkpoints") as store:
        content = store.load()
        # The broker of then is gone, and a position of another cluster is refused, rightly.
        content.sources["source"]["_topic"] |= {"cluster_id": None, "topic_id": None}
        store.save(content)
    cluster = kafka_mock.MockCluster()
    try:
        cluster.create_topic("payments")
        cluster.produce("payments", (tmp_path / "rows.jsonl").read_bytes().splitlines())
        settings = [word for pair in cluster.settings.items() for word in ("-X", "=".join(pair))]
        words = expected_of("run-1-kafka")["words"]
        out = maxloss("tail", f"kafka://{cluster.bootstrap}/payments", *words, *settings)
    finally:
        cluster.close()
    check_end(out, "run-1-kafka", tmp_path)


def check_end(out: str, name: str, folder: Path) -> None:
    """The last report is what it was, and so are the predictions and the names of all that is saved."""
    end = json.loads(out.splitlines()[-1])
    wanted = expected_of(name)["end"]
    found, wanted_leaves = flatten({key: end[key] for key in wanted}), flatten(wanted)
    assert found.keys() == wanted_leaves.keys()
    for key, value in wanted_leaves.items():
        assert found[key] == (pytest.approx(value, rel=ROUNDING) if isinstance(value, float) else value), key
    assert_same_predictions(folder / "predictions.jsonl", GOLDEN / name / "continued.jsonl")
    before, after = content_of(name), CheckpointStore(folder / "checkpoints").load()
    assert sorted(after.arrays) == sorted(before.arrays)
    # Later releases add to it.
    assert set(after.values) >= set(before.values)
    assert flatten(after.values["run"]) == flatten(before.values["run"])
    assert set(after.values["board"]) >= set(before.values["board"])
    assert after.counters["rows"] == wanted["rows"]


def flatten(value: object, prefix: str = "") -> dict[str, object]:
    if isinstance(value, dict):
        return {key: leaf for name, part in value.items() for key, leaf in flatten(part, f"{prefix}.{name}").items()}
    return {prefix: value}
