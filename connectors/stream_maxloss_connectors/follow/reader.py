"""What reads one file that may still grow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from stream_maxloss_connectors.follow.file_identity import OpenedFile

__all__ = ["GrowingReader", "Rows"]

Rows = tuple[pa.RecordBatch, Callable[[int], str]]


class GrowingReader(ABC):
    """Reads the whole records of an open file, and never the part of one at its end.

    Parameters
    ----------
    file
        The file.
    name
        What addresses call it.
    schema
        The columns to return, or None to take them from the first records.

    """

    def __init__(self, file: OpenedFile, name: str, schema: pa.Schema | None) -> None:
        self.file = file
        self.name = name
        self.schema = schema

    @abstractmethod
    def take(self, max_rows: int) -> Rows | None:
        """Return up to `max_rows` rows and what gives a row's address, or None if no whole record is there.

        Raises
        ------
        FileChangedError
            If what was read is no longer there. Rows read before are returned first.

        """

    @abstractmethod
    def finish(self) -> None:
        """Report the unfinished record at the end, now that nothing can finish it, and pass it."""

    @property
    @abstractmethod
    def offset(self) -> int:
        """Byte of the next unread record."""

    @abstractmethod
    def position(self) -> dict[str, Any]:
        """Return the next unread record as JSON-able data.

        Among it are `offset`, the byte of that record, and `start`, the byte of the first record of the file.
        """
