"""The names a user imports from the top."""

from __future__ import annotations

import importlib

import pytest

import stream_maxloss


@pytest.mark.parametrize("name", stream_maxloss.__all__)
def test_every_name_at_the_top_is_the_one_of_its_room(name: str) -> None:
    rooms = [importlib.import_module(f"stream_maxloss.{room}") for room in stream_maxloss._ROOMS]
    assert [getattr(room, name) for room in rooms if hasattr(room, name)] == [getattr(stream_maxloss, name)]


def test_every_name_of_a_room_is_offered_at_the_top() -> None:
    assert sorted(stream_maxloss._ROOM_OF) == sorted(stream_maxloss.__all__)
    assert set(stream_maxloss.__all__) <= set(dir(stream_maxloss))


def test_a_wrong_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Perceptrum'"):
        _ = stream_maxloss.Perceptrum
