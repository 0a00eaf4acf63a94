"""`--prior`: what each key's model begins with."""

from __future__ import annotations

import pytest

PER_KIND = ["--target", "fraud", "--model-per", "kind"]


@pytest.mark.parametrize("trained", [[], ["--model", "HingeOGD", "--window", "50"]], ids=["auto", "focused"])
def test_it_names_the_model_of_the_keys_so_that_no_option_has_to(maxloss, day, tmp_path, trained) -> None:
    assert maxloss("tail", day, "--target", "fraud", "-c", "trained", *trained, "-q").code == 0
    words = ["tail", day, *PER_KIND, "--prior", "trained", "-c", "keyed", "-q"]
    for limit in (200, 500):  # begun, and gone on with
        end = maxloss(*words, "--limit", limit)
        assert end.code == 0, end.err
    assert "keys 2" in maxloss("inspect", "keyed").out


def test_what_cannot_be_one_is_said_with_the_remedy(maxloss, day, tmp_path) -> None:
    maxloss("tail", day, "--target", "fraud", "-c", "trained", "-q", "--limit", "50")
    refused = {
        "train a model for it first": [*PER_KIND, "--prior", "nowhere"],
        "leave out --model and its settings": [*PER_KIND, "--prior", "trained", "--model", "Perceptron"],
        "got a model of classes in trained for numbers": ["--target", "a", "--model-per", "kind", "--prior", "trained"],
        "must come with --model-per": ["--target", "fraud", "--prior", "trained"],
    }
    for line, words in refused.items():
        end = maxloss("tail", day, *words)
        assert (end.code, line in end.err) == (2, True), end.err
