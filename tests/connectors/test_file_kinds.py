from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from stream_maxloss.errors import DecodeError, SourceError
from stream_maxloss_connectors import BadRecords, open_sink, open_source
from stream_maxloss_connectors.file_kinds import require_file


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe.csv")
    return tmp_path / "pipe.csv"


# Without a process at its other end, opening one of these pipes would never return.
def test_a_named_pipe_is_no_source(pipe: Path) -> None:
    with pytest.raises(SourceError, match=r"source must be a file, got a pipe; feed it as standard input"):
        open_source(pipe)


@pytest.mark.parametrize("position", [None, {"length": 0, "schema": None}], ids=["anew", "resumed"])
def test_a_named_pipe_is_no_output(pipe: Path, position: dict[str, object] | None) -> None:
    with pytest.raises(SourceError, match=r"output must be a file, got a pipe; write to a file"):
        open_sink(pipe).open(position)


def test_a_named_pipe_takes_no_dead_letters(pipe: Path) -> None:
    with pytest.raises(SourceError, match=r"dead-letter file must be a file, got a pipe; name a file"):
        BadRecords("dlq", pipe).handle(DecodeError("day.csv:2", "column 'x' must be a number, got 'a'"))


def test_devices_and_sockets_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"/dev/null: source must be a file, got a device"):
        open_source("/dev/null", format="csv")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.csv"))
        with pytest.raises(SourceError, match="output must be a file, got a socket"):
            open_sink(tmp_path / "socket.csv").open()


def test_files_directories_and_what_is_not_there_pass(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file", tmp_path / "missing"):
        require_file(path, "source", "give another")
    require_file("/dev/null", "dead-letter file", "give another", devices=True)
