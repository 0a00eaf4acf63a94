from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

ROWS = 12_000
COMMON = [
    "--target",
    "fraud",
    "--slice-by",
    "kind",
    "--window",
    200,
    "--model",
    "HingeOGD",
    "--replays",
    3,
    "--metric",
    "accuracy,logloss,tailloss",
]


def command(source, folder: Path, *more: object) -> list[object]:
    places = ["--checkpoint", folder / "checkpoints", "--predictions", folder / "predictions.jsonl"]
    return ["tail", source, *COMMON, *places, "--checkpoint-every", 100, *more]


@pytest.fixture
def warm_up(rows_of, tmp_path):
    """The command on a few rows."""
    folder = tmp_path / "warm"
    folder.mkdir()
    (folder / "rows.csv").write_text("\n".join(rows_of(200)) + "\n")
    return lambda *more: command(folder / "rows.csv", folder, "--fresh", *more)


def test_files_are_learned_exactly_once_however_often_killed(kill_loop, warm_up, rows_of, state_of, tmp_path):
    source = tmp_path / "rows.csv"
    source.write_text("\n".join(rows_of(ROWS)) + "\n")
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    straight.mkdir()
    killed.mkdir()
    kill_loop(warm_up(), command(source, straight), kills=0, seed=0)
    result = kill_loop(warm_up(), command(source, killed), kills=30, seed=1)
    # Kills before the first checkpoint prove little: most must hit a run that had gone on from one.
    assert result["killed"] == 30
    assert result["resumed"] >= 8
    ignored = ("value predictions", "outputs")
    assert state_of(killed / "checkpoints", ignored) == state_of(straight / "checkpoints", ignored)
    predictions = (straight / "predictions.jsonl").read_bytes()
    assert (killed / "predictions.jsonl").read_bytes() == predictions
    assert predictions.count(b"\n") == ROWS


def test_a_followed_file_is_learned_exactly_once_while_it_grows(kill_loop, warm_up, rows_of, state_of, tmp_path):
    header, *rows = rows_of(ROWS)
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    for folder, lines in ((straight, [header, *rows]), (killed, [header, *rows[:1000]])):
        folder.mkdir()
        (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    more = ["--follow", "--limit", ROWS]
    warm = warm_up("--follow", "--until-eof")
    kill_loop(warm, command(straight / "rows.csv", straight, *more), kills=0, seed=0)
    feed = [str(killed / "rows.csv"), rows[1000:], 6.0]
    result = kill_loop(warm, command(killed / "rows.csv", killed, *more), kills=30, seed=2, feed=feed)
    assert result["killed"] == 30
    assert result["resumed"] >= 8
    # The file has another inode, and the words that name it differ; everything learned must not.
    ignored = ("value predictions", "outputs", "sources", "value source_name", "value command")
    assert state_of(killed / "checkpoints", ignored) == state_of(straight / "checkpoints", ignored)
    assert (killed / "predictions.jsonl").read_bytes() == (straight / "predictions.jsonl").read_bytes()


def test_standard_input_given_again_from_its_start_is_learned_exactly_once(maxloss, rows_of, state_of, tmp_path):
    text = ("\n".join(rows_of(2000)) + "\n").encode()
    straight, resumed = tmp_path / "straight", tmp_path / "resumed"
    for folder in (straight, resumed):
        folder.mkdir()
    assert maxloss(*command("-", straight), "--format", "csv", data=text).code == 0
    assert maxloss(*command("-", resumed), "--format", "csv", "--limit", 700, data=text).code == 0
    again = maxloss(*command("-", resumed), "--format", "csv", data=text)
    assert again.code == 0, again.err
    assert "resuming from checkpoint" in again.err
    ignored = ("value predictions", "outputs")
    assert state_of(resumed / "checkpoints", ignored) == state_of(straight / "checkpoints", ignored)
    assert (resumed / "predictions.jsonl").read_bytes() == (straight / "predictions.jsonl").read_bytes()


STEPS = ("before-create", "before-write", "after-write", "after-fsync")
FILES = ("arrays.safetensors", "extra.json", "manifest.json")
AROUND = ("mkdir", "fsync-directory", "discard", "remove")
CRASHES = [f"{step}-{name}:5" for name in FILES for step in STEPS]
CRASHES += [f"{when}-{what}" for what in AROUND for when in ("before", "after")]
CRASHES += ["after-rename:1", "after-rename:5", "after-fsync-parent:1", "after-fsync-parent:5"]


def test_a_crash_before_or_after_any_step_of_a_checkpoint_costs_nothing(maxloss, rows_of, state_of, tmp_path):
    source = tmp_path / "rows.csv"
    source.write_text("\n".join(rows_of(1000)) + "\n")
    straight = tmp_path / "straight"
    straight.mkdir()
    assert maxloss(*command(source, straight)).code == 0
    ignored = ("value predictions", "outputs")
    for point in CRASHES:
        folder = tmp_path / point
        folder.mkdir()
        assert maxloss(*command(source, folder), STREAM_MAXLOSS_CRASH_AT=point).code == 70, point
        resumed = maxloss(*command(source, folder))
        assert resumed.code == 0, (point, resumed.err)
        assert state_of(folder / "checkpoints", ignored) == state_of(straight / "checkpoints", ignored), point
        assert (folder / "predictions.jsonl").read_bytes() == (straight / "predictions.jsonl").read_bytes(), point


@pytest.mark.parametrize("damage", ["truncate", "flip", "delete"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before_and_the_end_is_the_same(
    maxloss, rows_of, state_of, tmp_path, damage
):
    source = tmp_path / "rows.csv"
    source.write_text("\n".join(rows_of(2000)) + "\n")
    straight, damaged = tmp_path / "straight", tmp_path / "damaged"
    straight.mkdir()
    damaged.mkdir()
    assert maxloss(*command(source, straight)).code == 0
    assert maxloss(*command(source, damaged), "--limit", 1300).code == 0
    last = sorted((damaged / "checkpoints").glob("ckpt-*"))[-1]
    generator = random.Random(damage)
    spoil(generator.choice(sorted(last.iterdir())), damage, generator)
    resumed = maxloss(*command(source, damaged))
    assert resumed.code == 0, resumed.err
    assert "damaged checkpoint" in resumed.err
    assert len(resumed.err.splitlines()) == 2  # that one, and where it goes on
    ignored = ("value predictions", "outputs")
    assert state_of(damaged / "checkpoints", ignored) == state_of(straight / "checkpoints", ignored)
    assert (damaged / "predictions.jsonl").read_bytes() == (straight / "predictions.jsonl").read_bytes()


def spoil(file: Path, damage: str, generator: random.Random) -> None:
    data = bytearray(file.read_bytes())
    if damage == "delete":
        file.unlink()
        return
    if damage == "truncate":
        del data[len(data) // 2 :]
    else:
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    file.write_bytes(data)


def test_the_dead_letter_file_is_cut_to_the_checkpoint_on_resume(maxloss, rows_of, tmp_path):
    header, *rows = rows_of(1000)
    for number in range(50, 1000, 100):
        rows[number] = f"nonsense {number}"
    source = tmp_path / "rows.csv"
    source.write_text("\n".join([header, *rows]) + "\n")
    letters = tmp_path / "bad.jsonl"
    more = ["--on-bad", f"dlq={letters}"]
    assert maxloss(*command(source, tmp_path, *more), "--limit", 300).code == 0
    with letters.open("a") as file:
        file.write('{"written": "after the checkpoint, by a run that was killed"}\n')
    assert maxloss(*command(source, tmp_path, *more)).code == 0
    records = [json.loads(line) for line in letters.read_text().splitlines()]
    assert [record["address"].rpartition(":")[2] for record in records] == [str(n + 2) for n in range(50, 1000, 100)]
