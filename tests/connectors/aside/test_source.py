"""A source read in another process is the source: its rows, positions, addresses and bad records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stream_maxloss.checkpoint import CheckpointStore
from stream_maxloss.errors import DecodeError, SourceError
from stream_maxloss.linear import HingeOGD
from stream_maxloss.run import Tail
from stream_maxloss_connectors import BadRecords, open_source
from stream_maxloss_connectors.aside import AsideSource

ROWS = 3000


@pytest.fixture
def rows_file(tmp_path: Path) -> Path:
    path = tmp_path / "day.jsonl"
    lines = [json.dumps({"a": row % 7, "b": row / 3, "y": row % 2 == 0}) for row in range(ROWS)]
    for row in (700, 701, 2500):
        lines[row] = '{"a": "x"}'
    path.write_text("\n".join(lines) + "\n")
    return path


def plain(path: Path, bad: BadRecords) -> Any:
    return open_source(path, bad_records=bad, block_bytes=20_000)


def read(source: Any, bad: BadRecords, cuts: list[int], position: Any = None) -> list[Any]:
    """Return what a reader sees after each cut: rows, first and last address, position, bad records."""
    found: list[Any] = []
    with source:
        source.open(position)
        for cut in cuts:
            got: list[Any] = []
            while len(got) < cut and not source.exhausted:
                batch = source.next_batch(cut - len(got), 10.0)
                if batch is not None:
                    got += [(*row.values(), batch.address(k)) for k, row in enumerate(batch.records.to_pylist())]
            found.append((got, source.position(), bad.count, bad.seen))
    return found


@pytest.mark.parametrize("policy", ["skip", "dlq"])
def test_rows_positions_addresses_and_bad_records_are_those_of_the_source(
    rows_file: Path, tmp_path: Path, policy: str
) -> None:
    cuts = [1, 100, 598, 3, 1700, 10_000]
    seen = []
    for aside in (False, True):
        path = tmp_path / f"letters-{aside}.jsonl" if policy == "dlq" else None
        bad = BadRecords(policy, path)
        source = plain(rows_file, bad)
        seen.append(read(AsideSource(source, bad, 500) if aside else source, bad, cuts))
        bad.close()
    assert seen[1] == seen[0]
    assert sum(len(rows) for rows, *_ in seen[1]) == ROWS - 3
    if policy == "dlq":
        assert (tmp_path / "letters-True.jsonl").read_text() == (tmp_path / "letters-False.jsonl").read_text()


def test_a_saved_position_is_gone_on_from(rows_file: Path) -> None:
    bad = BadRecords("skip")
    (_, position, *_), *_ = read(AsideSource(plain(rows_file, bad), bad), bad, [1234])
    ((rows, *_),) = read(AsideSource(plain(rows_file, bad), bad), bad, [ROWS], position)
    ((expected, *_),) = read(plain(rows_file, bad), bad, [ROWS], position)
    assert rows == expected


def test_a_bad_record_stops_at_the_same_row_with_the_same_words(rows_file: Path) -> None:
    counts = []
    for aside in (False, True):
        bad = BadRecords()
        source = plain(rows_file, bad)
        with AsideSource(source, bad) if aside else source as opened:
            opened.open()
            counts.append(0)
            with pytest.raises(DecodeError, match=r"day.jsonl:701: field 'a' must be a number"):
                count_rows(opened, counts)
    assert counts == [700, 700]


def count_rows(source: Any, counts: list[int]) -> None:
    """Add the rows of a source to the last count."""
    while not source.exhausted:
        batch = source.next_batch(1000, 10.0)
        counts[-1] += 0 if batch is None else batch.num_rows


def test_a_source_that_is_not_there_is_told_as_by_the_source(tmp_path: Path) -> None:
    path = tmp_path / "day.jsonl"
    path.write_text('{"a": 1}\n')
    bad = BadRecords()
    source = AsideSource(plain(path, bad), bad)
    path.unlink()
    with pytest.raises(SourceError, match=r"day.jsonl"):
        source.open()
    source.close()


def test_a_process_that_was_killed_is_one_clear_error(rows_file: Path) -> None:
    bad = BadRecords("skip")
    with AsideSource(plain(rows_file, bad), bad, 10) as source:
        source.open()
        assert source._process is not None
        source._process.kill()
        source._process.wait()
        with pytest.raises(SourceError, match="must stay alive, got its end"):
            count_rows(source, [0])


PARENT = """
import sys
from stream_maxloss_connectors import BadRecords, open_source
from stream_maxloss_connectors.aside import AsideSource
bad = BadRecords("skip")
source = AsideSource(open_source(sys.argv[1], bad_records=bad), bad, 1)
source.open()
print(source._process.pid, flush=True)
import time
time.sleep(60)
"""


def test_the_process_dies_with_its_parent(rows_file: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(rows_file)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 30.0
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(child)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def content(folder: Path) -> Any:
    found = CheckpointStore(folder).load()
    values = {name: value for name, value in found.values.items() if name != "command"}
    arrays = {name: array.tobytes() for name, array in found.arrays.items()}
    return values, arrays, found.sources, found.counters


def test_checkpoints_are_those_of_one_process_also_after_a_stop_in_the_middle(rows_file: Path, tmp_path: Path) -> None:
    for name, limits in (("one", [ROWS]), ("aside", [1111, ROWS])):
        for limit in limits:
            bad = BadRecords("skip")
            source = plain(rows_file, bad)
            source = source if name == "one" else AsideSource(source, bad, 400)
            options: dict[str, Any] = {"bad_records": bad, "limit": limit, "names": {"source": str(rows_file)}}
            with Tail(source, HingeOGD(), "y", checkpoint=tmp_path / name, checkpoint_every="100", **options) as tail:
                tail.run()
    assert content(tmp_path / "aside") == content(tmp_path / "one")


def test_a_run_that_is_killed_continues_to_the_same_checkpoint(rows_file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stream_maxloss.cli", "tail", str(rows_file), "-t", "y", "--model", "HingeOGD"]
    command += ["--no-focus", "--on-bad", "skip", "--checkpoint-every", "50", "--quiet", "--follow", "--until-eof"]
    aside = [*command, "--decoders", "2", "-c", str(tmp_path / "aside")]
    process = subprocess.Popen(aside)
    deadline = time.monotonic() + 60.0
    while len(CheckpointStore(tmp_path / "aside").list()) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert subprocess.run(aside, check=False).returncode == 0
    assert subprocess.run([*command, "-c", str(tmp_path / "one")], check=False).returncode == 0
    assert content(tmp_path / "aside") == content(tmp_path / "one")
