"""Free text as words: a bag of words without order, in Arrow's own loops."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["MOST_WORDS", "Vocabulary", "is_prose", "words_of"]

LONGEST_TEXT = 1000
"""Words of one text that count."""

LONGEST_WORD = 40

MOST_WORDS = 1 << 17
"""Words of a column that keep their names; later ones share `BUCKETS` names, by their hash."""

BUCKETS = 1 << 14

PLAIN_BYTES = np.array(
    [
        ord(" ") if not chr(byte).isalnum() else ord("0") if chr(byte).isdigit() else ord(chr(byte).lower())
        for byte in range(128)
    ]
    + list(range(128, 256)),
    dtype=np.uint8,
)
"""What becomes of each byte of UTF-8."""

LEAST_TEXTS = 20
LEAST_WORDS = 3.5
LEAST_LENGTH = 20.0


def words_of(array: Any) -> Any:
    """Return the words of each text, in lower case, every digit as 0: a number counts by its length.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.text import words_of
    >>> words_of(pa.array(["Call 08712-300 NOW!!", None, "..."])).to_pylist()
    [['call', '00000', '000', 'now'], None, []]

    """
    import pyarrow.compute as pc

    split = pc.split_pattern(with_single_blanks(array.cast(pa.string()).fill_null("")), " ")
    lengths = split.value_lengths().to_numpy(zero_copy_only=False)
    words = split.flatten()
    kept = np.asarray(pc.not_equal(words, "").to_numpy(zero_copy_only=False), dtype=np.bool_)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    before = np.concatenate(([0], np.cumsum(kept)))[np.cumsum(lengths) - lengths]
    kept &= np.cumsum(kept) - before[rows] <= LONGEST_TEXT
    counts = np.bincount(rows[kept], minlength=len(lengths))
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    values = words.filter(pa.array(kept))
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=mask)


def with_single_blanks(texts: Any) -> Any:
    """Return texts in lower case, every digit as 0 and a blank for whatever is neither letter nor digit.

    Bytes go through a table, ten times as fast as through regular expressions, which are left for texts with other
    letters than those of ASCII.
    """
    _, ends, content = texts.buffers()
    offsets = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(content or b"", np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    mapped = pa.py_buffer(PLAIN_BYTES[data])
    plain = pa.StringArray.from_buffers(len(texts), pa.py_buffer(offsets), mapped)
    if not (data >= 128).any():
        return plain
    other = np.zeros(len(texts), dtype=np.bool_)
    other[np.searchsorted(offsets, np.flatnonzero(data >= 128), side="right") - 1] = True
    import pyarrow.compute as pc

    lower = pc.replace_substring_regex(pc.utf8_lower(texts.filter(pa.array(other))), r"\d", "0")
    return pc.replace_with_mask(plain, pa.array(other), pc.replace_substring_regex(lower, r"[^\pL\pN\pM]+", " "))


def is_prose(array: Any) -> bool:
    """Return whether texts are written for people: several words long, and mostly distinct.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.text import is_prose
    >>> is_prose(pa.array([f"message number {n} of a long thread" for n in range(30)]))
    True
    >>> is_prose(pa.array(["New York City", "San Francisco Bay"] * 20))
    False

    """
    texts = array.drop_null()
    import pyarrow.compute as pc

    texts = texts.filter(pc.not_equal(texts, ""))
    if len(texts) < LEAST_TEXTS or 2 * len(texts.unique()) < len(texts):
        return False
    words = pc.mean(pc.add(pc.count_substring_regex(pc.utf8_ltrim_whitespace(texts), r"\s+\S"), 1)).as_py()
    return bool(words >= LEAST_WORDS and pc.mean(pc.utf8_length(texts)).as_py() >= LEAST_LENGTH)


class Vocabulary:
    """The words of a column: the first ones by name, later ones by a hash, so that memory is bounded.

    Parameters
    ----------
    words
        Those that are known already, in the order in which they came.
    most
        How many keep their names.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.text import Vocabulary
    >>> Vocabulary(most=2).bound(pa.array([["a", "b"], ["a", "c"]]), learn=True).to_pylist()
    [['a', 'b'], ['a', '#8047']]

    """

    def __init__(self, words: list[str] | None = None, most: int = MOST_WORDS) -> None:
        self.words: dict[str, None] = dict.fromkeys(words or ())
        self.most = most

    def bound(self, lists: Any, learn: bool) -> Any:
        """Return lists of words with those beyond the limit replaced; with `learn`, new words are taken in."""
        if pa.types.is_dictionary(lists.type.value_type):
            lists = lists.cast(pa.list_(pa.string()))
        encoded = lists.values.dictionary_encode()
        found = encoded.dictionary.to_pylist()
        named = [self._name(word, learn) for word in found]
        if named == found:
            return lists
        values = pa.array(named, pa.string()).take(encoded.indices)
        return pa.ListArray.from_arrays(lists.offsets, values, mask=lists.is_null() if lists.null_count else None)

    def _name(self, word: str | None, learn: bool) -> str | None:
        if word is None:
            return None
        cut = word if len(word) <= LONGEST_WORD else word[:LONGEST_WORD]
        if cut in self.words:
            return cut
        if len(self.words) < self.most:
            if learn:
                self.words[cut] = None
            return cut
        return f"#{zlib.crc32(cut.encode('utf-8', 'surrogatepass')) % BUCKETS}"

    def state_dict(self) -> list[str]:
        """Return the words in the order in which they came."""
        return list(self.words)
