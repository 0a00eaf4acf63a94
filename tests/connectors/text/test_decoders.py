from __future__ import annotations

import pytest

from stream_maxloss_connectors.text.decoders import make_decoder


def test_a_decoder_is_made_by_name() -> None:
    assert getattr(make_decoder("tsv"), "delimiter", None) == "\t"
    with pytest.raises(ValueError, match="kind must be one of csv, tsv, jsonl, svmlight, got 'xml'"):
        make_decoder("xml")


def test_an_unknown_option_is_named_with_those_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"options for jsonl must be among unexpected_fields, .*, got 'delimiter'"):
        make_decoder("jsonl", delimiter=";")


def test_further_fields_are_ignored_only_where_columns_are_chosen() -> None:
    assert getattr(make_decoder("jsonl"), "unexpected_fields", None) == "error"
    assert getattr(make_decoder("jsonl", narrowed=True), "unexpected_fields", None) == "ignore"
