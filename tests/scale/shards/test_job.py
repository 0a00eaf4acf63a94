from __future__ import annotations

import json
import random

import pytest

from stream_maxloss.errors import UsageError
from stream_maxloss.keyed import KeyedClassifier
from stream_maxloss.linear import Logistic, Perceptron
from stream_maxloss.run import Columns, Tail
from stream_maxloss.scale import Job


@pytest.fixture
def day(tmp_path):
    generator = random.Random(3)
    lines = ["who,a,b,y"]
    for _ in range(900):
        who, a, b = generator.randrange(12), generator.gauss(0, 1), generator.gauss(0, 1)
        lines.append(f"k{who},{a:.4f},{b:.4f},{int(a * (who % 3 - 1) + b > 0)}")
    path = tmp_path / "day.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def said_of(paths):
    """What was predicted, by key, in the order of its rows."""
    found = {}
    for path in paths:
        for line in path.read_text().splitlines():
            row = json.loads(line)
            found.setdefault(row["key"], []).append({k: v for k, v in row.items() if k not in ("row", "key")})
    return found


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_a_model_per_key_predicts_the_same_bits_whatever_the_number_of_shards(day, tmp_path, shards):
    model, columns = KeyedClassifier(Logistic(), "who"), Columns("y", key="who")
    with Tail(str(day), model.clone(), columns, predictions=tmp_path / "one.jsonl") as tail:
        tail.run()
    out = tmp_path / "many.jsonl"
    job = Job(str(day), model, columns, tmp_path / "state", per="who", shards=shards, predictions=str(out))
    head = job.look()[0]
    for shard in job.cut():
        with job.make_tail(shard, head)[0] as tail:
            tail.run()
    one, many = said_of([tmp_path / "one.jsonl"]), said_of(sorted(tmp_path.glob("many.shard-*.jsonl")))
    assert len(one) == 12
    assert many == one


def test_a_malformed_record_is_counted_by_one_shard_only(day, tmp_path):
    day.write_text(day.read_text() + "k1,1.0\n")
    job = Job(str(day), Perceptron(), Columns("y", key="who"), tmp_path / "s", per="who", shards=3, on_bad="skip")
    bad, rows = 0, 0
    for shard in job.cut():
        with job.make_tail(shard, job.look()[0])[0] as tail:
            done = tail.run()
        bad, rows = bad + done.bad, rows + done.rows
    assert (rows, bad) == (900, 1)


def test_files_without_a_column_to_deal_by_are_refused(day, tmp_path):
    with pytest.raises(UsageError, match="files must be dealt to shards by a column, got none"):
        Job(str(day), Perceptron(), "y", tmp_path / "s").check()
