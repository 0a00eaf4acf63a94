from __future__ import annotations

import gc
import os
import secrets
import shutil
from pathlib import Path

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

# Ray reads these once, when it is first loaded: a token of the tests' own, whatever the user's Ray is set to.
os.environ.update(RAY_AUTH_MODE="token", RAY_USAGE_STATS_ENABLED="0")
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory):
    """A place for the key that seals options, so that tests leave nothing in anybody's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state-home")))
        yield


PROJECT = Path(__file__).parents[1]
# What starts brokers, browsers, clusters and many processes, or runs whole pages and benchmarks: half of the time of
# all tests. `make test` leaves it out; `make test-slow`, `make test-all` and CI run it.
SLOW = (
    "docs/notebooks",
    "tests/benchmarks",
    "tests/cli/process",
    "tests/cli/reports/test_live.py",
    "tests/connectors/kafka",
    "tests/docs",
    "tests/run/test_exactly_once.py",
    "tests/run/test_kafka.py",
    "tests/scale/ray",
    "tests/serve/test_page.py",
    "tests/tools/test_kafka_broker.py",
    "tests/torture",
)


def pytest_collection_modifyitems(items):
    """Mark what is slow, and leave out the notebook that starts a broker where there is no Java."""
    for item in items:
        if any(item.path.is_relative_to(PROJECT / place) for place in SLOW):
            item.add_marker(pytest.mark.slow)
        if item.path.suffix == ".ipynb" and "kafka" in item.path.stem and shutil.which("java") is None:
            item.add_marker(pytest.mark.skip(reason="its broker needs Java 17"))


def pytest_collection_finish():
    """Keep what was collected out of the garbage collector, which River's checks of memory run twice each."""
    gc.collect()
    gc.freeze()


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
