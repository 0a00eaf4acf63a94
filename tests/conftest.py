from __future__ import annotations

import os

import pytest

from command_fixtures import (  # noqa: F401
    day,
    fork_server,
    kill_loop,
    maxloss,
    python,
    rows_of,
    started,
    state_of,
    wait_until,
)
from stream_maxloss.errors import StreamMaxlossError


@pytest.fixture(scope="session")
def kafka_broker():
    """A real Apache Kafka broker, shared by the tests of one worker process."""
    from kafka_broker import find_broker

    finder = find_broker()
    try:
        broker = finder.__enter__()
    except (StreamMaxlossError, OSError) as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"a real Kafka broker must run in CI: {error}")
        pytest.skip(f"no real Kafka broker: {error}; set STREAM_MAXLOSS_TEST_KAFKA=host:port to use yours")
    yield broker
    finder.__exit__(None, None, None)
