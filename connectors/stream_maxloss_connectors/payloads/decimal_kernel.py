"""Decimal numbers as JSON spells them, read to the nearest float64."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["number_end", "number_value"]

Bytes = NDArray[np.uint8]

# Whole numbers up to here, and these powers of ten, are exact, so that one product or quotient of them is rounded once.
_EXACT = np.uint64(1 << 53)
_POWERS = np.array([10.0**k for k in range(23)])
# Powers of ten that the table below has.
_SPAN = 64


def power_of_five(exponent: int) -> int:
    """Return 5^exponent as a whole number of 128 bits, times a power of two; rounded up where it is a quotient."""
    power = 5 ** abs(exponent)
    if exponent < 0:
        bits = (power - 1).bit_length()
        power = (1 << (bits + 127 if exponent >= -27 else 2 * bits + 128)) // power + 1
    shift = power.bit_length() - 128
    return power >> shift if shift > 0 else power << -shift


_FIVES = [power_of_five(exponent) for exponent in range(-_SPAN, _SPAN + 1)]
_HIGH = np.array([five >> 64 for five in _FIVES], np.uint64)
_LOW = np.array([five & (2**64 - 1) for five in _FIVES], np.uint64)


@njit(cache=True)
def skip_digits(text: Bytes, place: int, end: int) -> int:
    """Return the next place that is no digit."""
    while place < end and 48 <= text[place] <= 57:
        place += 1
    return place


@njit(cache=True)
def number_end(text: Bytes, start: int, end: int) -> int:
    """Return the place behind a number as JSON spells it, -1 if there is none."""
    place = start + 1 if text[start] == 45 else start
    whole = skip_digits(text, place, end)
    if whole == place or (text[place] == 48 and whole > place + 1):
        return -1
    place = whole
    if place < end and text[place] == 46:
        decimals = skip_digits(text, place + 1, end)
        if decimals == place + 1:
            return -1
        place = decimals
    if place < end and (text[place] == 101 or text[place] == 69):
        place += 1
        if place < end and (text[place] == 43 or text[place] == 45):
            place += 1
        digits = skip_digits(text, place, end)
        if digits == place:
            return -1
        place = digits
    return place


@njit(cache=True)
def number_value(text: Bytes, start: int, end: int) -> float:
    """Return a number that `number_end` found, NaN if it is too long or too far out to be read here.

    Whole zeros have no sign, as in Python.
    """
    negative = text[start] == 45
    place = start + 1 if negative else start
    digits, length, decimals, plain = np.uint64(0), 0, 0, True
    while place < end and text[place] != 101 and text[place] != 69:
        if text[place] == 46:
            plain = False
        else:
            digits = np.uint64(10) * digits + np.uint64(text[place] - 48)
            length += 1 if digits > np.uint64(0) else 0
            decimals += 0 if plain else 1
        place += 1
    power, sign = 0, 1
    if place < end:
        plain = False
        place += 1
        if text[place] == 43 or text[place] == 45:
            sign = -1 if text[place] == 45 else 1
            place += 1
        if end - place > 3:
            return np.nan
        while place < end:
            power = 10 * power + int(text[place]) - 48
            place += 1
    power = sign * power - decimals
    # More digits than nineteen do not fit into 64 bits.
    if length > 19:
        return np.nan
    value = scaled(digits, power)
    return -value if negative and not (plain and length == 0) else value


@njit(cache=True)
def scaled(digits: np.uint64, power: int) -> float:
    """Return digits times ten to a power, rounded to the nearest; NaN if that takes more than is done here."""
    if digits == np.uint64(0):
        return 0.0
    if digits <= _EXACT and -22 <= power <= 22:
        return np.float64(digits) * _POWERS[power] if power >= 0 else np.float64(digits) / _POWERS[-power]
    if power < -_SPAN or power > _SPAN:
        return np.nan
    return rounded(digits, power)


@njit(cache=True)
def product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the upper and the lower half of a product of two numbers of 64 bits."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    low, middle, other = a_low * b_low, a_high * b_low, a_low * b_high
    carried = (low >> half) + (middle & mask) + other
    return a_high * b_high + (middle >> half) + (carried >> half), (carried << half) | (low & mask)


@njit(cache=True)
def rounded(digits: np.uint64, power: int) -> float:
    """Return digits times ten to a power by the method of Lemire (2021, "Number Parsing at a Gigabyte per Second").

    The digits, shifted to the top of 64 bits, times 128 bits of the power of five give all bits of the result that
    decide how it is rounded; only an exact half needs a look at whether the product was exact.
    """
    zeros = 0
    while digits >> np.uint64(63) == np.uint64(0):
        digits = digits << np.uint64(1)
        zeros += 1
    upper, lower = product(digits, _HIGH[power + _SPAN])
    if upper & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = product(digits, _LOW[power + _SPAN])
        lower = lower + more
        if lower < more:
            upper = upper + np.uint64(1)
    top = upper >> np.uint64(63)
    shift = top + np.uint64(9)
    mantissa = upper >> shift
    exponent = ((217706 * power) >> 16) + 63 + int(top) - zeros
    is_half = lower <= np.uint64(1) and mantissa & np.uint64(3) == np.uint64(1) and mantissa << shift == upper
    if is_half and -4 <= power <= 23:
        mantissa = mantissa & ~np.uint64(1)
    mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
    return math.ldexp(np.float64(mantissa), exponent - 52)
