"""What the user wrote is one line; our own mistakes are tracebacks."""

from __future__ import annotations

import pytest

BROKEN = """
import sys
from stream_maxloss.cli import main
from stream_maxloss.run.session import Session

def step(*_, **__):
    raise {error}("nobody's fault but ours")

Session.step = step
sys.argv = ["maxloss", "tail", "day.csv", "--target", "fraud"]
main()
"""


@pytest.mark.parametrize("error", ["ValueError", "TypeError", "KeyError"])
def test_a_defect_is_a_traceback_and_exit_code_1(python, day, error):
    done = python("-c", BROKEN.format(error=error))
    assert done.code == 1
    assert done.err.startswith("Traceback")
    assert "nobody's fault but ours" in done.err


def test_a_usage_error_is_a_traceback_where_that_is_wanted(maxloss, day):
    done = maxloss("tail", day, "--target", "fruad", MAXLOSS_TRACEBACK="1")
    assert done.code == 1
    assert "MissingColumnError" in done.err


@pytest.mark.parametrize("delay", [0, 5])
def test_a_model_of_the_user_that_fails_is_one_line_with_the_row(maxloss, day, tmp_path, delay):
    (tmp_path / "mine.py").write_text(
        "from river import dummy\n"
        "class Broken(dummy.PriorClassifier):\n"
        "    rows = 0\n"
        "    def predict_one(self, x):\n"
        "        self.rows += 1\n"
        "        if self.rows == 4:\n"
        "            raise KeyError('this model is broken')\n"
    )
    words = ["tail", day, "--target", "fraud", "--model", "mine:Broken", "--metric", "accuracy", "--delay", delay]
    done = maxloss(*words)
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert f"{day.name}:5: Broken must take the row, got KeyError" in done.err
    assert "mine.py" in maxloss(*words, MAXLOSS_TRACEBACK="1").err
