from __future__ import annotations

from typing import Any

import pytest

from stream_maxloss.checkpoint import build, describe, description, register


class Plain:
    def __init__(self, rate: float = 1.0) -> None:
        self.rate = rate

    def _get_params(self) -> dict[str, Any]:
        return {"rate": self.rate}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "_registered", {})


def test_a_description_is_the_class_its_parameters_and_the_version_of_its_state() -> None:
    register(Plain, state_version=3)
    assert describe(Plain(0.5)) == {"class": "Plain", "params": {"rate": 0.5}, "state_version": 3}
    assert build(describe(Plain(0.5))).rate == 0.5


def test_registering_returns_the_class_and_may_be_repeated() -> None:
    assert register(Plain) is Plain
    assert register(Plain) is Plain


@pytest.mark.parametrize("name", ["Plain", "Pipeline", "tuple", "dict"])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    register(Plain)
    other = type(name, (Plain,), {})
    with pytest.raises(ValueError, match=f"must be unique, got a second '{name}'"):
        register(other)


@pytest.mark.parametrize("method", ["_get_params", "state_dict", "load_state_dict"])
def test_a_class_without_the_protocol_is_refused(method: str) -> None:
    kind = type("Lacking", (Plain,), {method: None})
    with pytest.raises(TypeError, match=rf"must have {method}\(\), got Lacking"):
        register(kind)
