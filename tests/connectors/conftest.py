from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def load_neighbour(name: str):
    """Import a module of this folder, which is no package."""
    if name not in sys.modules:
        specification = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(specification)
        sys.modules[name] = module
        specification.loader.exec_module(module)
    return sys.modules[name]


load_neighbour("followed_files")  # so that the tests beside it can import it by name


@pytest.fixture
def mock_kafka():
    """A broker of librdkafka's inside this process, driven through its C interface."""
    cluster = load_neighbour("kafka_mock").MockCluster()
    yield cluster
    cluster.close()
