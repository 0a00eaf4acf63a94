"""Commands in terminals that are small, dumb or without colour."""

from __future__ import annotations

import json
import re
import sys

import pytest

from command_fixtures import environment
from pseudo_terminal import run_in_terminal

COLOURS = re.compile(r"\x1b\[[0-9;]*(?:3[0-8]|4[0-8]|9[0-7])[0-9;]*m")
SLOW_MODEL = """
import time
from river import dummy
class Slow(dummy.PriorClassifier):
    def learn_one(self, x, y):
        time.sleep(0.005)
        super().learn_one(x, y)
"""


@pytest.fixture
def typed(tmp_path):
    """Runs the command in a terminal of its own."""

    def run(*words: object, width: int = 80, height: int = 24, **extra: str):
        command = [sys.executable, "-m", "stream_maxloss.cli", *map(str, words)]
        known = {name: value for name, value in environment().items() if name != "NO_COLOR"}
        return run_in_terminal(command, tmp_path, {**known, "TERM": "xterm-256color", **extra}, width, height)

    return run


def test_a_dumb_terminal_gets_lines_without_codes(typed, day):
    code, text = typed("tail", "day.csv", "--target", "fraud", "--model", "HingeOGD", TERM="dumb")
    assert code == 0, text
    assert "500 rows in" in text
    assert "\x1b" not in text


def test_without_colour_the_live_view_has_none_and_gives_the_screen_back(typed, day):
    words = ["tail", "day.csv", "--target", "fraud", "--slice-by", "kind", "--model", "HingeOGD"]
    code, text = typed(*words, NO_COLOR="1")
    assert code == 0, text
    assert "Accuracy" in text
    assert not COLOURS.search(text)
    assert text.count("\x1b[?1049h") == text.count("\x1b[?1049l") == 1
    assert text.rindex("\x1b[?1049l") < text.rindex("500 rows in")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10), (20, 5)])
def test_no_line_of_the_live_view_is_longer_than_the_screen(typed, day, width, height):
    words = ["tail", "day.csv", "--target", "fraud", "--slice-by", "kind", "--model", "HingeOGD"]
    code, text = typed(*words, width=width, height=height)
    assert code == 0, text
    view = text.split("\x1b[?1049h")[1].split("\x1b[?1049l")[0].replace("\x1b[H", "\n")
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", view).replace("\r", "\n").splitlines()
    assert any(re.match(r"\d+ rows", line) for line in lines)
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [40, 80])
def test_compare_shows_how_far_it_is_on_one_line(typed, day, tmp_path, width):
    (tmp_path / "slow_model.py").write_text(SLOW_MODEL)
    words = ["compare", "day.csv", "--target", "fraud", "--metric", "accuracy", "--model", "slow_model:Slow"]
    code, text = typed(*words, width=width)
    assert code == 0, text
    drawn = [part for part in re.findall(r"\r([^\r\n]+)", text) if "rows/s" in part]
    assert drawn, text
    assert max(map(len, drawn)) < width
    assert any(re.match(r"\d+%", part) for part in drawn)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_schema_shows_what_becomes_of_each_column_however_narrow(typed, tmp_path, width):
    rows = [
        {"user": {"geo": {"country": "DE"}}, "tags": ["a", "b"], "when": f"2026-01-01 0{n % 9}:00:00", "y": n % 2}
        for n in range(60)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, text = typed("schema", "a.jsonl", width=width)
    assert code == 0, text
    table = text.replace("\r", "").split("maxloss:")[0].splitlines()
    assert max(map(len, table)) <= width
    assert "feature" in table[0]
    for name, feature in (("user.geo.country", "one per text"), ("when", "hour, weekday"), ("y", "number")):
        assert any(line.startswith(name) and feature in line for line in table), table
