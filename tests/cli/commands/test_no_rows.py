"""A source without rows: one line that says what to do, and nothing that stands in the way of the rows to come."""

from __future__ import annotations

import json
import signal

import pytest

EMPTY = {
    "a name that is empty": ("", None, 5, "is a variable of the shell empty?"),
    "a directory without files": ("folder", None, 5, "check the path, or wait for files with --follow"),
    "no byte": ("day.csv", "", 5, "got an empty file; was it written to the end?"),
    "a header alone": ("day.csv", "a,b,fraud\n", 0, "day.csv had no rows, so nothing was learned; was it written"),
}


@pytest.mark.parametrize(("name", "text", "code", "line"), EMPTY.values(), ids=EMPTY)
def test_it_is_said_in_one_line(maxloss, tmp_path, name, text, code, line) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "other.csv").write_text("a,fraud\n1,0\n")  # what an empty name would find
    if text is not None:
        (tmp_path / name).write_text(text)
    end = maxloss("tail", name, "--target", "fraud", "-c", "state")
    assert (end.code, end.out, len(end.err.splitlines())) == (code, "", 1), end.err
    assert line in end.err


@pytest.mark.parametrize("text", ["", "a,b,fraud\n"], ids=["no byte", "a header alone"])
def test_the_same_command_learns_the_rows_once_they_are_there(maxloss, tmp_path, text) -> None:
    path = tmp_path / "day.csv"
    words = ["tail", path, "--target", "fraud", "-c", "state", "-o", "jsonl"]
    path.write_text(text)
    maxloss(*words)
    path.write_text("a,b,fraud\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(50)))
    end = maxloss(*words)
    assert (end.code, json.loads(end.out.splitlines()[-1])["rows"]) == (0, 50), end.err


def test_a_followed_file_that_began_with_its_header_is_gone_on_with(started, wait_until, maxloss, tmp_path) -> None:
    path = tmp_path / "live.csv"
    path.write_text("a,b,fraud\n")
    process = started("tail", path, "--target", "fraud", "--follow", "-c", "state")
    wait_until(lambda: list((tmp_path / "state").glob("ckpt-*")))
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=120)
    path.write_text("a,b,fraud\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(50)))
    end = maxloss("resume", "state", "--no-follow", "-o", "jsonl")
    assert (end.code, json.loads(end.out.splitlines()[-1])["rows"]) == (0, 50), end.err
