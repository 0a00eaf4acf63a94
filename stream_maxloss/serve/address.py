"""Where a service listens."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

from stream_maxloss.errors import UsageError

__all__ = ["Address"]


@dataclass(frozen=True)
class Address:
    """A host with its port, or a socket in the file system.

    Examples
    --------
    >>> from stream_maxloss.serve.address import Address
    >>> Address.parse("127.0.0.1:8080").is_local, Address.parse("0.0.0.0:8080").is_local
    (True, False)
    >>> str(Address.parse("[::1]:0")), str(Address.parse("unix:/run/maxloss.sock"))
    ('http://[::1]:0', 'unix:/run/maxloss.sock')

    """

    host: str
    port: int = 0
    path: Path | None = None

    @classmethod
    def parse(cls, text: str) -> Address:
        """Return what `HOST:PORT` or `unix:PATH` means.

        Raises
        ------
        UsageError
            If it means nothing.

        """
        if text.startswith("unix:") and len(text) > 5:
            return cls("", 0, Path(text[5:]))
        host, _, port = text.rpartition(":")
        host = host.strip("[]")
        if not host or not port.isdecimal() or int(port) > 65535:
            raise UsageError(f"--listen must be HOST:PORT or unix:PATH, got {text!r}; for instance 127.0.0.1:8080")
        return cls(host, int(port))

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.path is not None or self.host == "localhost":
            return True
        with contextlib.suppress(ValueError):
            return ipaddress.ip_address(self.host).is_loopback
        return False

    def bind(self) -> socket.socket:
        """Return a socket that listens there; one in the file system is open to its owner only.

        Raises
        ------
        UsageError
            If that is not possible.

        """
        try:
            if self.path is not None:
                return bind_path(self.path)
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            return socket.create_server((self.host, self.port), family=family, backlog=1024)
        except OSError as error:
            raise UsageError(f"--listen must be free, got {self}: {error.strerror or error}; choose another") from error

    def __str__(self) -> str:
        if self.path is not None:
            return f"unix:{self.path}"
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def bind_path(path: Path) -> socket.socket:
    """Return a socket in the file system, in the place of one that nobody listens at any more."""
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
    found = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        found.bind(str(path))
        found.listen(1024)
    except OSError:
        found.close()
        raise
    finally:
        os.umask(before)
    return found
