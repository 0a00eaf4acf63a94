from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stream_maxloss.checkpoint import Content, join_state, split_state
from stream_maxloss.checkpoint.content import ARRAY_DTYPES, require_finite
from stream_maxloss.checkpoint.encoding import decode_files, encode_files

arrays = st.sampled_from(ARRAY_DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
json_values = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.lists(st.integers())
)
states = st.dictionaries(st.text(max_size=8), arrays | json_values, max_size=6)


@settings(deadline=None, max_examples=100)
@given(states)
def test_a_state_comes_back_exactly_through_the_bytes_of_the_files(state: dict[str, object]) -> None:
    content = Content()
    content.put_state("model", state)
    files = {name: b"".join(data) for name, data in encode_files(content)}
    back = decode_files(files).take_state("model")
    assert back.keys() == state.keys()
    for name, value in state.items():
        assert type(back[name]) is type(value)
        if isinstance(value, np.ndarray):
            assert (back[name].dtype, back[name].shape) == (value.dtype, value.shape)
            assert back[name].tobytes() == value.tobytes()
            assert back[name].flags.writeable
        else:
            assert back[name] == value


def test_two_states_beside_one_another_stay_apart() -> None:
    content = Content()
    content.put_state("model", {"weights": np.ones(2), "n": 1})
    content.put_state("model2", {"weights": np.zeros(3), "n": 2})
    assert content.take_state("model")["weights"].shape == (2,)
    assert content.take_state("model2")["n"] == 2


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"names": np.array(["a", "b"])}, r"state\['names'\] must be an array of float64.*got <U1; .* list of strings"),
        ({"objects": np.array([{}], dtype=object)}, "got object"),
        ({"complex": np.zeros(2, dtype=complex)}, "got complex128"),
        ({3: 1}, "string names, got 3"),
    ],
    ids=["text", "object", "complex", "name"],
)
def test_states_that_cannot_be_stored_are_refused(state: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        split_state(state)


def test_a_name_that_is_array_and_value_is_refused() -> None:
    with pytest.raises(ValueError, match="'a' as an array and as a value"):
        join_state({"a": np.ones(1)}, {"a": 1})


def test_take_state_of_an_absent_name_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="model"):
        Content().take_state("model")


def test_float_arrays_of_a_state_must_be_finite_unless_exempt() -> None:
    content = Content()
    content.put_state("m", {"w": np.ones(2), "bound": np.array([np.inf]), "n": np.arange(2)}, may_be_infinite=["bound"])
    assert content.finite == ["m/w"]
    require_finite(content)
    content.arrays["m/w"] = np.array([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="array 'm/w' must be finite, got nan at element 1"):
        require_finite(content)


def test_a_listed_array_that_is_missing_is_an_error() -> None:
    with pytest.raises(ValueError, match="'w' must be there"):
        require_finite(Content(finite=["w"]))
