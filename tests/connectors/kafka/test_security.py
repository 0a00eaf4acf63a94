"""Encryption and passwords on Apache Kafka itself."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys

import pytest

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.open import open_sink, open_source

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]

PASSWORD = "correct-horse-battery"
STORE_PASSWORD = "only-for-this-test"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_key(folder) -> None:
    """Make a key with a certificate for 127.0.0.1 that signs itself."""
    store = ["-keystore", str(folder / "server.p12"), "-storepass", STORE_PASSWORD, "-alias", "broker"]
    make = ["-genkeypair", "-keyalg", "RSA", "-keysize", "2048", "-storetype", "PKCS12", "-validity", "2"]
    make += ["-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1"]
    subprocess.run(["keytool", *make, *store], check=True, capture_output=True, timeout=120)
    export = ["-exportcert", "-rfc", "-file", str(folder / "ca.pem")]
    subprocess.run(["keytool", *export, *store], check=True, capture_output=True, timeout=120)


def secured(local, port: int, folder) -> dict[str, str]:
    """Return the lines that give a broker a second door, for those with a password."""
    plain = f"org.apache.kafka.common.security.plain.PlainLoginModule required user_reader='{PASSWORD}';"
    inside = f"PLAINTEXT://127.0.0.1:{local.port},CONTROLLER://127.0.0.1:{local.controller_port}"
    return {
        "listeners": f"{inside},SECURE://127.0.0.1:{port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL",
        "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": plain,
        "listener.name.secure.ssl.keystore.location": str(folder / "server.p12"),
        "listener.name.secure.ssl.keystore.type": "PKCS12",
        "listener.name.secure.ssl.keystore.password": STORE_PASSWORD,
        "listener.name.secure.ssl.key.password": STORE_PASSWORD,
    }


@pytest.fixture(scope="module")
def door(kafka_broker, tmp_path_factory):
    """The address of a broker that wants a password over TLS, a topic on it, and the settings that open it."""
    if kafka_broker.local is None:
        pytest.skip("STREAM_MAXLOSS_TEST_KAFKA names a broker whose listeners are not ours to set")
    if shutil.which("keytool") is None:
        pytest.skip("no key can be made: keytool, a part of Java, is not on the path")
    import kafka_broker as brokers

    folder = tmp_path_factory.mktemp("keys")
    make_key(folder)
    port = free_port()
    with brokers.start_broker(
        kafka_broker.local.jars, lambda local: local.settings.update(secured(local, port, folder))
    ) as local:
        topic = brokers.TestBroker(local.bootstrap, local).create_topic(1)
        brokers.TestBroker(local.bootstrap, local).produce(topic, [json.dumps({"n": n}).encode() for n in range(500)])
        settings = {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(folder / "ca.pem"),
            "sasl.mechanisms": "PLAIN",
            "sasl.username": "reader",
            "sasl.password": PASSWORD,
        }
        yield f"kafka://127.0.0.1:{port}/{topic}", settings


def read_all(source) -> list[int]:
    found: list[int] = []
    with source:
        source.open()
        while not source.exhausted:
            batch = source.next_batch(1000, 1.0)
            found += [] if batch is None else [int(row["n"]) for row in batch.records.to_pylist()]
    return found


def test_a_topic_behind_tls_and_a_password_is_read_with_settings_from_a_file(door, tmp_path):
    address, settings = door
    (tmp_path / "client.properties").write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
    source = open_source(address, settings_file=tmp_path / "client.properties", until_eof=True)
    assert read_all(source) == list(range(500))


def test_the_command_reads_it_with_x_settings_and_prints_no_secret(door):
    address, settings = door
    words = ["schema", address, *(word for name, value in settings.items() for word in ("-X", f"{name}={value}"))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "stream_maxloss.cli", *words]
    shown = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert shown.returncode == 0, shown.stderr
    assert "double" in shown.stdout
    assert PASSWORD not in shown.stdout + shown.stderr


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"sasl.password": "wrong-" + PASSWORD}, "uthentication"),
        ({"ssl.ca.location": None}, "certificate"),
    ],
    ids=["password", "certificate"],
)
def test_a_closed_door_is_one_line_that_keeps_the_secret(door, changed, reason):
    address, settings = door
    given = {name: value for name, value in {**settings, **changed}.items() if value is not None}
    with pytest.raises(SourceError) as caught:
        read_all(open_source(address, settings=given, until_eof=True))
    message = str(caught.value)
    assert reason in message
    assert PASSWORD not in message
    assert "\n" not in message


def test_a_sink_writes_through_the_same_door(door):
    import pyarrow as pa

    address, settings = door
    sink = open_sink(address, settings=settings)
    sink.open()
    sink.write(pa.RecordBatch.from_pylist([{"n": 500}, {"n": 501}]))
    sink.flush()
    sink.close()
    assert read_all(open_source(address, settings=settings, until_eof=True)) == list(range(502))
