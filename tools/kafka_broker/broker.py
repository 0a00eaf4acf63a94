"""A single Apache Kafka node on this machine, for tests and experiments."""

from __future__ import annotations

import atexit
import base64
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stream_maxloss.errors import MissingExtraError, SourceError

__all__ = ["LocalBroker"]

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable={create}
"""

_LOG4J = """\
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = Console
appender.console.type = Console
appender.console.name = Console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
"""

_START_TIMEOUT = 120.0


class LocalBroker:
    """One KRaft node, broker and controller in one process.

    Parameters
    ----------
    jars
        Folder with the server's jars, as `fetch_kafka` returns it.
    port
        Port to listen on; 0 takes a free one.
    auto_create_topics
        Let producers create topics by writing to them. Off by default, so that a misspelt topic is an error.
    settings
        Further lines of `server.properties`; they win over the ones written here.

    """

    def __init__(
        self,
        jars: Path,
        port: int = 0,
        auto_create_topics: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.jars = jars
        self.port = port or _free_port()
        self.auto_create_topics = auto_create_topics
        self.settings = dict(settings or {})
        self.folder = Path(tempfile.mkdtemp(prefix="stream-maxloss-kafka-"))
        self.controller_port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._formatted = False
        atexit.register(self.close)

    @property
    def bootstrap(self) -> str:
        """Address for clients, `127.0.0.1:port`."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start, or start again on the same data and port, and return when it answers.

        Raises
        ------
        SourceError
            If it does not; the message ends with the last line of its log.

        """
        if not self._formatted:
            self._format()
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", "server.properties"),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        self._wait_until_ready()

    def stop(self, timeout: float = 60.0) -> None:
        """Stop in good order, keeping the data; killed if it takes longer than `timeout` seconds."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def close(self) -> None:
        """Stop and remove the data. Closing twice is allowed."""
        # The data is not wanted any more, so there is nothing to wait for.
        self.stop(timeout=10.0)
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)

    def __enter__(self) -> LocalBroker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _java(self, *arguments: str) -> list[str]:
        log4j = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        return ["java", "-Xms256m", "-Xmx512m", log4j, "-cp", f"{self.jars.resolve()}/*", *arguments]

    def _format(self) -> None:
        (self.folder / "log4j2.properties").write_text(_LOG4J)
        settings = _PROPERTIES.format(
            port=self.port,
            controller=self.controller_port,
            data=self.folder / "data",
            create=str(self.auto_create_topics).lower(),
        )
        settings += "".join(f"{name}={value}\n" for name, value in self.settings.items())
        (self.folder / "server.properties").write_text(settings)
        identity = base64.urlsafe_b64encode(os.urandom(16)).decode("ascii").rstrip("=")
        # An identity may not begin with a hyphen: the tool would take it for an option.
        command = self._java("kafka.tools.StorageTool", "format", "-t", "k" + identity[1:], "-c", "server.properties")
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=_START_TIMEOUT)
        if done.returncode != 0:
            raise SourceError(f"Kafka's storage must be formatted, got: {_last_line(done.stdout + done.stderr)}")
        self._formatted = True

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT
        client = _admin_client(self.bootstrap)
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                break
            if _answers(client):
                return
        text = (self.folder / "server.log").read_text(errors="replace")
        self.stop(timeout=5.0)
        raise SourceError(f"the local Kafka broker must start within {_START_TIMEOUT:.0f} s, got: {_last_line(text)}")


def _admin_client(bootstrap: str) -> Any:
    try:
        from confluent_kafka.admin import AdminClient
    except ImportError as error:
        raise MissingExtraError("a local Kafka broker", "kafka") from error
    from stream_maxloss_connectors.kafka.client import client_logger

    quick = {"bootstrap.servers": bootstrap, "reconnect.backoff.max.ms": 500, "socket.timeout.ms": 5000}
    return AdminClient(quick, logger=client_logger())


def _answers(client: Any) -> bool:
    from confluent_kafka import KafkaException

    try:
        return len(client.list_topics(timeout=2.0).brokers) > 0
    except KafkaException:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _die_with_parent() -> None:
    """Ask Linux for a SIGTERM when the starting process dies, also where no exit handler runs."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # Java prints the message first and then where it came from.
    told = [line for line in lines if not line.startswith(("at ", "..."))]
    return (told or lines or ["no output"])[-1][:300]
