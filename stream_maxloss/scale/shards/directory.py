"""The directory of a job: what it is cut into, who drives it, and how many workers are wanted."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_maxloss.checkpoint import files
from stream_maxloss.checkpoint.lock import DirectoryLock
from stream_maxloss.errors import CheckpointError
from stream_maxloss.scale.shards.job import Job, Shard, require_same_cut
from stream_maxloss.scale.shards.layout import JOB_FILE

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["JobDirectory"]

HEAD_FILE = "head.arrow"
WORKERS_FILE = "workers"
VERSION = 1


class JobDirectory:
    """What a job is, on the disk, so that a new driver finds it again.

        DIRECTORY/LOCK          held by the one driver
        DIRECTORY/job.json      the shards, written whole when the job begins, and never changed
        DIRECTORY/head.arrow    the first rows, by which all shards decide what a column is
        DIRECTORY/shard-0000/   the checkpoints of a shard, with a lock of their own
        DIRECTORY/workers       a number that somebody writes to change how many workers there are

    Parameters
    ----------
    path
        The directory.

    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.shards: list[Shard] = []
        self.head: pa.RecordBatch | None = None
        self._lock: DirectoryLock | None = None

    def open(self, job: Job, fresh: bool = False) -> None:
        """Become the one driver of a job, and find its shards or cut it into new ones.

        Raises
        ------
        CheckpointError
            If there is another driver, or the directory is of another job or of a run without shards.
        SourceError
            If the source is cut otherwise than when the job began.

        """
        if any(self.path.glob("ckpt-*")):
            raise CheckpointError(
                f"{self.path} must be new or of a job of shards, got the checkpoints of a single run; choose another "
                "directory"
            )
        try:
            files.make_root(self.path)
        except OSError as error:
            raise CheckpointError(
                f"checkpoint directory must be writable, got {self.path}: {error.strerror}; choose another one"
            ) from error
        self._lock = DirectoryLock(self.path, uuid.uuid4().hex)
        if fresh:
            self._set_aside()
        saved = self._read()
        if saved is None:
            self.head, partitions = job.look()
            self.shards = job.cut(partitions)
            self._write(job)
            return
        self._require_same(job, saved)
        self.shards = [Shard(**shard) for shard in saved["shards"]]
        self.head = read_head(self.path)
        require_same_cut(job.cut(job.look()[1]), self.shards)

    def wanted_workers(self) -> int | None:
        """Return the number that somebody wrote to the file `workers`, and remove it; None where there is none.

        Raises
        ------
        ValueError
            If it is no number of workers.

        """
        path = self.path / WORKERS_FILE
        try:
            text = path.read_text().strip()
            path.unlink()
        except FileNotFoundError:
            return None
        if not text.isdigit() or not int(text):
            raise ValueError(f"{path} must hold a number of workers, got {text[:40]!r}; it is left as it was")
        return int(text)

    def close(self) -> None:
        """Let the next driver in."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _read(self) -> dict[str, Any] | None:
        path = self.path / JOB_FILE
        try:
            saved = json.loads(path.read_text())
            wrong = saved["version"] != VERSION or not saved["shards"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{path} must describe a job of shards, got: {error}; restore a copy") from error
        if wrong:
            raise CheckpointError(f"{path} must be of version {VERSION}, got {saved['version']!r}; use a newer maxloss")
        return dict(saved)

    def _require_same(self, job: Job, saved: dict[str, Any]) -> None:
        for name, now in (("per", job.per), ("partitioned", job.is_partitioned)):
            if saved[name] != now:
                raise CheckpointError(
                    f"{self.path} holds a job whose {name} was {saved[name]!r}, and now it is {now!r}; leave it as it "
                    "was, start over with --fresh, or choose another directory"
                )

    def _write(self, job: Job) -> None:
        """Write the head first: a job that is described has one."""
        if self.head is not None:
            write_head(self.path, self.head)
        described = {
            "version": VERSION,
            "source": job.source if isinstance(job.source, str) else list(job.source),
            "per": job.per,
            "partitioned": job.is_partitioned,
            "shards": [asdict(shard) for shard in self.shards],
        }
        replace_file(self.path / JOB_FILE, json.dumps(described, indent=1).encode())

    def _set_aside(self) -> None:
        """Put what another job left here out of the way, under names that nobody looks for."""
        place = self.path / f"retired-{uuid.uuid4().hex[:12]}"
        found = [path for path in self.path.iterdir() if path.name in (JOB_FILE, HEAD_FILE) or is_shard(path)]
        if not found:
            return
        place.mkdir()
        # The description last: as long as it is there, the shards that it names are, or are made anew.
        for path in sorted(found, key=lambda path: path.name == JOB_FILE):
            path.rename(place / path.name)
        files.sync_directory(self.path)


def is_shard(path: Path) -> bool:
    """Return whether a path is that of a shard."""
    return path.name.startswith("shard-")


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in place of another, whole or not at all."""
    temporary = path.with_name(f".tmp-{os.getpid()}-{path.name}")
    temporary.unlink(missing_ok=True)
    files.write_file(temporary, [data])
    temporary.replace(path)
    files.sync_directory(path.parent)


def write_head(directory: Path, head: pa.RecordBatch) -> None:
    """Keep the first rows of a job."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, head.schema) as writer:
        writer.write_batch(head)
    replace_file(directory / HEAD_FILE, sink.getvalue().to_pybytes())


def read_head(directory: Path) -> pa.RecordBatch | None:
    """Return the first rows of a job; None where its source had none when it began.

    Raises
    ------
    CheckpointError
        If they cannot be read.

    """
    import pyarrow as pa

    path = directory / HEAD_FILE
    try:
        table = pa.ipc.open_file(pa.py_buffer(path.read_bytes())).read_all()
    except FileNotFoundError:
        return None
    except (OSError, pa.ArrowInvalid) as error:
        raise CheckpointError(f"{path} must hold the first rows of the job, got: {error}; restore a copy") from error
    return table.combine_chunks().to_batches()[0]
