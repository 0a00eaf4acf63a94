from __future__ import annotations

import numpy as np
import pytest

from stream_maxloss.mixture import AutoClassifier


@pytest.fixture(scope="module")
def model() -> AutoClassifier:
    draw = np.random.default_rng(1)
    learner = AutoClassifier(seed=1)
    for _ in range(2500):
        row = {"bytes": int(draw.integers(400)), "service": str(draw.choice(["ftp", "http"])), "noise": draw.random()}
        learner.learn_one(row, row["bytes"] > 220 and row["service"] == "ftp")
    return learner


def test_reasons_add_up_to_about_the_log_odds(model: AutoClassifier) -> None:
    for row in ({"bytes": 300, "service": "ftp", "noise": 0.5}, {"bytes": 100, "service": "http", "noise": 0.5}):
        p = model.predict_proba_one(row)[True]
        total = sum(reason.contribution for reason in model.explain_one(row, True))
        assert np.sign(total) == np.sign(p - 0.5)
        assert sum(reason.contribution for reason in model.explain_one(row, False)) == pytest.approx(-total)


def test_leaves_are_read_as_conditions_that_hold_of_the_row(model: AutoClassifier) -> None:
    reasons = model.explain_one({"bytes": 300, "service": "ftp", "noise": 0.5})
    leaves = [reason for reason in reasons if " and " in reason.condition]
    assert leaves
    assert any("service = ftp" in reason.condition and "bytes" in reason.condition for reason in leaves[:10])
    for reason in reasons:
        assert "service = http" not in reason.condition
        for part in reason.condition.split(" and "):
            if part.startswith("bytes > "):
                assert float(part.removeprefix("bytes > ")) < 300
            elif part.startswith("bytes <= "):
                assert float(part.removeprefix("bytes <= ")) >= 300


def test_the_strongest_comes_first_and_text_shows_it(model: AutoClassifier) -> None:
    row = {"bytes": 300, "service": "ftp", "noise": 0.5}
    parts = [abs(reason.contribution) for reason in model.explain_one(row)]
    assert parts == sorted(parts, reverse=True)
    text = model.debug_one(row, limit=3)
    assert len(text.splitlines()) == 4
    assert "True" in text


def test_an_unknown_class_is_refused(model: AutoClassifier) -> None:
    with pytest.raises(ValueError, match="label must be a class seen so far"):
        model.explain_one({"bytes": 1}, "maybe")
