"""Hard slack around learners, ours and others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from stream_maxloss.focus import FocusedClassifier, Slack
from stream_maxloss.linear import HingeOGD


@pytest.mark.parametrize("loss", ["auto", lambda y, p: float(p[y] < 0.5)], ids=["native", "row by row"])
def test_hard_slack_leaves_out_the_row_that_no_plane_gets_right(loss):
    # Twenty rows by one rule, and one with a wrong label in their midst.
    x = np.linspace(-1.0, 1.0, 21)
    y = x > 0.25
    y[2] = True
    model = FocusedClassifier(HingeOGD(), window=21, replays=20, slack=Slack(1, "hard"), loss=loss, seed=1)
    for _ in range(20):
        model.learn_many(pd.DataFrame({"x": x}), y)
    game = model._game
    assert [slot for slot in range(21) if game.slack.get(slot)] == [2]
    right = [model.predict_one({"x": float(at)}) for at in x] == y
    assert right.tolist() == [k != 2 for k in range(21)]


@pytest.mark.parametrize("loss", ["auto", lambda y, p: 1.0 - p[y]], ids=["native", "row by row"])
def test_a_row_that_hard_slack_forgives_is_replayed_and_not_learned(loss):
    learner = HingeOGD(lr=0.01, schedule="constant")
    model = FocusedClassifier(learner, window=1, replays=0, slack=Slack(1, "hard"), loss=loss, seed=1)
    model.learn_one({"x": 1.0}, True)
    arrived = dict(learner.weights)
    model.replay(1)
    learned = dict(learner.weights)
    assert learned != arrived
    model.replay(10)
    assert learner.weights == learned
    assert model.describe()["replays"] == 11
