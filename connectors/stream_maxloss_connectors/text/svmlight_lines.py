"""svmlight (libsvm) records: a target and the features that are not zero."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as arrow_csv

from stream_maxloss_connectors.schemas import conform
from stream_maxloss_connectors.text.lines import (
    MAX_RECORD_BYTES,
    Frames,
    LineDecoder,
    mark_damage,
    positions,
    shorten,
    too_long_reason,
)

__all__ = ["SvmlightDecoder"]

_QID = 2147483648  # no feature can be called so: it is the first whole number that is no int32
_BLANKS = bytes.maketrans(b"\r\t", b"  ")
_AS_TABLE = bytes.maketrans(b" :", b"\n,")


class SvmlightDecoder(LineDecoder):
    r"""Decodes svmlight: `target [qid:number] index:value ... [# comment]`.

    Rows have a column `target` (double), a column `features` (map from int32 to double, one entry per feature
    given), and a column `qid` (int64) if the first records have one.

    Each record is rewritten as a small CSV table with the columns index and value, whose rows without an index are the
    targets. pyarrow parses that at the speed of its CSV reader, and refuses what is no number.

    Parameters
    ----------
    max_record_bytes
        Longer records are bad.

    Examples
    --------
    >>> from stream_maxloss_connectors.text.svmlight_lines import SvmlightDecoder
    >>> decoder = SvmlightDecoder()
    >>> text = b"+1 3:0.5 7:1 # first\n-1\n"
    >>> block = decoder.decode(text, decoder.infer(text), 1, "day.svm:{}".format)
    >>> block.records.to_pydict()
    {'target': [1.0, -1.0], 'features': [[(3, 0.5), (7, 1.0)], []]}

    """

    def __init__(self, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        self.max_record_bytes = max_record_bytes

    def infer(self, block: bytes) -> pa.Schema:
        """Return the columns: `target` and `features`, and `qid` if a record has one."""
        fields = [("target", pa.float64()), ("features", pa.map_(pa.int32(), pa.float64()))]
        if b"qid:" in block and re.search(rb"(?m)^[^#\n]*?[ \t]qid:", block):
            fields.append(("qid", pa.int64()))
        return pa.schema(fields)

    def frame(self, block: bytes, whole: bool) -> Frames:
        """Find the lines of a block; those with nothing but a comment are blank."""
        ends = positions(block, ord("\n"), 0, len(block)) + 1
        newlines = len(ends)
        if whole and block and not block.endswith(b"\n"):
            ends = np.append(ends, len(block))
        starts = np.concatenate(([0], ends[:-1])) if len(ends) else ends
        first = np.frombuffer(block, np.uint8)[starts]
        # Only a line that starts with a blank, a line end or a comment can be blank.
        suspects = np.flatnonzero((first <= ord(" ")) | (first == ord("#"))).tolist()
        blank = [i for i in suspects if not block[starts[i] : ends[i]].partition(b"#")[0].strip(b" \t\r\n")]
        kept = np.delete(np.arange(len(starts)), blank)
        long = np.flatnonzero(ends[kept] - starts[kept] > self.max_record_bytes)
        broken = dict.fromkeys(long.tolist(), too_long_reason(self.max_record_bytes))
        length = int(ends[-1]) if len(ends) else 0
        mark_damage(block, starts[kept], ends[kept], length, broken)
        return Frames(starts[kept], ends[kept], kept, kept + 1, broken, frozenset(), length, newlines)

    def last_record_end(self, block: bytes) -> int:
        """Return how many bytes of `block`, which more may follow, are whole records."""
        return block.rfind(b"\n") + 1

    def parse(self, piece: bytes, schema: pa.Schema) -> pa.RecordBatch:
        """Parse whole records of one block."""
        keys, values = _read_pairs(piece)
        is_target = keys.is_null().to_numpy(zero_copy_only=False)
        numbers = values.to_numpy(zero_copy_only=False)
        features = _Features(
            rows=np.cumsum(is_target)[~is_target] - 1,
            keys=keys.drop_null().to_numpy(),
            values=numbers[~is_target],
            count=int(is_target.sum()),
        )
        qid = features.take_qid()
        if qid is not None and "qid" not in schema.names:
            raise pa.ArrowInvalid("unexpected qid")
        features.check()
        columns = {"target": pa.array(numbers[is_target]), "features": features.to_map(), "qid": qid}
        if qid is None:
            columns["qid"] = pa.nulls(features.count, pa.int64())
        batch = pa.RecordBatch.from_pydict(columns)
        return conform(batch, schema, "svmlight")

    def reason(self, record: bytes, schema: pa.Schema, error: Exception | None) -> str:
        """Find the token that is wrong."""
        # Split where `parse` does: a form feed is a blank for Python, and not here.
        target, *tokens = filter(None, record.partition(b"#")[0].rstrip(b"\n").translate(_BLANKS).split(b" "))
        if not _is_number(target):
            return f"target must be a number, got {shorten(target)}"
        seen = set()
        for place, token in enumerate(tokens):
            key, _, value = token.partition(b":")
            if key == b"qid" and place == 0:
                if "qid" not in schema.names:
                    return "qid must be given in the first records if at all; give a schema with a column 'qid'"
                if not _is_number(value) or not float(value).is_integer() or abs(float(value)) >= 2**63:
                    return f"qid must be a whole number of 64 bits, got {shorten(value)}"
                continue
            if not re.fullmatch(rb"0*[0-9]{1,10}", key) or int(key[-10:]) >= _QID or not _is_number(value):
                return f"feature must be index:value with a whole index below {_QID}, got {shorten(token)}"
            if key in seen:
                return f"feature {key.decode()} must be given once, got it twice"
            seen.add(key)
        return f"row must be 'target index:value ...', got {shorten(record)}"


@dataclass
class _Features:
    """Pairs of all records of a block, with the record each belongs to."""

    rows: npt.NDArray[np.int64]
    keys: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    count: int

    def take_qid(self) -> pa.Array | None:
        """Take the pairs that stand for a qid out, and return them as a column."""
        places = np.flatnonzero(self.keys == _QID)
        if not len(places):
            return None
        first = np.searchsorted(self.rows, self.rows[places]) == places
        # Within what 64 bits hold: an infinity is whole, too, and becomes any number.
        whole = (self.values[places] == np.floor(self.values[places])) & (np.abs(self.values[places]) < 2.0**63)
        if not (first & whole).all():
            raise pa.ArrowInvalid("qid must come first and be a whole number")
        column = np.zeros(self.count, np.int64)
        given = np.zeros(self.count, bool)
        column[self.rows[places]] = self.values[places].astype(np.int64)
        given[self.rows[places]] = True
        kept = self.keys != _QID
        self.rows, self.keys, self.values = self.rows[kept], self.keys[kept], self.values[kept]
        return pa.array(column, mask=~given)

    def check(self) -> None:
        """Raise if an index is out of range, or twice in a record."""
        if len(self.keys) and (self.keys.min() < 0 or self.keys.max() >= _QID):
            raise pa.ArrowInvalid("index out of range")
        same_row = np.diff(self.rows) == 0
        if (same_row & (np.diff(self.keys) <= 0)).any():
            order = np.lexsort((self.keys, self.rows))
            if ((np.diff(self.rows[order]) == 0) & (np.diff(self.keys[order]) == 0)).any():
                raise pa.ArrowInvalid("index given twice")

    def to_map(self) -> pa.Array:
        offsets = np.searchsorted(self.rows, np.arange(self.count + 1)).astype(np.int32)
        return pa.MapArray.from_arrays(offsets, self.keys.astype(np.int32), self.values)


def _read_pairs(piece: bytes) -> tuple[pa.Array, pa.Array]:
    """Return the index, or null for a target, and the value of every token."""
    text = _tidy(piece)
    # A CSV reader takes 0x10 for 16, and could be told a qid so.
    if b"," in text or b"x" in text or b"X" in text or (b"%d:" % _QID) in text:
        raise pa.ArrowInvalid("unexpected comma or number")
    if b"q" in text:
        text = text.replace(b" qid:", b" %d:" % _QID)
    # A comma before each target, and a line for each token: target -> ",target", index:value -> "index,value".
    table = b"," + text.replace(b"\n", b"\n,").translate(_AS_TABLE)
    pairs = arrow_csv.read_csv(
        pa.BufferReader(table),
        arrow_csv.ReadOptions(column_names=["key", "value"], use_threads=False, block_size=len(table) + 1),
        arrow_csv.ParseOptions(quote_char=False),
        arrow_csv.ConvertOptions(column_types={"key": pa.int64(), "value": pa.float64()}, null_values=[""]),
    ).to_batches()[0]
    if pairs.column(1).null_count:
        raise pa.ArrowInvalid("a value is missing")
    return pairs.column(0), pairs.column(1)


def _tidy(piece: bytes) -> bytes:
    """Return the records without comments, blank lines and all but single spaces between tokens."""
    if b"#" in piece:
        piece = re.sub(rb"#[^\n]*", b"", piece)
    if b"\t" in piece or b"\r" in piece:
        piece = piece.translate(_BLANKS)
    blank = np.frombuffer(piece, np.uint8) <= ord(" ")
    if (blank[1:] & blank[:-1]).any():
        piece = re.sub(rb" *\n[ \n]*", b"\n", re.sub(rb" {2,}", b" ", piece))
    return piece.strip(b" \n")


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return b"_" not in text
