"""Arrow IPC streams as messages, many rows in each."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from stream_maxloss_connectors.payloads.base import Decoded, Decoder

__all__ = ["ArrowDecoder"]


class ArrowDecoder(Decoder):
    """Reads messages that are a whole Arrow IPC stream each: schema, record batches, end.

    The first message tells the schema. A column that a later message lacks is null, one that it has in addition is
    ignored, one of another type makes the message bad. It pays from about ten rows a message on.

    Parameters
    ----------
    schema
        The columns; None to take them from the first message.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss_connectors.payloads.arrow_rows import ArrowDecoder, encode_stream
    >>> message = encode_stream(pa.record_batch({"x": [1.0, 2.0, 3.0]}))
    >>> decoded = ArrowDecoder().decode([message, b"torn", message], max_rows=4)
    >>> decoded.records.num_rows, decoded.messages, decoded.counts
    (6, 3, [3, 0, 3])

    """

    def infer(self, payloads: Sequence[bytes]) -> None:
        """Take the schema of the first message that has one."""
        for payload in payloads:
            if self.schema is not None:
                return
            try:
                self.schema = pa.ipc.open_stream(pa.py_buffer(payload)).schema.remove_metadata()
            except (pa.ArrowException, OSError):
                continue

    def decode(self, payloads: Sequence[bytes], max_rows: int) -> Decoded:
        """Decode whole messages until there are at least `max_rows` rows."""
        self.infer(payloads)
        batches: list[pa.RecordBatch] = []
        counts: list[int] = []
        bad: dict[int, str] = {}
        rows = 0
        for i, payload in enumerate(payloads):
            if rows >= max_rows:
                break
            try:
                found = self._read(payload)
            except (pa.ArrowException, OSError, ValueError) as error:
                bad[i] = str(error).splitlines()[0]
                found = []
            batches += found
            counts.append(sum(batch.num_rows for batch in found))
            rows += counts[-1]
        if self.schema is None:
            return Decoded(None, len(counts), bad, counts)
        records = pa.concat_batches(batches) if batches else _empty(self.schema)
        return Decoded(records, len(counts), bad, counts)

    def _read(self, payload: bytes) -> list[pa.RecordBatch]:
        reader = pa.ipc.open_stream(pa.py_buffer(payload))
        batches = list(reader)
        for batch in batches:
            # Offsets and lengths inside the message are data of the sender's: unchecked, they are read past its end.
            batch.validate(full=True)
        return [self._align(batch) for batch in batches]

    def _align(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays, known = [], set(batch.schema.names)
        for column in self.schema or ():
            if column.name not in known:
                arrays.append(pa.nulls(batch.num_rows, column.type))
                continue
            array = batch.column(column.name)
            if array.type != column.type:
                raise ValueError(f"column {column.name!r} must be of type {column.type}, got {array.type}")
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def encode_stream(records: pa.RecordBatch) -> bytes:
    """Return a message that `ArrowDecoder` reads."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, records.schema) as writer:
        writer.write_batch(records)
    return bytes(sink.getvalue().to_pybytes())


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], column.type) for column in schema], schema=schema)
