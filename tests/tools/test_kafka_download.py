"""The download, with stand-ins for Java and Maven on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stream_maxloss.errors import SourceError
from tools.kafka_broker.download import VERSIONS, cache_folder, fetch_kafka

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A folder that is the whole path, and a way to put commands there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("mkdir", "touch", "grep", "sh", "sleep", "echo"):
        (folder / name).symlink_to(next(p for p in (Path("/usr/bin", name), Path("/bin", name)) if p.exists()))

    def put(name, script):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    monkeypatch.setenv("PATH", str(folder))
    return put


JAVA_17 = """echo 'openjdk version "17.0.15" 2025-04-15' >&2"""
# Writes a jar into the folder of `-DoutputDirectory`, if the pom names version $1.
MAVEN = """grep -q '<version>{version}</version>' pom.xml || {{ echo '[ERROR] not found'; exit 1; }}
for option in "$@"; do case $option in -DoutputDirectory=*) out=${{option#*=}};; esac; done
sleep 0.2; mkdir -p "$out"; touch "$out/kafka.jar"; echo run >> {log}"""


def test_second_choice_is_taken_when_the_first_does_not_resolve(tools, tmp_path):
    tools("java", JAVA_17)
    tools("mvn", MAVEN.format(version="4.1.1", log=tmp_path / "log"))
    jars = fetch_kafka(tmp_path)
    assert jars == tmp_path / "kafka" / "4.1.1"
    assert [path.name for path in jars.iterdir()] == ["kafka.jar"]


def test_second_call_downloads_nothing_and_needs_no_maven(tools, tmp_path):
    tools("java", JAVA_17)
    tools("mvn", MAVEN.format(version="4.1.2", log=tmp_path / "log"))
    first = fetch_kafka(tmp_path)
    (tmp_path / "bin" / "mvn").unlink()
    assert fetch_kafka(tmp_path) == first


def test_two_processes_download_once(tools, tmp_path):
    tools("java", JAVA_17)
    tools("mvn", MAVEN.format(version="4.1.2", log=tmp_path / "log"))
    program = "import sys, pathlib; from tools.kafka_broker.download import fetch_kafka; "
    program += "fetch_kafka(pathlib.Path(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT}:{PROJECT / 'connectors'}"}
    command = [sys.executable, "-c", program, str(tmp_path)]
    processes = [subprocess.Popen(command, env=environment) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert (tmp_path / "log").read_text() == "run\n"


def test_failed_download_names_every_version_and_leaves_no_folder(tools, tmp_path):
    tools("java", JAVA_17)
    tools("mvn", "echo '[ERROR] Could not transfer artifact'; exit 1")
    with pytest.raises(
        SourceError, match=r"must be downloadable by Maven, got 4\.1\.2: .*Could not transfer"
    ) as caught:
        fetch_kafka(tmp_path)
    assert all(version in str(caught.value) for version, _ in VERSIONS)
    assert not any((tmp_path / "kafka" / version).exists() for version, _ in VERSIONS)


@pytest.mark.parametrize(
    ("java", "message"),
    [
        (None, "needs Java 17 or later; there is no 'java' on the path"),
        ("""echo 'openjdk version "11.0.2"' >&2""", "needs Java 17 or later, got 11"),
        ("exit 1", "needs Java 17 or later, got unknown"),
        (JAVA_17, "needs Maven to be downloaded; there is no 'mvn' on the path"),
    ],
    ids=["no java", "old java", "strange java", "no maven"],
)
def test_missing_tool_is_named(tools, tmp_path, java, message):
    if java is not None:
        tools("java", java)
    with pytest.raises(SourceError, match=message):
        fetch_kafka(tmp_path)


def test_cache_is_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAM_MAXLOSS_CACHE", str(tmp_path / "there"))
    assert cache_folder() == tmp_path / "there"
    monkeypatch.delenv("STREAM_MAXLOSS_CACHE")
    monkeypatch.chdir(tmp_path)
    assert cache_folder() == tmp_path / ".cache"
