"""What opens and reads the files of one format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

__all__ = ["FileFormat", "FileReader"]


class FileReader(ABC):
    """One file that is being read."""

    schema: pa.Schema | None
    """Names and types of the columns, None as long as no record has shown them."""

    @abstractmethod
    def read(self, max_rows: int, timeout: float) -> tuple[pa.RecordBatch, Callable[[int], str]] | None:
        """Return up to `max_rows` rows and what gives a row's address, or None if none came within `timeout`."""

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """True once the last row was returned and the last fault reported."""

    @abstractmethod
    def position(self) -> dict[str, Any]:
        """Return the next unread record as JSON-able data."""

    @abstractmethod
    def remaining(self) -> int | None:
        """Return how many bytes are left, or None if that cannot be known."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file."""


class FileFormat(ABC):
    """Opens files of one format."""

    @abstractmethod
    def may_grow(self, path: str) -> bool:
        """Whether records can be appended to the file; one with a footer can only be replaced."""

    @abstractmethod
    def open(self, path: str, schema: pa.Schema | None, saved: Mapping[str, Any] | None) -> FileReader:
        """Start to read a file.

        Parameters
        ----------
        path
            The file, or `-` for standard input.
        schema
            The columns to return, if they are known from a schema given by the user or from an earlier file.
        saved
            What `FileReader.position` returned, or None to start at the beginning.

        """
