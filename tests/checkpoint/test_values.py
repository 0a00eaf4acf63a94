from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.checkpoint.values import decode, encode

atoms = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
trees = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.just("$float") | st.just("$"), inner)
    ),
    max_leaves=15,
)


def shape(value: object) -> object:
    """Types all the way down: 1 == 1.0 == True would hide a change of type."""
    if isinstance(value, list | tuple):
        return type(value), [shape(item) for item in value]
    if isinstance(value, dict):
        return dict, {key: shape(item) for key, item in value.items()}
    return type(value), repr(value)


@settings(deadline=None, max_examples=200)
@given(trees)
def test_decode_gives_back_exactly_what_encode_got(value: object) -> None:
    text = encode(value)
    assert shape(decode(text)) == shape(value)
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_nan_comes_back_as_nan() -> None:
    assert math.isnan(decode(encode([float("nan")]))[0])


def test_lone_surrogates_survive() -> None:
    assert decode(encode("\ud800")) == "\ud800"


@pytest.mark.parametrize(
    "tagged",
    [{"$float": "inf"}, {"$tuple": [1]}, {"$dict": [["a", 1]]}, {"$": 1}, {"$float": "inf", "other": 1}],
    ids=str,
)
def test_a_dict_that_looks_like_a_tag_stays_a_dict(tagged: dict[str, object]) -> None:
    assert decode(encode(tagged)) == tagged


@pytest.mark.parametrize(
    ("scalar", "plain"),
    [(np.float64(0.1), 0.1), (np.int64(3), 3), (np.bool_(True), True), (np.float32(0.5), 0.5)],
    ids=repr,
)
def test_numpy_scalars_come_back_as_the_same_plain_number(scalar: object, plain: object) -> None:
    assert shape(decode(encode([scalar]))) == shape([plain])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({1: "a"}, "must have string keys .* got 1"),
        ({"a": [b"raw"]}, r"value\['a'\]\[0\] must be None.*got bytes b'raw'"),
        ({"a": {2, 3}}, "got set"),
        ([np.zeros(3)], "NumPy array of its own"),
        (object, "got type"),
    ],
    ids=["integer-key", "bytes", "set", "nested-array", "class"],
)
def test_what_json_cannot_express_is_refused_with_its_place(value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        encode(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "unique, got 'a' twice"),
        ('{"a": NaN}', "bare constant NaN"),
        ('{"$object": "os.system"}', "only the tags"),
        ('{"$float": "1e400"}', "only the tags"),
        ('{"$tuple": 3}', "only the tags"),
        ('{"$dict": [[1, 2]]}', "only the tags"),
        ("[" * 100_000, "less deeply"),
        ("9" * 5000, "digits"),
        ("{", "Expecting"),
        (b"\xff\xfe\xfd", "codec"),
    ],
    ids=["twice", "nan", "unknown-tag", "float-tag", "tuple-tag", "dict-tag", "deep", "digits", "cut", "bytes"],
)
def test_hostile_json_is_a_value_error(text: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(text)


def test_too_deep_a_value_is_refused_when_saved() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ValueError, match="nested less deeply"):
        encode(value)
