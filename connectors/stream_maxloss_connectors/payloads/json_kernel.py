"""Flat JSON objects of numbers, all with the same keys in the same order, parsed in one pass over their bytes."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from stream_maxloss_connectors.payloads.decimal_kernel import number_end, number_value

__all__ = ["BOOLEAN", "NUMBER", "SKIPPED", "parse_objects"]

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]

# What a field may hold: a number, true or false, or anything plain, which is passed over.
NUMBER, BOOLEAN, SKIPPED = 0, 1, 2


@njit(cache=True)
def skip_space(text: Bytes, place: int, end: int) -> int:
    """Return the next place that is no space."""
    while place < end and (text[place] == 32 or text[place] == 10 or text[place] == 13 or text[place] == 9):
        place += 1
    return place


@njit(cache=True)
def matches(text: Bytes, place: int, end: int, word: Bytes, first: int, last: int) -> bool:
    """Tell whether some bytes of a word stand at a place."""
    if place + last - first > end:
        return False
    k = first
    while k < last and text[place + k - first] == word[k]:
        k += 1
    return k == last


@njit(cache=True)
def string_end(text: Bytes, start: int, end: int) -> int:
    """Return the place behind a string of plain ASCII, -1 if it is none."""
    place = start + 1
    while place < end and text[place] != 34:
        if text[place] < 32 or text[place] > 126 or text[place] == 92:
            return -1
        place += 1
    return place + 1 if place < end else -1


@njit(cache=True)
def parse_word(text: Bytes, place: int, end: int, words: Bytes) -> tuple[int, int]:
    """Return the place behind null, true or false and which of them it is: -1, 1 or 0; (-1, 0) if it is none."""
    if matches(text, place, end, words, 0, 4):
        return place + 4, -1
    if matches(text, place, end, words, 4, 8):
        return place + 4, 1
    if matches(text, place, end, words, 8, 13):
        return place + 5, 0
    return -1, 0


@njit(cache=True)
def parse_value(text: Bytes, start: int, end: int, kind: int, words: Bytes, cell: NDArray[np.float64]) -> int:
    """Write a value into a cell, infinite for null, NaN for a number not read here; return the place behind, or -1."""
    byte = text[start]
    if byte == 45 or 48 <= byte <= 57:
        place = number_end(text, start, end)
        if place > 0 and kind == NUMBER:
            cell[0] = number_value(text, start, place)
        return -1 if kind == BOOLEAN else place
    if byte == 34:
        return string_end(text, start, end) if kind == SKIPPED else -1
    place, word = parse_word(text, start, end, words)
    cell[0] = np.inf if word < 0 else np.float64(word)
    return -1 if kind == NUMBER and word >= 0 else place


@njit(cache=True)
def expect(text: Bytes, place: int, end: int, byte: int) -> int:
    """Return the next place that is no space behind a byte that must come next, spaces before it allowed, or -1."""
    place = skip_space(text, place, end)
    return skip_space(text, place + 1, end) if place < end and text[place] == byte else -1


@njit(cache=True)
def parse_objects(
    text: Bytes,
    ends: Integers,
    keys: Bytes,
    key_ends: Integers,
    kinds: Integers,
    columns: Integers,
    words: Bytes,
    values: NDArray[np.float64],
    hard: Integers,
) -> tuple[int, int]:
    """Parse messages until one is out of the ordinary.

    Parameters
    ----------
    text, ends
        The messages, joined, and the place behind each.
    keys, key_ends
        The keys of every message, quoted and joined, and the place behind each.
    kinds, columns
        For each key what it holds, and which column of `values` it goes to.
    words
        `b"nulltruefalse"`.
    values
        Columns to fill: numbers, 1 for true and 0 for false, infinite for null.
    hard
        Filled with column, message, start and end of each number that is too long or too far out to be read here.

    Returns
    -------
    tuple
        How many messages were parsed, and how many rows of `hard` were filled.

    """
    n_hard, begin, last = 0, 0, len(kinds) - 1
    cell = np.empty(1)
    for message in range(len(ends)):
        end = ends[message]
        place = expect(text, begin, end, 123)
        for field in range(last + 1):
            first = 0 if field == 0 else key_ends[field - 1]
            if place < 0 or not matches(text, place, end, keys, first, key_ends[field]):
                return message, n_hard
            start = expect(text, place + key_ends[field] - first, end, 58)
            if start < 0 or start >= end:
                return message, n_hard
            place = parse_value(text, start, end, kinds[field], words, cell)
            if place < 0:
                return message, n_hard
            if kinds[field] != SKIPPED:
                values[columns[field], message] = cell[0]
                if np.isnan(cell[0]):
                    hard[n_hard] = (columns[field], message, start, place)
                    n_hard += 1
            place = expect(text, place, end, 125 if field == last else 44)
        if place != end:
            return message, n_hard
        begin = end
    return len(ends), n_hard
