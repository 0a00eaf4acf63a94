"""Who may read and who may teach."""

from __future__ import annotations

import base64
import binascii
import enum
import hmac
from pathlib import Path
from typing import Self

from stream_maxloss.errors import UsageError

__all__ = ["Right", "Tokens"]

MIN_LENGTH = 16


class Right(enum.IntEnum):
    """What a request asks for; a higher one has all lower ones."""

    NONE = 0
    READ = 1
    LEARN = 2


class Tokens:
    """Secrets with what they give a right to.

    Parameters
    ----------
    rights
        Secret -> right. Empty: everybody may do everything, which is for loopback, sockets and mutual TLS.

    Examples
    --------
    >>> from stream_maxloss.serve.tokens import Right, Tokens
    >>> tokens = Tokens({"0123456789abcdef": Right.READ})
    >>> tokens.right_of("Bearer 0123456789abcdef"), tokens.right_of("Bearer guess"), tokens.right_of("")
    (<Right.READ: 1>, <Right.NONE: 0>, <Right.NONE: 0>)

    """

    def __init__(self, rights: dict[str, Right] | None = None) -> None:
        self._rights = {secret.encode(): right for secret, right in (rights or {}).items()}

    def __bool__(self) -> bool:
        return bool(self._rights)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read lines of `read SECRET` and `learn SECRET`; `#` begins a comment.

        Raises
        ------
        UsageError
            If the file cannot be read, others may read it, or a line is wrong. Secrets are not shown.

        """
        try:
            mode, lines = path.stat().st_mode, path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--token-file must be a text file that can be read, got {path}: {error}") from error
        if mode & 0o007:
            raise UsageError(f"--token-file must not be open to others, got mode {mode & 0o777:o}; chmod 600 {path}")
        rights: dict[str, Right] = {}
        for number, line in enumerate(lines, 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            if len(words) != 2 or words[0] not in ("read", "learn") or len(words[1]) < MIN_LENGTH:
                raise UsageError(
                    f"{path}:{number}: a line must be 'read SECRET' or 'learn SECRET' with at least {MIN_LENGTH} "
                    "characters, got something else; openssl rand -hex 32 makes one"
                )
            rights[words[1]] = Right[words[0].upper()]
        if not rights:
            raise UsageError(f"--token-file must hold a token, got none in {path}; add a line 'learn SECRET'")
        return cls(rights)

    def right_of(self, authorization: str) -> Right:
        """Return what the header `Authorization` gives a right to: a bearer token, or the same as a password.

        Every secret is compared, each in constant time.
        """
        if not self._rights:
            return Right.LEARN
        scheme, _, text = authorization.partition(" ")
        given = text.strip().encode()
        if scheme.lower() == "basic":
            given = password_of(given)
        elif scheme.lower() != "bearer":
            given = b""
        found = Right.NONE
        for secret, right in self._rights.items():
            if hmac.compare_digest(secret, given):
                found = right
        return found


def password_of(credentials: bytes) -> bytes:
    """Return the password of basic authentication, which browsers ask a person for."""
    try:
        return base64.b64decode(credentials, validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""
