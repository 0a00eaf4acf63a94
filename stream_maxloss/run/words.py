"""Settings, values and policies written as text."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stream_maxloss.errors import UsageError

if TYPE_CHECKING:
    from stream_maxloss_connectors import BadRecords

__all__ = ["parse_bad_records", "parse_settings", "parse_value"]


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Return `name=value` texts as parameters: numbers, true, false, none, else text.

    Examples
    --------
    >>> from stream_maxloss.run.words import parse_settings
    >>> parse_settings(["lr=0.5", "averaged=true", "schedule=constant"])
    {'lr': 0.5, 'averaged': True, 'schedule': 'constant'}

    """
    settings = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise UsageError(f"a setting must be NAME=VALUE, got {text!r}; for instance lr=0.5")
        settings[name.strip()] = parse_value(value.strip())
    return settings


def parse_value(text: str) -> Any:
    """Return the value that a text stands for."""
    words = {"true": True, "false": False, "none": None, "inf": float("inf"), "-inf": float("-inf")}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parse_bad_records(policy: str, limit: str | None = None) -> BadRecords:
    """Return the policy that a text stands for.

    Parameters
    ----------
    policy
        `fail`, `skip` or `dlq=FILE`.
    limit
        Most bad records to accept: a count (`100`) or a percentage (`1%`); None for no limit.

    Examples
    --------
    >>> from stream_maxloss.run.words import parse_bad_records
    >>> parse_bad_records("skip", "1%").limit
    0.01

    """
    from stream_maxloss_connectors import BadRecords

    name, separator, path = policy.partition("=")
    if name not in ("fail", "skip", "dlq") or (name == "dlq") != bool(path) or (separator and name != "dlq"):
        raise UsageError(f"--on-bad must be fail, skip or dlq=FILE, got {policy!r}")
    return BadRecords(name, path or None, None if limit is None else parse_limit(limit))


def parse_limit(text: str) -> int | float:
    """Return a count, or a share for a percentage."""
    try:
        if text.endswith("%"):
            share = float(text[:-1]) / 100.0
            if not 0.0 <= share < 1.0:
                raise ValueError(text)
            return share
        count = int(text)
    except ValueError:
        raise UsageError(f"--max-bad must be a count or a percentage below 100%, got {text!r}") from None
    if count < 0:
        raise UsageError(f"--max-bad must not be negative, got {text!r}")
    return count
