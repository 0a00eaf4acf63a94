from __future__ import annotations

import pytest


@pytest.fixture
def mock_kafka():
    """A broker of librdkafka's inside this process, driven through its C interface."""
    from kafka_mock import MockCluster

    cluster = MockCluster()
    yield cluster
    cluster.close()
