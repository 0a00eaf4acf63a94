from __future__ import annotations

import pytest

from stream_maxloss import errors


def test_a_decode_error_begins_with_the_address() -> None:
    error = errors.DecodeError("day.csv:1882", "field 'amount' is missing", b"7,,x")
    assert str(error) == "day.csv:1882: field 'amount' is missing"
    assert (error.address, error.reason, error.raw) == ("day.csv:1882", "field 'amount' is missing", b"7,,x")


def test_a_missing_extra_carries_the_command_and_is_an_import_error() -> None:
    error = errors.MissingExtraError("reading from Kafka", "kafka")
    assert str(error).endswith("run: pip install 'stream-maxloss[kafka]'")
    assert isinstance(error, ImportError)


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_can_be_caught_as_one_of_ours(name: str) -> None:
    assert issubclass(getattr(errors, name), errors.StreamMaxlossError)


def test_a_gap_is_a_fault_of_the_source() -> None:
    assert issubclass(errors.GapError, errors.SourceError)
