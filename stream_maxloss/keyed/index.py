"""Which key's model lies where, as arrays: a hundred thousand keys take a few milliseconds to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.keyed.shelf import Place

__all__ = ["read_index", "write_index"]

KEYS = {"key_text": ArrayOf("uint8", ("bytes",)), "key_ends": ArrayOf("int64", ("keys",), low=0, high="bytes")}
PLACES = {"key_places": ArrayOf("int64", ("keys", 3), low=0)}


def write_index(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys, and the places of those that have one, as arrays.

    Examples
    --------
    >>> from stream_maxloss.keyed.index import read_index, write_index
    >>> from stream_maxloss.keyed.shelf import Place
    >>> read_index(write_index({"north": Place(64, 0, 900)}))
    (['north'], [Place(segment=64, offset=0, length=900)])

    """
    texts = [key.encode("utf-8", "surrogatepass") for key in keys]
    state: dict[str, Any] = {
        "key_text": np.frombuffer(b"".join(texts), dtype=np.uint8).copy(),
        "key_ends": np.cumsum([len(text) for text in texts], dtype=np.int64).reshape(-1),
    }
    places = list(keys.values())
    if places and isinstance(places[0], Place):
        state["key_places"] = np.array(places, dtype=np.int64).reshape(-1, 3)
    return state


def read_index(state: Mapping[str, Any]) -> tuple[list[str], list[Place] | None]:
    """Return the keys, and their places if there are such.

    Raises
    ------
    KeyError
        If something is missing.
    ValueError
        If it is not what `write_index` returns.

    """
    has_places = "key_places" in state
    check_state(state, {**KEYS, **PLACES} if has_places else KEYS)
    data, ends = state["key_text"].tobytes(), state["key_ends"].tolist()
    keys = [data[first:last].decode("utf-8", "surrogatepass") for first, last in zip([0, *ends], ends, strict=False)]
    if len(set(keys)) != len(keys) or (ends[-1] if ends else 0) != len(data):
        raise ValueError("keys must be different texts that fill their array, got others")
    if not has_places:
        return keys, None if "records" in state or keys else []
    return keys, [Place(*place) for place in state["key_places"].tolist()]
