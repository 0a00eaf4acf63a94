"""Whether the options in a checkpoint are this user's own words.

A checkpoint may come from anybody, and options can name programs to run, files to write and servers to talk to. So a
run seals its options with a key that only its user has, and options without that seal are not taken over where they
could do harm.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["harmful_options", "is_own", "make_seal"]

KEY_BYTES = 32
REACHES_OUT = ("sources", "labels", "predictions", "extra", "kafka_config", "actions", "allow_pickle", "watch", "ray")
"""Options by which a run reads, writes, listens, talks to servers or runs code."""


def make_seal(command: Mapping[str, Any], predictions: str) -> str | None:
    """Return the seal of a run's options; None where this user cannot keep a key.

    Parameters
    ----------
    command
        The options, where the command was called, and which secrets it had.
    predictions
        Where predictions go; empty for nowhere.

    """
    key = own_key(create=True)
    return None if key is None else digest(key, command, predictions)


def is_own(command: Mapping[str, Any], predictions: Any) -> bool:
    """Return whether this user has sealed the options of a checkpoint, as they are."""
    key, seal = own_key(create=False), command.get("seal")
    if key is None or not isinstance(seal, str):
        return False
    uri = predictions.get("uri") if isinstance(predictions, Mapping) else ""
    return hmac.compare_digest(seal.encode(), digest(key, command, uri if isinstance(uri, str) else "").encode())


def digest(key: bytes, command: Mapping[str, Any], predictions: str) -> str:
    """Return the keyed digest of a run's options."""
    sealed = [command.get("options"), command.get("folder"), command.get("secrets"), predictions]
    return hmac.new(key, json.dumps(sealed, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def harmful_options(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some options that could do harm if somebody else had chosen them.

    Examples
    --------
    >>> from stream_maxloss.cli.options.vouching import harmful_options
    >>> harmful_options({"target": "y", "name": "theirs:make", "on_bad": "skip", "actions": ["run=sh theirs.sh"]})
    {'actions': ['run=sh theirs.sh'], 'name': 'theirs:make'}

    """
    found = {name: kept[name] for name in REACHES_OUT if kept.get(name)}
    if ":" in str(kept.get("name", "")):  # a module, which importing runs
        found["name"] = kept["name"]
    if str(kept.get("on_bad", "")).startswith("dlq="):
        found["on_bad"] = kept["on_bad"]
    return found


def spelled(option: str, value: Any) -> str:
    """Return an option as it would be typed, without what could play tricks on a terminal."""
    values = value if isinstance(value, list | tuple) else [value]
    name = [] if option in ("SOURCE...", "SOURCE") else [option]
    words = name if value is True else [word for part in values for word in (*name, str(part))]
    text = shlex.join(words)
    return text if text.isprintable() else ascii(text)


def own_key(create: bool) -> bytes | None:
    """Return this user's key, made if need be; None where there is none and none can be kept."""
    with contextlib.suppress(OSError, RuntimeError):  # the second where there is no home
        home = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
        path = home / "stream-maxloss" / "key"
        if create and not path.exists():
            write_key(path)
        found = path.read_bytes()
        return found if len(found) == KEY_BYTES else None
    return None


def write_key(path: Path) -> None:
    """Make a key that only this user can read; of two processes that do so at once, one wins."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".key-{os.getpid()}-{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, secrets.token_bytes(KEY_BYTES))
        os.fsync(descriptor)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        os.close(descriptor)
        temporary.unlink()
