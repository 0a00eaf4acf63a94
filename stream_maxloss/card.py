"""A model as a notebook shows it: its name, its parameters, and what it has learned, as HTML without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

__all__ = ["Table", "card"]

Table = tuple[str, Sequence[str], Iterable[Sequence[Any]]]
"""A caption, the headers, and the rows."""

_MOST_CHARACTERS = 120


def card(title: str, parameters: Mapping[str, Any], facts: Mapping[str, Any], tables: Iterable[Table] = ()) -> str:
    """Return a card: the title with the parameters, facts in a line each, tables that open on a click.

    All text is escaped: names and values of rows come from outside.

    Examples
    --------
    >>> from stream_maxloss.card import card
    >>> card("Model", {"lr": 0.1}, {"rows": 1_000})
    '<div class="stream-maxloss"><b>Model</b>(lr=0.1)<table><tr><td>rows</td><td>1,000</td></tr></table></div>'

    """
    words = ", ".join(f"{name}={shown(value)}" for name, value in parameters.items())
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{shown(value)}</td></tr>" for name, value in facts.items())
    below = "".join(details(*table) for table in tables)
    return f'<div class="stream-maxloss"><b>{escape(title)}</b>({words})<table>{lines}</table>{below}</div>'


def details(caption: str, headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table that opens on a click; nothing where it has no rows."""
    body = "".join("<tr>" + "".join(f"<td>{shown(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    if not body:
        return ""
    head = "".join(f"<th>{escape(header)}</th>" for header in headers)
    return f"<details><summary>{escape(caption)}</summary><table><tr>{head}</tr>{body}</table></details>"


def shown(value: Any) -> str:
    """Return a value as short, escaped text."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], type):
        # What River gives for a model inside a model: its class and its parameters.
        return escape(value[0].__name__)
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = value if isinstance(value, str) else repr(value)
        return escape(text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "...")
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
