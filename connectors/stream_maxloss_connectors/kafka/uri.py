"""Addresses of the form `kafka://host:port[,host:port]/topic?option=value`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

__all__ = ["KafkaAddress", "parse_partitions", "parse_uri"]

_FORM = "kafka://host:port/topic?partitions=0-3&format=json"
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True)
class KafkaAddress:
    """What a URI names.

    Parameters
    ----------
    servers
        Brokers to ask first, `host:port` separated by commas.
    topic
        The topic.
    options
        The options behind the question mark, as text.

    """

    servers: str
    topic: str
    options: dict[str, str] = field(default_factory=dict)


def parse_uri(uri: str, known: Iterable[str]) -> KafkaAddress:
    """Take a `kafka://` address apart.

    Parameters
    ----------
    uri
        The address. A port may be left out: it is 9092 then.
    known
        Names of the options that are understood.

    Raises
    ------
    ValueError
        If it is not of that form, names an option that is not known, or carries a password.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka.uri import parse_uri
    >>> parse_uri("kafka://a,b:19092/orders?partitions=0-3", ["partitions"])
    KafkaAddress(servers='a:9092,b:19092', topic='orders', options={'partitions': '0-3'})

    """
    parts = urlsplit(uri)
    if "@" in parts.netloc:
        # The address is not repeated: it holds the password.
        raise ValueError("a kafka:// address must not carry a user or password; give sasl.* settings instead")
    if parts.scheme != "kafka" or not parts.netloc or parts.fragment:
        raise ValueError(f"a Kafka address must have the form {_FORM}, got {uri!r}")
    topic = unquote(parts.path.strip("/"))
    if not _TOPIC.fullmatch(topic):
        raise ValueError(f"a Kafka address must name one topic of letters, digits, '.', '_' and '-', got {uri!r}")
    return KafkaAddress(_servers(parts.netloc, uri), topic, _options(parts.query, known, uri))


def parse_partitions(text: str) -> list[int]:
    """Read `0-3,7` as `[0, 1, 2, 3, 7]`.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka.uri import parse_partitions
    >>> parse_partitions("0-3,7")
    [0, 1, 2, 3, 7]

    """
    numbers: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip())
        if found is None or int(found.group(2) or found.group(1)) < int(found.group(1)):
            raise ValueError(f"partitions must be numbers and ranges like '0-3,7', got {text!r}")
        numbers.update(range(int(found.group(1)), int(found.group(2) or found.group(1)) + 1))
    return sorted(numbers)


def _servers(text: str, uri: str) -> str:
    servers = []
    for server in text.split(","):
        # The last colon starts the port unless it stands inside the brackets of an IPv6 address.
        host, colon, port = server.rpartition(":") if not server.endswith("]") else (server, "", "")
        host, port = (host, port) if colon else (server, "9092")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError(f"a Kafka broker must be host:port, got {server!r} in {uri!r}")
        servers.append(f"{host}:{port}")
    return ",".join(servers)


def _options(query: str, known: Iterable[str], uri: str) -> dict[str, str]:
    allowed = sorted(known)
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in allowed:
            raise ValueError(f"an option of a Kafka address must be one of {allowed}, got {name!r} in {uri!r}")
        if name in options:
            raise ValueError(f"an option of a Kafka address must be given once, got {name!r} twice in {uri!r}")
        options[name] = value
    return options
