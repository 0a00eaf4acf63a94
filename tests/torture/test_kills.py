"""The short form: a few kills of each kind; `make torture` has the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from .kills import AUTO, MODEL, Killed, kill_on_a_file, kill_on_a_followed_file, kill_on_kafka

KILLS = 12


def check(result: Killed) -> None:
    assert result.holds, result
    assert result.kills == KILLS
    assert result.resumed >= 2


@pytest.mark.parametrize("model", [MODEL, AUTO], ids=["focused", "auto"])
def test_a_file_is_learned_once_to_the_bit(model: list[str], tmp_path: Path) -> None:
    check(kill_on_a_file(tmp_path, KILLS, 4000, model))


@pytest.mark.parametrize("how", ["rename", "copytruncate"])
def test_a_rotated_file_is_learned_once_to_the_bit_from_its_first_row(how: str, tmp_path: Path) -> None:
    check(kill_on_a_followed_file(tmp_path, KILLS, 4000, how, 2))


@pytest.mark.kafka
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("partitions", [1, 4])
def test_a_topic_is_learned_once_and_predicted_once_into_another(kafka_broker, partitions: int, tmp_path: Path) -> None:
    check(kill_on_kafka(tmp_path, kafka_broker, KILLS, 4000, partitions))
