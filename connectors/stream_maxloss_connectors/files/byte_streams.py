"""Bytes of text files, plain or compressed, and of standard input."""

from __future__ import annotations

import hashlib
import os
import select
from abc import ABC, abstractmethod
from pathlib import Path

import pyarrow as pa

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.files.paths import STDIN

__all__ = ["ByteStream", "open_bytes"]

_HEAD_BYTES = 1024


class ByteStream(ABC):
    """Bytes read once, from front to back."""

    waits: bool = False
    """True if bytes may take their time to come."""

    @abstractmethod
    def read(self, size: int, timeout: float) -> bytes | None:
        """Return up to `size` bytes, `b""` at the end, or None if none came within `timeout` seconds."""

    def read_on(self, rest: bytes, size: int, timeout: float) -> bytes | None:
        """Return the bytes read last, `rest`, with up to `size` more behind them; None if none came in time."""
        data = self.read(size, timeout)
        return data if data is None or not rest else rest + data

    @abstractmethod
    def skip(self, size: int, head: str | None) -> None:
        """Pass bytes that were read before; `head` is what `head` returned then."""

    @abstractmethod
    def remaining(self) -> int | None:
        """Return how many bytes are left as they are stored, or None if that cannot be known."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file."""

    def head(self, size: int) -> str | None:
        """Return a hash of the first bytes of the first `size`, where there is no file to take one from later."""
        return None


class _PlainFile(ByteStream):
    def __init__(self, path: str) -> None:
        self._path = path
        self._file = Path(path).open("rb", buffering=0)  # noqa: SIM115 - `close` closes it

    def read(self, size: int, timeout: float) -> bytes | None:
        try:
            return self._file.read(size)
        except OSError as error:
            raise SourceError(f"{self._path}: file must be readable, got {error.strerror}; check its disk") from error

    def read_on(self, rest: bytes, size: int, timeout: float) -> bytes | None:
        # To read a few bytes again is cheaper than to copy the many behind them.
        self._file.seek(-len(rest), os.SEEK_CUR)
        data = self.read(len(rest) + size, timeout) or b""
        at_end = len(data) == len(rest)
        if len(data) < len(rest) or (at_end and os.fstat(self._file.fileno()).st_size < self._file.tell()):
            raise SourceError(f"{self._path}: file must not be cut while it is read, but it got shorter; read it again")
        return data

    def skip(self, size: int, head: str | None) -> None:
        self._file.seek(size)

    def remaining(self) -> int | None:
        return max(os.fstat(self._file.fileno()).st_size - self._file.tell(), 0)

    def close(self) -> None:
        self._file.close()


class _CompressedFile(ByteStream):
    """Compressed bytes cannot be sought in: what was read before is decompressed again and passed."""

    def __init__(self, path: str, compression: str) -> None:
        self._path = path
        self._compression = compression
        self._file = Path(path).open("rb")  # noqa: SIM115 - `close` closes it
        self._stream = pa.CompressedInputStream(pa.PythonFile(self._file), compression)

    def read(self, size: int, timeout: float) -> bytes | None:
        try:
            return self._stream.read(size)
        except (OSError, pa.ArrowInvalid) as error:
            raise SourceError(
                f"{self._path}: file must be whole {self._compression} data, got: {error}; compress it again"
            ) from error

    def skip(self, size: int, head: str | None) -> None:
        while size:
            passed = len(self.read(min(size, 1 << 20), 0) or b"")
            if not passed:
                raise GapError(f"{self._path}: file must reach to the saved position, but ends {size} bytes before it")
            size -= passed

    def remaining(self) -> int | None:
        return max(os.fstat(self._file.fileno()).st_size - self._file.tell(), 0)

    def close(self) -> None:
        self._file.close()


class _StandardInput(ByteStream):
    waits = True

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._head = b""

    def read(self, size: int, timeout: float) -> bytes | None:
        try:
            ready, _, _ = select.select([self._descriptor], [], [], max(timeout, 0))
            data = os.read(self._descriptor, size) if ready else None
        except OSError as error:
            raise SourceError(f"-: standard input must be open, got {error.strerror}; feed it from a pipe") from error
        if data and len(self._head) < _HEAD_BYTES:
            self._head = (self._head + data)[:_HEAD_BYTES]
        return data

    def skip(self, size: int, head: str | None) -> None:
        left = size
        while left:
            data = self.read(min(left, 1 << 20), 1.0)
            if data == b"":
                raise GapError(f"-: input must be fed again from its beginning, but ends {left} bytes too early")
            left -= len(data or b"")
        if head != self.head(size):
            raise GapError("-: input must be fed again from its beginning, but starts differently; feed the same data")

    def remaining(self) -> int | None:
        return None

    def close(self) -> None:
        """Leave standard input to the process."""

    def head(self, size: int) -> str | None:
        return hashlib.sha256(self._head[:size]).hexdigest()


def open_bytes(path: str, compression: str | None, descriptor: int = 0) -> ByteStream:
    """Open a file, or standard input for `-`.

    Parameters
    ----------
    path
        The file.
    compression
        `gzip`, `zstd` or None. Standard input is never decompressed: a pipe through `zcat` does that.
    descriptor
        Of standard input.

    """
    if path == STDIN:
        return _StandardInput(descriptor)
    return _PlainFile(path) if compression is None else _CompressedFile(path, compression)
