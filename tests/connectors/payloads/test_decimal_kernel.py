"""Numbers are read as Python reads them, to the last bit."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream_maxloss_connectors.payloads.decimal_kernel import number_end, number_value


def read(text: str) -> float | None:
    block = np.frombuffer(text.encode(), np.uint8)
    end = number_end(block, 0, len(block))
    return None if end < len(block) else float(number_value(block, 0, end))


def is_same(found: float, wanted: float) -> bool:
    return struct.pack("d", found) == struct.pack("d", wanted)


@settings(deadline=None, max_examples=500)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_prints_is_read_back_to_the_bit_or_left_to_python(number: float) -> None:
    found = read(repr(number))
    assert found is not None
    assert math.isnan(found) or is_same(found, number)


@settings(deadline=None, max_examples=500)
@given(digits=st.integers(0, 10**19 - 1), power=st.integers(-64, 45))
@example(digits=2**53 + 1, power=0)
@example(digits=9007199254740993, power=1)
@example(digits=10**19 - 1, power=-64)
def test_nineteen_digits_within_the_table_are_rounded_to_the_nearest(digits: int, power: int) -> None:
    text = f"{digits}e{power}"
    found = read(text)
    assert found is not None
    assert is_same(found, float(text))


@settings(deadline=None, max_examples=300)
@given(mantissa=st.integers(2**52, 2**53 - 1), shift=st.integers(1, 10), off=st.integers(-1, 1))
def test_halves_go_to_the_even_neighbour(mantissa: int, shift: int, off: int) -> None:
    half = ((2 * mantissa + 1) << (shift - 1)) + off
    if half < 10**19:
        assert read(str(half)) == float(half)


@pytest.mark.parametrize("text", ["1" * 20, "0." + "3" * 30, "1e65", "1e-300", "1e0001"])
def test_what_is_too_long_or_too_far_out_is_left_to_python(text: str) -> None:
    found = read(text)
    assert found is not None
    assert math.isnan(found)


@pytest.mark.parametrize("text", ["01", "-", "1.", ".5", "+1", "1e", "1e+", "-.5", "1.e5", "0x1", "00"])
def test_what_is_no_number_in_json_is_refused(text: str) -> None:
    assert read(text) is None


def test_a_whole_zero_has_no_sign_and_another_has() -> None:
    assert is_same(read("-0") or 0.0, 0.0)
    found = read("-0.0")
    assert found is not None
    assert is_same(found, -0.0)
