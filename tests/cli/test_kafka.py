"""The whole command on Apache Kafka itself."""

from __future__ import annotations

import json
import random
import threading

import pytest

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]

ROWS = 6000
GROUPS = 40


def make_messages(count: int) -> list[bytes]:
    generator = random.Random(11)
    messages = []
    for number in range(count):
        a, b = generator.gauss(0, 1), generator.gauss(0, 1)
        row = {"a": a, "b": b, "group": f"g{number % GROUPS}", "fraud": a > b}
        messages.append(json.dumps(row).encode())
    return messages


def command(broker, topic, folder, *more):
    places = ["--checkpoint", folder / "checkpoints", "--predictions", folder / "predictions.jsonl"]
    words = ["tail", f"kafka://{broker.bootstrap}/{topic}", "--target", "fraud", "--slice-by", "group"]
    return [*words, "--window", 200, "--replays", 3, *places, "--checkpoint-every", 50, *more]


@pytest.fixture
def warm_up(rows_of, tmp_path):
    """The command on a few rows of a file: a client of the parent would not survive the forks."""
    (tmp_path / "warm.csv").write_text("\n".join(rows_of(200)) + "\n")
    words = ["tail", tmp_path / "warm.csv", "--target", "fraud", "--slice-by", "kind", "--window", 200, "--replays", 3]
    return [*words, "-c", tmp_path / "warm", "--fresh", "-p", tmp_path / "warm.jsonl"]


def test_one_partition_is_learned_exactly_once_and_to_the_bit(kafka_broker, kill_loop, warm_up, state_of, tmp_path):
    topic = kafka_broker.create_topic(1)
    kafka_broker.produce(topic, make_messages(ROWS))
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    straight.mkdir()
    killed.mkdir()
    kill_loop(warm_up, command(kafka_broker, topic, straight, "--until-eof"), kills=0, seed=0)
    result = kill_loop(warm_up, command(kafka_broker, topic, killed, "--until-eof"), kills=30, seed=4)
    assert result["killed"] == 30
    assert result["resumed"] >= 5
    ignored = ("value predictions", "outputs")
    assert state_of(killed / "checkpoints", ignored) == state_of(straight / "checkpoints", ignored)
    assert (killed / "predictions.jsonl").read_bytes() == (straight / "predictions.jsonl").read_bytes()


def test_every_row_of_four_partitions_counts_once_while_a_producer_runs(
    kafka_broker, kill_loop, warm_up, maxloss, tmp_path
):
    topic = kafka_broker.create_topic(4)
    messages = make_messages(ROWS)

    def produce():
        for first in range(0, ROWS, 100):
            kafka_broker.produce(topic, messages[first : first + 100], partition=first // 100 % 4)

    producer = threading.Thread(target=produce)
    producer.start()
    words = command(kafka_broker, topic, tmp_path, "--limit", ROWS)
    result = kill_loop(warm_up, words, kills=30, seed=5)
    producer.join()
    assert result["killed"] == 30
    assert result["resumed"] >= 5
    from stream_maxloss.checkpoint import CheckpointStore

    content = CheckpointStore(tmp_path / "checkpoints").load()
    offsets = content.sources["source"]
    assert {name: offsets[name]["offset"] for name in "0123"} == dict.fromkeys("0123", ROWS // 4)
    assert content.counters == {"rows": ROWS, "learned": ROWS, "bad": 0}
    lines = (tmp_path / "predictions.jsonl").read_text().splitlines()
    assert [json.loads(line)["row"] for line in lines] == list(range(ROWS))
    end = maxloss(*command(kafka_broker, topic, tmp_path, "--limit", ROWS, "-o", "jsonl"))
    slices = json.loads(end.out.splitlines()[-1])["slices"]
    assert {name: found["rows"] for name, found in slices.items()} == {
        f"g{number}": ROWS // GROUPS for number in range(GROUPS)
    }
