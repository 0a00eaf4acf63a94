"""Labels that come later, by key, beside a join in plain Python."""

from __future__ import annotations

import csv
import json
import random

import pytest

LOOK = 1024  # labels are looked at after so many rows, and as many are read at a time


@pytest.fixture
def clicks(tmp_path):
    """A file of clicks, and one of labels that come up to three hours later, for four fifths of them."""
    generator = random.Random(3)
    rows, labels, time = [], [], 1_700_000_000
    for number in range(5000):
        time += generator.randrange(60)
        a, b = generator.gauss(0, 1), generator.gauss(0, 1)
        rows.append(f"k{number},{time},{a:.4f},{b:.4f},{'rare' if number % 9 == 0 else 'usual'}")
        if generator.random() < 0.8:
            bought = str(a + b + generator.gauss(0, 0.3) > 0).lower()
            labels.append((time + generator.randrange(3 * 3600), f"k{number}", bought))
    labels.sort()
    labels.insert(1500, labels[3])
    labels.insert(200, (labels[200][0], "nobody", "true"))
    (tmp_path / "clicks.csv").write_text("\n".join(["id,when,a,b,kind", *rows]) + "\n")
    (tmp_path / "labels.csv").write_text("\n".join(["when,id,bought", *(f"{t},{k},{y}" for t, k, y in labels)]) + "\n")
    (tmp_path / "bare.csv").write_text("\n".join(["id,bought", *(f"{k},{y}" for _, k, y in labels)]) + "\n")
    return tmp_path


WORDS = ["tail", "clicks.csv", "--target", "bought", "--key", "id", "--slice-by", "kind", "--features", "a,b"]
MODEL = ["--model", "HingeOGD", "--no-scale", "--no-focus"]


def end_of(done):
    assert done.code == 0, done.err
    return json.loads(done.out.splitlines()[-1])


def join(rows, labels, ttl):
    """The order in which rows are learned, and what becomes of the others, for labels without a time."""
    waiting, early, learned, counts = {}, {}, [], {"joined": 0, "expired": 0, "unknown": 0, "doubled": 0}
    read = number = 0
    while True:
        for row in rows[number : number + LOOK]:
            waiting[row["id"]] = (number, row)
            number += 1
        is_full = number % LOOK == 0 and number > 0
        ended = number >= len(rows)
        if is_full or ended:
            for key in [key for key in waiting if key in early]:
                learned.append((waiting.pop(key)[1], early.pop(key)[1]))
            for label in labels[read : read + LOOK]:
                if label["id"] in waiting:
                    learned.append((waiting.pop(label["id"])[1], label["bought"]))
                elif label["id"] in early or any(row["id"] == label["id"] for row, _ in learned):
                    counts["doubled"] += 1
                else:
                    early[label["id"]] = (number, label["bought"])
            read += LOOK
            for key in [key for key, (at, _) in waiting.items() if number - at > ttl]:
                del waiting[key]
                counts["expired"] += 1
            for key in [key for key, (at, _) in early.items() if number - at > ttl]:
                del early[key]
                counts["unknown"] += 1
        if ended and read >= len(labels):
            counts |= {"joined": len(learned), "waiting": len(waiting), "early": len(early)}
            return learned, counts


@pytest.mark.parametrize("ttl", [1500, 100_000])
def test_rows_are_learned_in_the_order_of_their_labels_with_the_scores_of_before(maxloss, clicks, ttl):
    from stream_maxloss.checkpoint import CheckpointStore, take_model
    from stream_maxloss.linear import HingeOGD

    words = [*WORDS, *MODEL, "--labels", "bare.csv", "--label-ttl", ttl, "--metric", "Accuracy"]
    end = end_of(maxloss(*words, "-c", "state", "-p", "out.jsonl", "-o", "jsonl"))
    rows = list(csv.DictReader((clicks / "clicks.csv").open()))
    learned, counts = join(rows, list(csv.DictReader((clicks / "bare.csv").open())), ttl)
    assert end["labels"] == counts
    assert end["learned"] == counts["joined"]
    model = HingeOGD()
    for row, label in learned:
        model.learn_one({"a": float(row["a"]), "b": float(row["b"])}, label == "true")
    found = take_model(CheckpointStore(clicks / "state").load())
    assert dict(found.weights) == dict(model.weights)
    said = {row["key"]: row for row in map(json.loads, (clicks / "out.jsonl").read_text().splitlines())}
    assert len(said) == 5000
    right = [said[row["id"]]["prediction"] == (label == "true") for row, label in learned]
    assert end["metric"]["Accuracy"]["total"] == pytest.approx(sum(right) / len(right))


@pytest.mark.parametrize("words", [["--labels", "bare.csv"], ["--labels", "labels.csv", "--time", "when"]])
@pytest.mark.parametrize(
    "model", [[*MODEL], ["--model", "HingeOGD", "--window", 300], []], ids=["bare", "focus", "auto"]
)
def test_a_run_in_pieces_is_the_same_to_the_bit(maxloss, clicks, state_of, words, model):
    words = [*WORDS, *model, *words, "--label-ttl", "2h" if "--time" in words else 2000, "--report-every", 700]
    assert maxloss(*words, "-c", "straight", "-p", "straight.jsonl", "-q").code == 0
    for limit in (300, 1024, 2100, 2100, 4999):
        assert maxloss(*words, "-c", "parts", "-p", "parts.jsonl", "-q", "--limit", limit).code == 0
    done = maxloss("resume", "parts", "-q")
    assert done.code == 0, done.err
    ignored = ("value predictions", "outputs")
    assert state_of(clicks / "parts", ignored) == state_of(clicks / "straight", ignored)
    assert (clicks / "parts.jsonl").read_bytes() == (clicks / "straight.jsonl").read_bytes()


def test_with_times_no_label_is_used_before_it_came(maxloss, clicks):
    words = [*WORDS, *MODEL, "--labels", "labels.csv", "--time", "when", "--label-ttl", "7d"]
    early = end_of(maxloss(*words, "-o", "jsonl", "--limit", 1024))
    assert early["labels"]["joined"] == 0  # nothing was looked at before the first 1,024 rows were there
    rows = list(csv.DictReader((clicks / "clicks.csv").open()))
    labels = list(csv.DictReader((clicks / "labels.csv").open()))
    clock = float(rows[2047]["when"])
    known = {row["id"] for row in rows[:2048]}
    by_then = {label["id"] for label in labels if float(label["when"]) <= clock and label["id"] in known}
    found = end_of(maxloss(*words, "-o", "jsonl", "--limit", 2049))["labels"]["joined"]
    assert 0 < found <= len(by_then)


def test_three_classes_and_numbers_are_joined_too(maxloss, tmp_path):
    rows = [(number, number % 7 / 7) for number in range(3000)]
    (tmp_path / "rows.csv").write_text("id,x\n" + "".join(f"{n},{x:.3f}\n" for n, x in rows))
    (tmp_path / "y.csv").write_text("id,kind,size\n" + "".join(f"{n},{'abc'[n % 3]},{2 * x + 0.25}\n" for n, x in rows))
    words = ["tail", "rows.csv", "--key", "id", "--labels", "y.csv", "-o", "jsonl", "-p"]
    assert end_of(maxloss(*words, "kind.jsonl", "--target", "kind"))["labels"]["joined"] == 3000
    assert json.loads((tmp_path / "kind.jsonl").read_text().splitlines()[-1])["prediction"] in ("a", "b", "c")
    end = end_of(maxloss(*words, "size.jsonl", "--target", "size"))
    assert end["metric"]["MAE"]["total"] < end["metric"]["MAE"]["baseline"]


def test_the_hardest_rows_have_their_origin(maxloss, clicks):
    words = [*WORDS, "--model", "HingeOGD", "--window", 100, "--labels", "bare.csv", "-c", "state", "-q"]
    assert maxloss(*words).code == 0
    rows = list(csv.DictReader((clicks / "clicks.csv").open()))
    for line in maxloss("hard", "state", "-k", 50, "-o", "jsonl").out.splitlines():
        hard = json.loads(line)
        read = rows[int(hard["origin"].rpartition(":")[2]) - 2]
        assert (hard["key"], hard["slice"], hard["x"]["a"]) == (read["id"], read["kind"], float(read["a"]))


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--label-ttl", "7d"], 2, "--label-ttl must come with --time COLUMN where it is a duration"),
        (["--label-ttl", "soon"], 2, "--label-ttl must be rows (100000) or a duration (45s, 30m, 12h, 7d), got 'soon'"),
        (["--delay", 5], 2, "--labels must not come with --delay, got 5"),
        (["--labels", "nowhere.csv"], 5, "nowhere.csv"),
        (["--labels", "clicks.csv"], 2, "labels: target must name a column, got 'bought'"),
    ],
    ids=["no time", "no duration", "delay", "no file", "no target"],
)
def test_what_cannot_be_joined_is_one_line(maxloss, clicks, words, code, message):
    done = maxloss(*WORDS, *MODEL, "--labels", "bare.csv", *words)
    assert done.code == code, done.err
    assert message in done.err
    assert done.err.count("\n") == 1


def test_labels_need_a_key(maxloss, clicks):
    done = maxloss("tail", "clicks.csv", "--target", "bought", "--labels", "bare.csv", "--model", "HingeOGD")
    assert done.code == 2
    assert "--labels must come with --key COLUMN" in done.err


def test_a_label_without_a_key_is_a_bad_record_with_its_address(maxloss, clicks):
    lines = (clicks / "bare.csv").read_text().splitlines()
    lines[7] = ",true"
    (clicks / "bare.csv").write_text("\n".join(lines) + "\n")
    done = maxloss(*WORDS, *MODEL, "--labels", "bare.csv", "-q")
    assert done.code == 3
    assert "bare.csv:8: key 'id' must be present" in done.err
    assert maxloss(*WORDS, *MODEL, "--labels", "bare.csv", "-q", "--on-bad", "skip").code == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("looked_at", -1), ("counts", {"joined": 1.5}), ("settled", 7), ("kind", "nonsense"), ("clock", "now")],
)
def test_verify_refuses_waiting_rows_that_a_run_would_refuse(maxloss, clicks, name, value):
    from stream_maxloss.checkpoint import CheckpointStore

    words = [*WORDS, *MODEL, "--labels", "bare.csv", "-c", "state"]
    assert maxloss(*words, "--limit", 2000, "-q").code == 0
    with CheckpointStore(clicks / "state") as store:
        content = store.load()
        content.values["late"][name] = value
        store.save(content)
    for done in (maxloss("verify", "state"), maxloss(*words, "-q")):
        assert done.code == 4, done.err
        assert "must hold the state of a run" in done.err
        assert "Traceback" not in done.err
