from __future__ import annotations

import traceback

import pytest

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.kafka import KafkaSink, KafkaSource
from stream_maxloss_connectors.kafka.settings import (
    consumer_settings,
    mask_settings,
    mask_text,
    merge_settings,
    producer_settings,
    read_properties,
)

SECRETS = {
    "sasl.username": "somebody",
    "sasl.password": "hunter2",
    "ssl.key.password": "hunter2",
    "ssl.key.pem": "-----BEGIN",
    "ssl.keystore.password": "hunter2",
    "sasl.oauthbearer.client.secret": "hunter2",
    "schema.registry.basic.auth.user.info": "user:hunter2",
}


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("enable.auto.commit", "true", "must be 'false' for reading, got 'true'; otherwise positions are kept"),
        ("enable.auto.offset.store", "true", "must be 'false' for reading"),
        ("auto.offset.reset", "earliest", "must be 'error' for reading, got 'earliest'; .* use on_gap or start"),
        ("isolation.level", "read_uncommitted", "must be 'read_committed'"),
        ("enable.partition.eof", "false", "must be 'true'"),
        ("bootstrap.servers", "other:1", "the address names the brokers"),
        ("sasl.jaas.config", "x", "a setting of the Java client; use sasl.username"),
        ("ssl.truststore.location", "x", "use ssl.ca.location"),
        ("value.deserializer", "x", "use the format option"),
        ("key.deserializer", "x", "use the format option"),
        ("max.poll.records", "5", "batches are cut by max_rows"),
    ],
)
def test_setting_that_would_break_reading_is_refused_with_the_reason(name, value, reason):
    with pytest.raises(ValueError, match=reason):
        KafkaSource("a:1", "t", settings={name: value})


@pytest.mark.parametrize(("name", "value"), [("enable.idempotence", "false"), ("acks", "1")])
def test_setting_that_would_break_writing_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        KafkaSink("a:1", "t", settings={name: value})


def test_forced_settings_may_be_repeated_and_stay():
    settings = consumer_settings("a:1", {"enable.auto.commit": "False", "fetch.wait.max.ms": "5"})
    assert settings["enable.auto.commit"] == "false"
    assert settings["auto.offset.reset"] == "error"
    assert settings["isolation.level"] == "read_committed"
    assert settings["fetch.wait.max.ms"] == "5"
    assert producer_settings("a:1", {})["acks"] == "all"


def test_properties_file_is_read_and_single_settings_win(tmp_path):
    path = tmp_path / "client.properties"
    path.write_text("# comment\n! comment\n\nsasl.password = a=b \nsecurity.protocol=SASL_SSL\n")
    assert read_properties(path) == {"sasl.password": "a=b", "security.protocol": "SASL_SSL"}
    assert merge_settings(path, {"security.protocol": "SSL", "debug.flag": True}) == {
        "sasl.password": "a=b",
        "security.protocol": "SSL",
        "debug.flag": "true",
    }


def test_malformed_line_of_a_properties_file_is_named_but_not_shown(tmp_path):
    path = tmp_path / "client.properties"
    path.write_text("a=b\nhunter2\n")
    with pytest.raises(ValueError, match=r"client\.properties:2: a setting must have the form key=value") as caught:
        read_properties(path)
    assert "hunter2" not in str(caught.value)


def test_settings_file_that_cannot_be_read_is_one_line(tmp_path):
    with pytest.raises(SourceError, match=r"nowhere: the Kafka settings cannot be read \(No such file or directory\)"):
        KafkaSource("a:1", "t", settings_file=tmp_path / "nowhere")
    (tmp_path / "binary").write_bytes(b"sasl.password=\xff")
    with pytest.raises(SourceError, match=r"binary: the Kafka settings cannot be read \(it is no text\)"):
        KafkaSource("a:1", "t", settings_file=tmp_path / "binary")


def test_settings_of_the_schema_registry_are_kept_from_the_client():
    settings = {"schema.registry.url": "http://127.0.0.1:1", "linger.ms": "7"}
    assert "schema.registry.url" not in producer_settings("a:1", settings)
    assert producer_settings("a:1", settings)["linger.ms"] == "7"
    assert "schema.registry.url" not in KafkaSource("a:1", "t", settings=settings)._settings


def test_secrets_are_masked_and_other_settings_are_not():
    masked = mask_settings({**SECRETS, "security.protocol": "SASL_SSL", "ssl.ca.location": "/ca.pem"})
    assert {masked[name] for name in SECRETS} == {"***"}
    assert (masked["security.protocol"], masked["ssl.ca.location"]) == ("SASL_SSL", "/ca.pem")
    assert mask_text("refused somebody with hunter2", SECRETS) == "refused *** with ***"


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"], ids=["unreachable", "refused"])
def test_secrets_appear_in_no_message_log_or_repr(protocol, caplog):
    settings = {"security.protocol": protocol, **SECRETS, "sasl.mechanism": "hunter2"}
    source = KafkaSource("127.0.0.1:1", "t", settings=settings, connect_timeout=0.5)
    assert "hunter2" not in repr(source)
    with pytest.raises(SourceError) as caught:
        source.open()
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    if protocol == "PLAINTEXT":
        assert "Configuration property `sasl.mechanism` set to `***`" in caplog.text
    assert "hunter2" not in caplog.text


def test_setting_that_librdkafka_does_not_know_is_one_line():
    with pytest.raises(SourceError, match='refuses its settings: No such configuration property: "colour"'):
        KafkaSource("127.0.0.1:1", "t", settings={"colour": "red"}).open()
