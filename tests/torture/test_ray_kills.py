"""The short form: a worker and the driver killed once each, while two workers become three, then one."""

from __future__ import annotations

from pathlib import Path

import pytest

from .ray_kills import kill_on_ray


@pytest.mark.kafka
@pytest.mark.xdist_group("kafka")
def test_a_topic_on_ray_is_learned_once_to_the_bit_when_a_worker_and_the_driver_are_killed(
    kafka_broker, tmp_path: Path
) -> None:
    from ray_cluster import ray_cluster

    with ray_cluster() as cluster:
        found = kill_on_ray(tmp_path, cluster, kafka_broker, ("worker", "driver"), 2, (2, 3, 1))
    assert found.holds, found
    assert found.kills == 2
