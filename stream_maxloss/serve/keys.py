"""What was answered to requests that may be sent again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

from stream_maxloss.errors import UsageError

__all__ = ["KeyReuseError", "Keys", "digest", "require_key"]

MAX_LENGTH = 200


class KeyReuseError(UsageError):
    """A key that was given to another body before."""


class Keys:
    """Idempotency keys with the answers to them: the last so many.

    Parameters
    ----------
    capacity
        How many keys are remembered. A request that comes again after so many others with keys is learned again.

    Examples
    --------
    >>> from stream_maxloss.serve.keys import Keys, digest
    >>> keys = Keys(capacity=1000)
    >>> keys.remember("a", digest(b"{}"), {"sequence": 7})
    >>> keys.find("a", digest(b"{}")), keys.find("b", digest(b"{}"))
    ({'sequence': 7}, None)

    """

    def __init__(self, capacity: int = 10_000) -> None:
        self.capacity = capacity
        self._answers: OrderedDict[str, tuple[str, dict[str, Any]]] = OrderedDict()

    def find(self, key: str, body: str) -> dict[str, Any] | None:
        """Return what was answered to a key; None if it is new.

        Raises
        ------
        KeyReuseError
            If it came with another body before.

        """
        if key not in self._answers:
            return None
        known, answer = self._answers[key]
        if known != body:
            raise KeyReuseError(f"Idempotency-Key must come with the body it came with first, got another for {key!r}")
        return answer

    def remember(self, key: str, body: str, answer: dict[str, Any]) -> None:
        """Keep an answer."""
        self._answers[key] = (body, answer)
        while len(self._answers) > self.capacity:
            self._answers.popitem(last=False)

    def state_dict(self) -> dict[str, Any]:
        """Return keys and answers as plain values."""
        return {"answers": [[key, body, answer] for key, (body, answer) in self._answers.items()]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self._answers = OrderedDict((str(key), (str(body), dict(answer))) for key, body, answer in state["answers"])


def require_key(key: str) -> str:
    """Return a key that is short enough to be kept."""
    if not 0 < len(key) <= MAX_LENGTH or not key.isprintable() or not key.isascii():
        raise UsageError(f"Idempotency-Key must have 1 to {MAX_LENGTH} printable ASCII characters, got {key[:50]!r}")
    return key


def digest(body: bytes) -> str:
    """Return a short text that tells bodies apart."""
    return hashlib.blake2b(body, digest_size=16).hexdigest()
