"""What to do with a record that cannot be read as a row."""

from __future__ import annotations

import base64
import contextlib
import json
import os
from pathlib import Path
from typing import IO, Any

from stream_maxloss.errors import DecodeError, SourceError, TooManyBadRecordsError
from stream_maxloss_connectors.file_kinds import require_file
from stream_maxloss_connectors.positions import check_entry, is_count

__all__ = ["BadRecords"]


class BadRecords:
    """A policy for bad records, with a count and a limit.

    Parameters
    ----------
    policy
        `"fail"` raises on the first bad record; `"skip"` drops it; `"dlq"` writes it to `path`.
    path
        Dead-letter file for `"dlq"`: JSON lines with `address`, `reason` and `raw` (the record's bytes, base64).
    limit
        Most bad records to accept: a count, or a share of all records given as a float below 1; None for no limit. A
        share is only judged once 100 records were seen, so that one bad first line does not stop the stream.

    Examples
    --------
    >>> from stream_maxloss.errors import DecodeError
    >>> from stream_maxloss_connectors.bad_records import BadRecords
    >>> bad = BadRecords("skip", limit=1)
    >>> bad.handle(DecodeError("day.csv:2", "column 'amount' must be a number, got 'x'"))
    >>> bad.handle(DecodeError("day.csv:3", "column 'amount' must be a number, got 'y'"))
    Traceback (most recent call last):
    ...
    stream_maxloss.errors.TooManyBadRecordsError: day.csv:3: ...; 2 bad records, more than the limit of 1...

    """

    def __init__(
        self,
        policy: str = "fail",
        path: str | os.PathLike[str] | None = None,
        limit: int | float | None = None,
    ) -> None:
        if policy not in ("fail", "skip", "dlq"):
            raise ValueError(f"policy must be 'fail', 'skip' or 'dlq', got {policy!r}")
        if (policy == "dlq") != (path is not None):
            raise ValueError(f"path must be given for policy 'dlq' and only there, got {path!r}")
        if limit is not None and limit < 0:
            raise ValueError(f"limit must not be negative, got {limit!r}; use None for no limit")
        self.policy = policy
        self.path = None if path is None else Path(path)
        self.limit = limit
        self.count = 0
        self.seen = 0
        self._file: IO[bytes] | None = None

    def saw(self, records: int) -> None:
        """Count records that were looked at, good and bad, for a limit given as a share."""
        self.seen += records

    def handle(self, error: DecodeError) -> None:
        """Treat one bad record by the policy.

        Raises
        ------
        DecodeError
            Under `"fail"`.
        TooManyBadRecordsError
            When the limit is passed.

        """
        if self.policy == "fail":
            raise error
        self.count += 1
        if self.policy == "dlq":
            self._write(error)
        self._judge(error)

    def flush(self) -> dict[str, Any]:
        """Make the dead-letter file durable, and return counts and its length for a checkpoint."""
        length = 0
        if self._file is not None:
            try:
                os.fsync(self._file.fileno())
                length = self._file.tell()
            except OSError as error:
                raise self._unwritable(error) from error
        elif self.path is not None and self.path.exists():
            length = self.path.stat().st_size
        return {"count": self.count, "seen": self.seen, "length": length}

    def restore(self, state: Any) -> None:
        """Continue from what `flush` returned: records written after it are cut off, to be met again."""
        check_entry("bad records", state, count=is_count, seen=is_count, length=is_count)
        self.close()
        self.count = state["count"]
        self.seen = state["seen"]
        if self.path is not None and self.path.is_file():
            try:
                with self.path.open("r+b") as file:
                    file.truncate(state["length"])
            except OSError as error:
                raise self._unwritable(error) from error

    def close(self) -> None:
        """Close the dead-letter file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, error: DecodeError) -> None:
        if self._file is None:
            if self.path is None:
                return
            require_file(self.path, "dead-letter file", "name a file", devices=True)
            try:
                # No buffer of Python's: what does not fit on the disk must be known before the record is passed.
                self._file = self.path.open("ab", buffering=0)
            except OSError as failure:
                raise self._unwritable(failure) from failure
        record = {
            "address": error.address,
            "reason": error.reason,
            "raw": base64.b64encode(error.raw).decode("ascii"),
        }
        self._append(self._file, json.dumps(record).encode() + b"\n")

    def _append(self, file: IO[bytes], line: bytes) -> None:
        length = file.tell()
        try:
            view = memoryview(line)
            while view:
                view = view[file.write(view) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                # Half a line must not stay, unless this is a device that cannot be cut.
                file.truncate(length)
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> SourceError:
        reason = error.strerror or error
        return SourceError(f"{self.path}: dead-letter file must be writable, got {reason}; free space or move it")

    def _judge(self, error: DecodeError) -> None:
        if self.limit is None:
            return
        if isinstance(self.limit, float) and self.limit < 1:
            if self.seen >= 100 and self.count > self.limit * self.seen:
                raise TooManyBadRecordsError(
                    f"{error}; {self.count} bad records of {self.seen}, more than the limit of "
                    f"{self.limit:.2%}; raise the limit or repair the source"
                )
        elif self.count > self.limit:
            raise TooManyBadRecordsError(
                f"{error}; {self.count} bad records, more than the limit of {self.limit}; "
                "raise the limit or repair the source"
            )
