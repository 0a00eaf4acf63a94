from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from stream_maxloss.errors import StreamMaxlossError


def load_module(name: str, folder: str):
    """Import a module of a test folder, which is no package."""
    if name not in sys.modules:
        path = Path(__file__).parent / folder / f"{name}.py"
        specification = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(specification)
        sys.modules[name] = module
        specification.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def kafka_broker():
    """A real Apache Kafka broker, shared by the tests of one worker process."""
    finder = load_module("kafka_broker", "connectors").find_broker()
    try:
        broker = finder.__enter__()
    except (StreamMaxlossError, OSError) as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"a real Kafka broker must run in CI: {error}")
        pytest.skip(f"no real Kafka broker: {error}; set STREAM_MAXLOSS_TEST_KAFKA=host:port to use yours")
    yield broker
    finder.__exit__(None, None, None)
