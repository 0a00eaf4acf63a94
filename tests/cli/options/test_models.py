"""What the options make of a model."""

from __future__ import annotations

import pytest

from stream_maxloss.cli.options.model_words import parse_model
from stream_maxloss.cli.options.models import ModelSettings, build_model
from stream_maxloss.focus import Capped


def test_the_scaler_takes_its_settings_and_the_learner_its_own():
    model = build_model(ModelSettings("HingeOGD", ["scale.clip=5", "lr=0.5", "focus.gamma=0.25"]))
    assert model["Scaler"].clip == 5
    assert model["FocusedClassifier"].gamma == 0.25
    assert model["FocusedClassifier"].classifier.lr == 0.5


def test_a_word_of_compare_reaches_the_scaler():
    assert build_model(parse_model("HingeOGD,no-focus,scale.clip=3.5"))["Scaler"].clip == 3.5


WRONG = {
    "no scaler": (["scale.clip=5"], False, "--set scale.clip must come with the scaler; add --scale"),
    "no such parameter": (["scale.clap=5"], None, "--set scale.clap: the scaler has no such parameter; .*clip"),
    "no such bound": (["scale.clip=-5"], None, "clip must be positive, got -5"),
}


@pytest.mark.parametrize(("texts", "scale", "message"), WRONG.values(), ids=WRONG)
def test_settings_of_the_scaler_that_cannot_be_are_refused(texts, scale, message):
    with pytest.raises(ValueError, match=message):
        build_model(ModelSettings("HingeOGD", texts, scale=scale))


def test_the_policy_of_the_game_is_set_by_name():
    model = build_model(ModelSettings("HingeOGD", ["focus.policy=capped"]))
    assert type(model["FocusedClassifier"]._game.player.policy) is Capped


def test_a_policy_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(ValueError, match=r"policy must be one of 'exponential', 'uniform', .*, got 'best'"):
        build_model(ModelSettings("HingeOGD", ["focus.policy=best"]))
