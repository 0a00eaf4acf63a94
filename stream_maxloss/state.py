"""The state of a whole from the states of its parts: flat dictionaries with dotted names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["join_parts", "part_of"]


def join_parts(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return one flat dictionary in which the names of each part begin with its own name and a dot.

    Examples
    --------
    >>> from stream_maxloss.state import join_parts
    >>> join_parts({"tree": {"leaves": [1.0]}, "rows": {}})
    {'tree.leaves': [1.0]}

    """
    return {f"{name}.{key}": value for name, part in parts.items() for key, value in part.items()}


def part_of(state: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the part of that name, without the prefix.

    Examples
    --------
    >>> from stream_maxloss.state import part_of
    >>> part_of({"tree.leaves": [1.0], "trees": 2}, "tree")
    {'leaves': [1.0]}

    """
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
