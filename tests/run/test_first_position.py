"""The position before the first row, outputs that are read, and --follow added or dropped, through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_maxloss.checkpoint import CheckpointStore
from stream_maxloss.linear import Perceptron
from stream_maxloss.run import Tail


class KilledError(BaseException):
    """What a kill does, without the kill: nothing is saved on the way out."""


def killed_after(rows: int, tail: Tail) -> None:
    def on_step() -> None:
        if tail.session.rows >= rows:
            raise KilledError

    tail.on_step = on_step
    with tail, pytest.raises(KilledError):
        tail.run()


def follow(path: Path, folder: Path, **options: object) -> Tail:
    from stream_maxloss_connectors import open_source

    source = open_source(path, follow=True)
    return Tail(source, Perceptron(), "y", checkpoint=folder, checkpoint_every="1000000", **options)


def test_rows_learned_before_the_first_checkpoint_are_found_again_after_a_rotation(tmp_path: Path) -> None:
    path, folder = tmp_path / "live.csv", tmp_path / "state"
    (tmp_path / "live.csv.1").write_text("x,y\n-1,false\n")
    path.write_text("x,y\n" + "1,true\n" * 1000)
    killed_after(1000, follow(path, folder))
    (tmp_path / "live.csv.1").rename(tmp_path / "live.csv.2")
    path.rename(tmp_path / "live.csv.1")
    path.write_text("x,y\n" + "2,true\n" * 500)
    with follow(path, folder, limit=1500) as tail:
        assert tail.run().rows == 1500


def test_the_first_checkpoint_holds_the_positions_and_no_row(tmp_path: Path) -> None:
    path, folder = tmp_path / "live.csv", tmp_path / "state"
    path.write_text("x,y\n1,true\n")
    killed_after(1, follow(path, folder))
    content = CheckpointStore(folder).load()
    assert content.counters == {"rows": 0, "learned": 0, "bad": 0}
    assert list(content.sources["source"]) == [str(path)]


@pytest.mark.parametrize("command", ["tail", "predict"])
@pytest.mark.parametrize("output", ["--predictions", "--on-bad"])
def test_an_output_that_is_the_source_is_refused_and_the_source_stays(maxloss, day, tmp_path, command, output) -> None:
    assert maxloss("tail", day, "--target", "fraud", "--slice-by", "kind", "-c", tmp_path / "state").code == 0
    before = day.read_bytes()
    (tmp_path / "link.csv").hardlink_to(day)
    place = tmp_path / "link.csv"
    words = [output, place if output == "--predictions" else f"dlq={place}", "-c", tmp_path / "state"]
    end = maxloss(command, day, "--target", "fraud", "--slice-by", "kind", *words)
    assert end.code == 2, end.err
    assert "must not be written to what is read" in end.err
    assert len(end.err.splitlines()) == 1
    assert day.read_bytes() == before


@pytest.mark.parametrize("first", [True, False], ids=["dropped", "added"])
def test_follow_can_be_added_and_dropped_on_resume(maxloss, rows_of, tmp_path, first) -> None:
    header, *rows = rows_of(600)
    path = tmp_path / "live.csv"
    path.write_text("\n".join([header, *rows[:400]]) + "\n")
    words = [
        "tail",
        path,
        "--target",
        "fraud",
        "--slice-by",
        "kind",
        "-c",
        tmp_path / "state",
        "-p",
        tmp_path / "out.jsonl",
    ]
    follow = ["--follow", "--until-eof"]
    assert maxloss(*words, *(follow if first else [])).code == 0
    with path.open("a") as file:
        file.write("\n".join(rows[400:]) + "\n")
    end = maxloss(*words, *([] if first else follow))
    assert end.code == 0, end.err
    numbers = [json.loads(line)["row"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert numbers == list(range(600))
