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
    return [*words, "--window", 200, "--replays", 3, "--model", "HingeOGD", *places, "--checkpoint-every", 50, *more]


@pytest.fixture
def warm_up(rows_of, tmp_path):
    """The command on a few rows of a file: a client of the parent would not survive the forks."""
    (tmp_path / "warm.csv").write_text("\n".join(rows_of(200)) + "\n")
    words = [
        "tail",
        tmp_path / "warm.csv",
        "--target",
        "fraud",
        "--slice-by",
        "kind",
        "--window",
        200,
        "--replays",
        3,
        "--model",
        "HingeOGD",
    ]
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


def test_predictions_carry_the_place_and_the_key_of_their_message_and_are_sent_under_it(
    kafka_broker, maxloss, tmp_path
):
    topic, output = kafka_broker.create_topic(1), kafka_broker.create_topic(1)
    producer = kafka_broker.producer()
    keys = [f"order-{number}".encode() for number in range(98)] + [b"\xff\x01", None]
    for key, value in zip(keys, make_messages(100), strict=True):
        producer.produce(topic, value, key)
    assert producer.flush(60) == 0
    words = ["tail", f"kafka://{kafka_broker.bootstrap}/{topic}", "--until-eof", "--target", "fraud", "-q"]
    end = maxloss(*words, "--model", "HingeOGD", "-p", f"kafka://{kafka_broker.bootstrap}/{output}")
    assert end.code == 0, end.err
    kafka_broker.settle(output)
    found = messages_of(kafka_broker, output, 100)
    rows = [json.loads(message.value()) for message in found]
    assert [row["offset"] for row in rows] == list(range(100))
    assert {row["partition"] for row in rows} == {0}
    texts = [f"order-{number}" for number in range(98)] + ["/wE=", None]
    assert [row["key"] for row in rows] == texts
    assert [message.key() for message in found] == [None if text is None else text.encode() for text in texts]


def test_labels_of_another_topic_are_joined_by_key(kafka_broker, maxloss, tmp_path):
    rows, labels = kafka_broker.create_topic(1), kafka_broker.create_topic(1)
    found = [json.loads(message) for message in make_messages(3000)]
    kafka_broker.produce(rows, [json.dumps({"id": n, "a": r["a"], "b": r["b"]}).encode() for n, r in enumerate(found)])
    kafka_broker.produce(labels, [json.dumps({"id": n, "fraud": r["fraud"]}).encode() for n, r in enumerate(found)])
    uri = f"kafka://{kafka_broker.bootstrap}/"
    words = ["tail", uri + rows, "--labels", uri + labels, "--until-eof", "--key", "id", "--target", "fraud"]
    words += ["--model", "HingeOGD", "-c", tmp_path / "state", "-o", "jsonl"]
    for limit in (700, 2000, 5000):
        done = maxloss(*words, "--limit", limit)
        assert done.code == 0, done.err
    end = json.loads(done.out.splitlines()[-1])
    assert end["labels"] == {"joined": 3000, "expired": 0, "unknown": 0, "doubled": 0, "waiting": 0, "early": 0}
    assert end["metric"]["Accuracy"]["total"] > 0.6


def messages_of(broker, topic, count):
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "test", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    for _ in range(100):
        found += [message for message in consumer.consume(count, 1.0) if message.error() is None]
        if len(found) >= count:
            break
    consumer.close()
    return found


def rows_seen(broker, topic):
    from kafka_rows import read_rows, source_of

    broker.settle(topic)
    return sorted(int(row["row"]) for rows in read_rows(source_of(broker, topic)).values() for row in rows)


@pytest.mark.parametrize("options", [[], ["--checkpoint-every", 50]], ids=["no checkpoints", "checkpoints"])
def test_predictions_go_to_kafka_once(kafka_broker, maxloss, rows_of, tmp_path, options):
    output = kafka_broker.create_topic(2)
    (tmp_path / "rows.csv").write_text("\n".join(rows_of(500)) + "\n")
    places = ["-c", tmp_path / "state"] if options else []
    words = ["tail", tmp_path / "rows.csv", "--target", "fraud", "--slice-by", "kind", *places, *options]
    end = maxloss(*words, "--predictions", f"kafka://{kafka_broker.bootstrap}/{output}")
    assert end.code == 0, end.err
    assert rows_seen(kafka_broker, output) == list(range(500))


def test_a_run_that_fails_leaves_no_prediction_that_comes_again(kafka_broker, maxloss, rows_of, tmp_path):
    output = kafka_broker.create_topic(1)
    header, *rows = rows_of(500)
    source = tmp_path / "rows.csv"
    source.write_text("\n".join([header, *rows[:300], "nonsense", *rows[300:]]) + "\n")
    words = ["tail", source, "--target", "fraud", "--slice-by", "kind", "-c", tmp_path / "state"]
    words += ["--checkpoint-every", 200, "--predictions", f"kafka://{kafka_broker.bootstrap}/{output}"]
    assert maxloss(*words).code == 3
    assert rows_seen(kafka_broker, output) == list(range(200))
    end = maxloss(*words, "--on-bad", "skip")
    assert end.code == 0, end.err
    assert rows_seen(kafka_broker, output) == list(range(500))
