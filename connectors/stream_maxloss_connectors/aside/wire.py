"""Messages between two processes of one machine: some plain values, and Arrow batches in shared memory.

The batches of a message are written once, to memory that has no name in any file system, and the other side maps it:
nothing is copied through the socket, and nothing is left behind when either side is killed.
"""

from __future__ import annotations

import array
import mmap
import os
import pickle
import select
import socket
import struct
from typing import Any

import pyarrow as pa

__all__ = ["Wire", "WireClosedError"]

_HEAD = struct.Struct("<QI")
_PIECE = 1 << 16


class WireClosedError(ConnectionError):
    """The process at the other end is gone."""


class Wire:
    """One end of a connection between two processes that trust each other: one has started the other.

    Parameters
    ----------
    end
        A connected stream socket of the family AF_UNIX.

    Examples
    --------
    >>> import socket
    >>> import pyarrow as pa
    >>> from stream_maxloss_connectors.aside import Wire
    >>> one, other = map(Wire, socket.socketpair())
    >>> one.send({"rows": 2}, [pa.record_batch({"x": [1.0, 2.0]})])
    >>> values, (batch,) = other.receive()
    >>> values, batch["x"].to_pylist()
    ({'rows': 2}, [1.0, 2.0])

    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    def fileno(self) -> int:
        """Return the descriptor, to wait for."""
        return self._socket.fileno()

    def send(self, values: Any, batches: list[pa.RecordBatch] | tuple[pa.RecordBatch, ...] = ()) -> None:
        """Send plain values and batches.

        Raises
        ------
        WireClosedError
            If nobody is there any more.

        """
        text = pickle.dumps(values, protocol=5)
        head = _HEAD.pack(len(text), len(batches))
        memory = _write(batches) if batches else None
        try:
            if memory is None:
                self._socket.sendall(head)
            else:
                socket.send_fds(self._socket, [head], [memory])
            self._socket.sendall(text)
        except OSError as error:
            raise WireClosedError("the other process must be there, got none") from error
        finally:
            if memory is not None:
                os.close(memory)

    def poll(self, timeout: float = 0.0) -> bool:
        """Return whether a message, or the end, is there within some seconds."""
        return bool(select.select([self._socket], [], [], max(0.0, timeout))[0])

    def receive(self) -> tuple[Any, list[pa.RecordBatch]]:
        """Wait for a message, and return its values and batches.

        Raises
        ------
        WireClosedError
            If nobody is there any more.

        """
        head, descriptor = self._read_head()
        length, count = _HEAD.unpack(head)
        values = pickle.loads(self._read(length))
        return values, _map(descriptor, count) if descriptor is not None else []

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _read_head(self) -> tuple[bytes, int | None]:
        found, descriptor = b"", None
        room = socket.CMSG_SPACE(array.array("i").itemsize)
        while len(found) < _HEAD.size:
            try:
                data, extra, _, _ = self._socket.recvmsg(_HEAD.size - len(found), room)
            except OSError as error:
                raise WireClosedError("the other process must be there, got none") from error
            if not data:
                raise WireClosedError("the other process must be there, got none")
            for _, _, body in extra:
                descriptor = array.array("i", body[: array.array("i").itemsize])[0]
            found += data
        return found, descriptor

    def _read(self, length: int) -> bytes:
        parts = []
        while length:
            try:
                data = self._socket.recv(min(length, _PIECE))
            except OSError as error:
                raise WireClosedError("the other process must be there, got none") from error
            if not data:
                raise WireClosedError("the other process must be there, got none")
            parts.append(data)
            length -= len(data)
        return b"".join(parts)


def _write(batches: Any) -> int:
    """Write batches, each with a schema of its own, to memory without a name; return its descriptor."""
    memory = os.memfd_create("maxloss-batches") if hasattr(os, "memfd_create") else _unnamed_file()
    with pa.PythonFile(os.fdopen(os.dup(memory), "wb", buffering=1 << 20), "w") as sink:
        for batch in batches:
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
    return memory


def _unnamed_file() -> int:
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _map(descriptor: int, count: int) -> list[pa.RecordBatch]:
    try:
        # The map lives as long as a column of a batch does.
        buffer = pa.py_buffer(mmap.mmap(descriptor, 0, prot=mmap.PROT_READ))
    finally:
        os.close(descriptor)
    whole = pa.BufferReader(buffer)
    found = []
    for _ in range(count):
        found += list(pa.ipc.open_stream(whole))  # to its end, where the next one begins
    return found
