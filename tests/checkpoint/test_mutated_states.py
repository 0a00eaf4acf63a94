"""Arrays of a state that were changed: refused, or harmless. A kernel that is led astray ends the child process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_maxloss import FocusedClassifier, HingeOGD, Slack
from stream_maxloss.checkpoint import Content, put_model, take_model
from stream_maxloss.errors import CheckpointError

CHILD = Path(__file__).with_name("mutated_states.py")


def test_changed_arrays_are_refused_or_harmless() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(CHILD), "7", "400"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    refused, taken = (int(part.split()[0]) for part in done.stdout.split(","))
    # Were all refused, or none, nothing would have been tried.
    assert refused > 100
    assert taken > 50


def content_of(**settings: Any) -> Content:
    model = FocusedClassifier(HingeOGD(), window=10, replays=2, seed=1, **settings)
    for i in range(25):
        model.learn_one({f"column {j}": float(i % (j + 2)) for j in range(3)}, i % 3 == 0)
    content = Content()
    put_model(content, model)
    return content


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("rows.window.lengths", 3, 2**31 - 1, "lengths must lie in"),
        ("rows.window.lengths", 3, -1, "lengths must lie in"),
        ("game.player.game", 5, 1e300, "must be a whole number up to 10"),
        ("game.player.game", 2, 0.9, "as the parameters say"),
        ("game.player.tree.leaves", 2, -1.0, "leaves must lie in"),
        ("game.player.tree.leaves", 2, 0.0, "must be positive for the 10 rows held"),
        ("game.slack.heap", 0, 400, "heap must lie in"),
        ("game.slack.where", 0, 9, "must give the place"),
        ("game.slack.book", 5, 11.0, "must be a whole number up to 10"),
        ("game.gate.counts", 4, 99, "counts must be those of 10 slots"),
        ("game.schedule.plan", 5, 3.0, "must be a whole number up to 0"),
        ("classifier.memory", 0, 1e9, "same kind of learner"),
        ("classifier.memory", 10, -3.0, "must be a whole number"),
        ("classifier.memory", 11, -1.0, "must be positive"),
    ],
)
def test_an_index_or_count_that_leads_outside_is_named(name: str, place: int, value: float, message: str) -> None:
    content = content_of(slack=Slack(2.0))
    array = content.arrays[f"model/{name}"].copy()
    array[place] = value
    content.arrays[f"model/{name}"] = array
    with pytest.raises(CheckpointError, match=message):
        take_model(content)


@pytest.mark.parametrize("name", ["game.player.generator", "game.gate.generator", "game.schedule.generator"])
def test_a_generator_that_would_draw_zeros_for_ever_is_refused(name: str) -> None:
    content = content_of()
    content.arrays[f"model/{name}"] = np.zeros_like(content.arrays[f"model/{name}"])
    with pytest.raises(CheckpointError, match="must not be all zeros"):
        take_model(content)


def test_an_untouched_state_is_taken() -> None:
    content = content_of(slack=Slack(2.0))
    model = take_model(content)
    again = Content()
    put_model(again, model)
    assert again.arrays.keys() == content.arrays.keys()
    for name, array in content.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name], err_msg=name)
