"""librdkafka's settings: which are forced, which are secret, and which belong to Java clients."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stream_maxloss.errors import SourceError

__all__ = ["consumer_settings", "mask_settings", "mask_text", "merge_settings", "producer_settings", "read_properties"]

# What a reader that keeps its own positions depends on, and what would go wrong otherwise.
FORCED_FOR_CONSUMERS = {
    "enable.auto.commit": ("false", "positions are kept in the checkpoint; the broker's would run ahead of the model"),
    "enable.auto.offset.store": ("false", "positions are kept in the checkpoint"),
    "auto.offset.reset": ("error", "a reset would skip or repeat rows silently; use on_gap or start"),
    "isolation.level": ("read_committed", "rows of aborted transactions would be learned"),
    "enable.partition.eof": ("true", "the end of a partition could not be seen"),
}
FORCED_FOR_PRODUCERS = {
    "enable.idempotence": ("true", "a retry would write a row twice or out of order"),
    "acks": ("all", "a row could be lost with the broker that took it"),
}

_SECRET = re.compile(
    r"password|secret|token|sasl\.|ssl\.key|ssl\.keystore|\.pem$|auth\.user\.info|oauth|credential", re.I
)

# Settings of the Java client that librdkafka refuses, with what stands for them.
_JAVA_ONLY = (
    (re.compile(r"sasl\.jaas\.config"), "use sasl.username and sasl.password"),
    (re.compile(r"ssl\.truststore\..*"), "use ssl.ca.location with a PEM file"),
    (re.compile(r"ssl\.keystore\.(type|key|certificate\.chain)"), "use ssl.keystore.location with a PKCS#12 file"),
    (re.compile(r"(key|value)\.(de)?serializer(\..*)?"), "use the format option"),
    (re.compile(r"sasl\.(login|client)\.callback\.handler\.class"), "use sasl.oauthbearer.* settings"),
    (re.compile(r"max\.poll\.records"), "batches are cut by max_rows"),
    (re.compile(r"interceptor\.classes|metric\.reporters|partition\.assignment\.strategy\.class"), "leave it out"),
)


def read_properties(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read `key=value` lines; blank lines and those that begin with `#` or `!` are passed over.

    Raises
    ------
    ValueError
        If a line has no `=`. The line is named by number, never shown: it may hold a secret.
    SourceError
        If the file cannot be read.

    """
    settings: dict[str, str] = {}
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SourceError(f"{os.fspath(path)}: the Kafka settings cannot be read ({reason})") from None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        name, equals, value = stripped.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{os.fspath(path)}:{number}: a setting must have the form key=value")
        settings[name.strip()] = value.strip()
    return settings


def merge_settings(file: str | os.PathLike[str] | None, given: Mapping[str, Any] | None) -> dict[str, str]:
    """Join the settings of a properties file with those given one by one, which win."""
    settings = {} if file is None else read_properties(file)
    for name, value in (given or {}).items():
        settings[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return settings


def consumer_settings(servers: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return what a consumer is made with.

    Raises
    ------
    ValueError
        If a setting that exactly-once reading depends on is overridden, or one is known only to Java clients.

    """
    _refuse(settings, FORCED_FOR_CONSUMERS, "reading")
    defaults = {
        # A group is required by the client; nothing is committed to it unless the user names his own.
        "group.id": "stream-maxloss",
        # A message in the client's queue takes several times its own size, and the default is 64 MB of messages.
        "queued.max.messages.kbytes": "32768",
        # Without this a full local queue pauses fetching for a second.
        "fetch.queue.backoff.ms": "50",
        # The client waits for a part of it before it connects at all: with its 100 a start takes 40 ms longer. It
        # doubles with every attempt that fails, up to ten seconds.
        "reconnect.backoff.ms": "10",
    }
    forced = {name: value for name, (value, _) in FORCED_FOR_CONSUMERS.items()}
    return {**defaults, **settings, **forced, "bootstrap.servers": servers}


def producer_settings(servers: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return what a producer is made with; raises as `consumer_settings` does.

    Settings of a schema registry, which one file may hold for readers and writers, are left out.
    """
    settings = {name: value for name, value in settings.items() if not name.startswith("schema.registry.")}
    _refuse(settings, FORCED_FOR_PRODUCERS, "writing")
    forced = {name: value for name, (value, _) in FORCED_FOR_PRODUCERS.items()}
    return {"linger.ms": "20", **settings, **forced, "bootstrap.servers": servers}


def mask_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with every secret replaced by `***`, for printing.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka.settings import mask_settings
    >>> mask_settings({"security.protocol": "SASL_SSL", "sasl.password": "hunter2"})
    {'security.protocol': 'SASL_SSL', 'sasl.password': '***'}

    """
    return {name: "***" if _SECRET.search(name) else value for name, value in settings.items()}


def mask_text(text: str, settings: Mapping[str, Any]) -> str:
    """Return a message of the client with the values of secret settings taken out of it."""
    for name, value in settings.items():
        # A value of one or two letters would punch holes into ordinary words.
        if _SECRET.search(name) and len(str(value)) > 2:
            text = text.replace(str(value), "***")
    return text


def _refuse(settings: Mapping[str, str], forced: Mapping[str, tuple[str, str]], purpose: str) -> None:
    for name, value in settings.items():
        if name == "bootstrap.servers":
            raise ValueError("bootstrap.servers must not be given as a setting; the address names the brokers")
        if name in forced and value.lower() != forced[name][0]:
            needed, reason = forced[name]
            raise ValueError(f"{name} must be {needed!r} for {purpose}, got {value!r}; otherwise {reason}")
        for pattern, remedy in _JAVA_ONLY:
            if pattern.fullmatch(name):
                raise ValueError(f"{name} must not be given, it is a setting of the Java client; {remedy}")
