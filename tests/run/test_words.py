from __future__ import annotations

import pytest

from stream_maxloss.errors import UsageError
from stream_maxloss.run.words import parse_bad_records, parse_settings, parse_value

VALUES = {
    "1": 1,
    "0.5": 0.5,
    "TRUE": True,
    "none": None,
    "-inf": float("-inf"),
    "[1, 2]": [1, 2],
    "constant": "constant",
}


@pytest.mark.parametrize("text", VALUES)
def test_a_text_stands_for_a_value(text):
    assert parse_value(text) == VALUES[text]


def test_a_setting_without_a_name_is_refused():
    with pytest.raises(UsageError, match="a setting must be NAME=VALUE, got '=1'"):
        parse_settings(["=1"])


def test_a_dead_letter_policy_names_its_file():
    policy = parse_bad_records("dlq=bad.jsonl", "10")
    assert (policy.policy, str(policy.path), policy.limit) == ("dlq", "bad.jsonl", 10)


@pytest.mark.parametrize("text", ["drop", "dlq", "dlq=", "skip=file"])
def test_an_unknown_policy_is_refused(text):
    with pytest.raises(UsageError, match="must be fail, skip or dlq=FILE"):
        parse_bad_records(text)


@pytest.mark.parametrize("text", ["-1", "100%", "many", "-5%"])
def test_a_limit_that_is_none_is_refused(text):
    with pytest.raises(UsageError, match="--max-bad must"):
        parse_bad_records("skip", text)
