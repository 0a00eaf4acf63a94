"""The decoder for the name of a text format."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from stream_maxloss_connectors.text.csv_lines import CsvDecoder
from stream_maxloss_connectors.text.json_lines import JsonDecoder
from stream_maxloss_connectors.text.lines import LineDecoder
from stream_maxloss_connectors.text.svmlight_lines import SvmlightDecoder

__all__ = ["TEXT_OPTIONS", "check_options", "make_decoder"]

_DECODERS: dict[str, Callable[..., LineDecoder]] = {
    "csv": partial(CsvDecoder, delimiter=None, decimal_point=None),
    "tsv": partial(CsvDecoder, delimiter="\t", decimal_point=None),
    "jsonl": JsonDecoder,
    "svmlight": SvmlightDecoder,
}

TEXT_OPTIONS = frozenset(name for maker in _DECODERS.values() for name in inspect.signature(maker).parameters)
"""Options that one or another text format takes."""


def make_decoder(kind: str, narrowed: bool = False, **options: Any) -> LineDecoder:
    """Return the decoder of a text format.

    Parameters
    ----------
    kind
        `csv`, `tsv`, `jsonl` or `svmlight`.
    narrowed
        Whether the caller wants certain columns only: then further fields of JSON objects are ignored.
    options
        Of `CsvDecoder`, `JsonDecoder` or `SvmlightDecoder`.

    Raises
    ------
    ValueError, TypeError
        If the kind is unknown, or does not take an option.

    """
    if kind not in _DECODERS:
        raise ValueError(f"kind must be one of {', '.join(_DECODERS)}, got {kind!r}")
    if kind == "jsonl" and narrowed:
        options.setdefault("unexpected_fields", "ignore")
    check_options(options, kind, _DECODERS[kind])
    return _DECODERS[kind](**options)


def check_options(options: dict[str, Any], kind: str, owner: Callable[..., Any]) -> None:
    """Raise `TypeError` if a format does not take one of the options."""
    known = [name for name in inspect.signature(owner).parameters if name != "columns"]
    for name in options:
        if name not in known:
            raise TypeError(f"options for {kind} must be among {', '.join(known) or 'none'}, got {name!r}")
