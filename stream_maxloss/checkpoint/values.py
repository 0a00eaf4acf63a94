"""JSON that gives back exactly what went in.

Plain JSON has no infinities, turns tuples into lists and turns the key 1 into "1", all without a word. Here a float
that is not finite becomes `{"$float": "inf"}`, a tuple `{"$tuple": [...]}`, and a dict whose only key begins with `$`
becomes `{"$dict": [[key, value]]}`; whatever else is not JSON is refused when it is written, not discovered when it is
read.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

__all__ = ["decode", "encode"]

_ATOMS = {str, int, bool, type(None)}


def encode(value: Any, where: str = "value") -> str:
    """Return `value` as one line of ASCII JSON.

    NumPy scalars are written as the Python number of the same value; that is what comes back.

    Raises
    ------
    TypeError
        If something in it is not None, a bool, int, float, str, list, tuple, or dict with string keys.
    ValueError
        If it is nested too deeply or holds an integer of thousands of digits.

    Examples
    --------
    >>> from stream_maxloss.checkpoint.values import decode, encode
    >>> encode({"best": float("-inf"), "shape": (2, 3)})
    '{"best":{"$float":"-inf"},"shape":{"$tuple":[2,3]}}'
    >>> decode(encode({"best": float("-inf"), "shape": (2, 3)}))
    {'best': -inf, 'shape': (2, 3)}

    """
    try:
        return json.dumps(_tag(value, where), allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise ValueError(f"{where} must be nested less deeply to be saved as JSON") from None


def decode(text: str | bytes) -> Any:
    """Return the value that `encode` was given; refuse other JSON, and JSON that repeats a key, with a ValueError."""
    try:
        return json.loads(text, object_pairs_hook=_untag, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("JSON must be nested less deeply") from None


def _tag(value: Any, where: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is list:
        return _tag_list(value, where)
    if kind is tuple:
        return {"$tuple": _tag_list(list(value), where)}
    if kind is dict:
        return _tag_dict(value, where)
    raise TypeError(
        f"{where} must be None, a bool, int, float, str, list, tuple or dict to be saved as JSON, got "
        f"{kind.__name__} {_brief(value)}; convert it, or keep it as a NumPy array of its own"
    )


def _tag_list(value: list[Any], where: str) -> list[Any]:
    # The names of a million features come as one list: asking for the set of types is all it may cost.
    if set(map(type, value)) <= _ATOMS:
        return value
    return [_tag(item, f"{where}[{index}]") for index, item in enumerate(value)]


def _tag_dict(value: dict[Any, Any], where: str) -> dict[str, Any]:
    for key in value:
        if type(key) is not str:
            raise TypeError(f"{where} must have string keys to be saved as JSON, got {key!r}; use a list of pairs")
    tagged = {key: _tag(item, f"{where}[{key!r}]") for key, item in value.items()}
    if len(tagged) == 1 and next(iter(tagged)).startswith("$"):
        return {"$dict": [list(pair) for pair in tagged.items()]}
    return tagged


def _untag(pairs: list[tuple[str, Any]]) -> Any:
    if len(pairs) == 1 and pairs[0][0].startswith("$"):
        return _untag_one(*pairs[0])
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"JSON keys must be unique, got {repeated!r} twice")
    return value


def _untag_one(tag: str, content: Any) -> Any:
    if tag == "$float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if tag == "$tuple" and type(content) is list:
        return tuple(content)
    if tag == "$dict" and type(content) is list and len(content) == 1 and _is_pair(content[0]):
        return {content[0][0]: content[0][1]}
    raise ValueError(f"JSON must hold only the tags $float, $tuple and $dict, got {tag} {_brief(content)}")


def _is_pair(item: Any) -> bool:
    return type(item) is list and len(item) == 2 and type(item[0]) is str


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"JSON must not hold the bare constant {name}")


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
