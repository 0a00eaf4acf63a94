"""Numbers as people write them: thousands apart, with a currency or per cent, in brackets where they are owed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["MISSING", "find_decimal_mark", "is_counter", "number_share", "parse_numbers"]

MISSING = ("", "-", "–", "—", "?", "n/a", "na", "nan", "null", "none", "#n/a")
"""What stands in a column of numbers, in any case, where there is none."""

CURRENCY = r"(?:\p{Sc}|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|BRL|CAD|AUD)"
APART = "'’ \u00a0\u202f"
"""What may stand between thousands besides the other mark."""

ODD_SHARE = 0.01
LEAST_ROWS = 100


def pattern(mark: str) -> str:
    """Return the regular expression of a number whose decimals come after `mark`."""
    other, mark = ("[,{}]" if mark == "." else "[.{}]").format(APART), f"[{mark}]"
    digits = rf"(?:[1-9]\d{{0,2}}(?:{other}\d{{3}})+|\d+)"
    number = rf"(?:{digits}(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?"
    written = rf"[+-]?\s*{CURRENCY}?\s*[+-]?{number}\s*(?:%|{CURRENCY})?"
    return rf"^(?:{written}|\(\s*{written}\s*\))$"


def find_decimal_mark(texts: Any) -> str | None:
    """Return what stands before the decimals of texts that are numbers; None where they are none.

    One odd text in a hundred does not count. Plain digits are no number by themselves: whoever writes codes as text
    means them as text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.numbers import find_decimal_mark
    >>> [find_decimal_mark(pa.array(texts)) for texts in (["$1,250.50", "-"], ["1.250,50 €"], ["12%"], ["007"], ["no"])]
    ['.', ',', '.', None, None]

    """
    import pyarrow.compute as pc

    there = trimmed(texts).drop_null()
    if not len(there) or pc.all(pc.match_substring_regex(there, r"^[+-]?\d+$")).as_py():
        return None
    odd = ODD_SHARE * len(there)
    for mark in ".,":
        if len(there) - pc.sum(pc.match_substring_regex(there, pattern(mark))).as_py() <= odd:
            return mark
    return None


def number_share(texts: Any) -> float:
    """Return how many of the texts that are there are numbers with decimals, or stand among such; 0 for codes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.numbers import number_share
    >>> number_share(pa.array(["1.5", "2", "err", "0.25"])), number_share(pa.array(["007", "12", "x"]))
    (0.75, 0.0)

    """
    import pyarrow.compute as pc

    there = trimmed(texts).drop_null()
    counts = [pc.sum(pc.match_substring_regex(there, pattern(mark))).as_py() or 0 for mark in ".,"]
    has_decimals = pc.any(pc.match_substring_regex(there, r"^[+-]?\d*[.,]\d+$")).as_py()
    return max(counts) / len(there) if has_decimals else 0.0


def trimmed(texts: Any) -> Any:
    """Return texts without blanks around them, null where they say that there is none."""
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    return pc.if_else(pc.is_in(pc.utf8_lower(texts), pa.array(MISSING)), pa.scalar(None, pa.string()), texts)


def parse_numbers(array: Any, mark: str) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return texts as float64, and which of them are none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.numbers import parse_numbers
    >>> numbers, wrong = parse_numbers(pa.array(["1.250,5 €", "(3)", "12 %", "-", "x"]), ",")
    >>> numbers.to_pylist(), wrong.tolist()
    ([1250.5, -3.0, 12.0, None, None], [False, False, False, False, True])

    """
    import pyarrow.compute as pc

    texts = trimmed(array)
    if mark == ".":
        try:
            return texts.cast(pa.float64()), None
        except pa.ArrowInvalid:
            pass  # some are not as a program would write them
    # What a program writes (1e300, inf) stays as it is; of the rest, digits and signs do.
    plain = pc.match_substring_regex(texts, r"(?i)^[+-]?inf(inity)?$")
    fits = pc.or_(pc.match_substring_regex(texts, pattern(mark)), plain)
    bare = pc.replace_substring_regex(texts, rf"{CURRENCY}|[%()\s{APART}{',' if mark == '.' else '.'}]", "")
    bare = pc.replace_substring(bare, mark, ".")
    owed = pc.and_(pc.starts_with(texts, "("), pc.invert(pc.starts_with(bare, "-")))
    bare = pc.if_else(owed, pc.binary_join_element_wise("-", bare, ""), bare)
    bare = pc.if_else(fits, pc.if_else(plain, texts, bare), pa.scalar(None, pa.string()))
    missing = np.asarray(texts.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
    wrong = np.asarray(bare.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_) & ~missing
    return bare.cast(pa.float64()), wrong if wrong.any() else None


def is_counter(array: Any) -> bool:
    """Tell whether numbers count rows, each one more than the one before: most likely a key.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.numbers import is_counter
    >>> is_counter(pa.array(range(90_000, 90_200))), is_counter(pa.array([1.0, 2.0]))
    (True, False)

    """
    kind = array.type
    if len(array) < LEAST_ROWS or array.null_count or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return False
    # Through DLPack: Arrow's own conversion would load pandas.
    return bool((np.diff(np.from_dlpack(array).astype(np.float64)) == 1.0).all())
