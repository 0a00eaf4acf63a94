"""librdkafka's mock cluster, driven through the C library that the wheel of confluent-kafka carries.

It knows no deletion of topics or records and keeps 5 MiB a partition: for these there is the real broker.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import Producer

from stream_maxloss_connectors.kafka.client import client_logger

FETCH, OFFSET_COMMIT = 1, 8


def library() -> ctypes.CDLL:
    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    found = sorted(folder.glob("librdkafka*.so*"))
    if not found:
        pytest.skip(f"confluent-kafka carries no librdkafka of its own in {folder.name}")
    lib = ctypes.CDLL(str(found[0]))
    pointer, number = ctypes.c_void_p, ctypes.c_int32
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(lib, name).restype = pointer
    lib.rd_kafka_new.argtypes = [ctypes.c_int, pointer, ctypes.c_char_p, ctypes.c_size_t]
    lib.rd_kafka_mock_cluster_new.argtypes = [pointer, ctypes.c_int]
    lib.rd_kafka_mock_cluster_destroy.argtypes = [pointer]
    lib.rd_kafka_destroy.argtypes = [pointer]
    lib.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    lib.rd_kafka_mock_cluster_bootstraps.argtypes = [pointer]
    lib.rd_kafka_mock_topic_create.argtypes = [pointer, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    lib.rd_kafka_mock_broker_set_down.argtypes = lib.rd_kafka_mock_broker_set_up.argtypes = [pointer, number]
    lib.rd_kafka_mock_push_request_errors_array.argtypes = [
        pointer,
        ctypes.c_int16,
        ctypes.c_size_t,
        ctypes.POINTER(ctypes.c_int),
    ]
    return lib


class MockCluster:
    """One broker of librdkafka's making."""

    def __init__(self) -> None:
        # A parked fetch of the mock is not woken by a new message, so the wait has to be short.
        self.settings = {"fetch.wait.max.ms": "10"}
        self._lib = library()
        error = ctypes.create_string_buffer(512)
        self._client = self._lib.rd_kafka_new(0, self._lib.rd_kafka_conf_new(), error, 512)
        self._cluster = self._lib.rd_kafka_mock_cluster_new(self._client, 1)
        self.bootstrap = self._lib.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def create_topic(self, name: str, partitions: int = 1) -> str:
        assert self._lib.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, 1) == 0
        return name

    def produce(self, topic: str, values, partition: int = 0, headers=None) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap}, logger=client_logger())
        for value in values:
            producer.produce(topic, value, partition=partition, headers=headers)
        assert producer.flush(30) == 0

    def down(self) -> None:
        self._lib.rd_kafka_mock_broker_set_down(self._cluster, 1)

    def up(self) -> None:
        self._lib.rd_kafka_mock_broker_set_up(self._cluster, 1)

    def fail_next(self, request: int, *codes: int) -> None:
        """Answer the next requests of a kind with these error codes."""
        array = (ctypes.c_int * len(codes))(*codes)
        self._lib.rd_kafka_mock_push_request_errors_array(self._cluster, request, len(codes), array)

    def close(self) -> None:
        self._lib.rd_kafka_mock_cluster_destroy(self._cluster)
        self._lib.rd_kafka_destroy(self._client)
