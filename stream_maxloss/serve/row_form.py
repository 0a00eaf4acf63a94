"""What rows look like: fixed by the first ones, and from then on the measure of all others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import orjson
import pyarrow as pa

from stream_maxloss.errors import UsageError
from stream_maxloss.intake import Intake
from stream_maxloss.intake.nested import flatten
from stream_maxloss.run import Columns, Target
from stream_maxloss.serve.bodies import Body
from stream_maxloss_connectors.payloads.json_rows import JsonDecoder
from stream_maxloss_connectors.schemas import describe_type, empty_batch, widen

__all__ = ["RowForm"]


class RowForm:
    """The columns of a service's rows, and how a body becomes rows of them.

    Parameters
    ----------
    columns
        Which column is what.
    kind, positive
        What the target is and which value of it is positive, as for `run.Target`.
    identity
        A column of ids, which is not learned and may hold anything; None for none.

    Examples
    --------
    >>> from stream_maxloss.run import Columns
    >>> from stream_maxloss.serve.bodies import read_body
    >>> from stream_maxloss.serve.row_form import RowForm
    >>> form = RowForm(Columns("y"), "binary")
    >>> form.fix(form.infer(read_body(b'{"x": 1, "y": true}', "application/json")))
    >>> records, bad = form.decode([b'{"x": 2, "y": false}', b'{"x": "two", "y": true}'])
    >>> records.to_pylist(), bad
    ([{'x': 2.0, 'y': False}], {1: "field 'x' must be a number, got 'two'"})
    >>> form.read_one(b'{"x": 3, "shape": "round"}')
    {'x': 3.0}

    """

    def __init__(
        self, columns: Columns, kind: str = "any", positive: str | None = None, identity: str | None = None
    ) -> None:
        self.columns = columns
        self.kind = kind
        self.positive = positive
        self.identity = identity
        self.schema: pa.Schema | None = None
        self.features: list[str] = []
        self._decoder: JsonDecoder | None = None
        self._one: Any = None
        self.fields: tuple[str, ...] = ()
        self.decode_numbers: Callable[[bytes], Any] | None = None

    def fix(self, schema: pa.Schema) -> None:
        """Let rows look like this from now on."""
        self.schema = schema
        self.features = self.columns.choose(schema.names)
        self._decoder = JsonDecoder(schema)
        kinds = {name: plain_type(schema.field(name).type) for name in self.features}
        self.fields = tuple(self.features)
        self._one = self.decode_numbers = None
        if all(kinds.values()):
            fields = [
                (f"field_{i}", kinds[name] | None, msgspec.field(name=name, default=None))
                for i, name in enumerate(self.features)
            ]
            # msgspec takes no names with quotes, backslashes or control characters: such rows are read as batches are.
            with contextlib.suppress(ValueError):
                self._one = msgspec.json.Decoder(msgspec.defstruct("Row", fields, gc=False)).decode
        if {*kinds.values()} == {float}:
            self.decode_numbers = self._one

    def infer(self, body: Body) -> pa.Schema:
        """Return what rows look like, judged by those of one body.

        Raises
        ------
        UsageError
            If they cannot be learned: no object, no feature, no target, or one that the model does not take.

        """
        if body.records is not None:
            schema = widen(body.records.schema)
        else:
            decoder = JsonDecoder()
            decoder.infer(body.payloads)
            if decoder.schema is None:
                raise UsageError('rows must be JSON objects with fields, got none; send for instance {"x": 1.5}')
            schema = decoder.schema
        schema = pa.schema([field for field in schema if field.name != self.identity])
        if not self.columns.choose(schema.names):
            raise UsageError("rows must have features, got none besides the target; send more fields")
        records = body.records
        if records is None:
            records = JsonDecoder(schema).decode(body.payloads, body.rows).records
        self._require_learnable(empty_batch(schema) if records is None else records)
        return schema

    def _require_learnable(self, records: pa.RecordBatch) -> None:
        """Refuse rows that no run could learn, before they are in the log for good."""
        name, trial = self.columns.target, Intake()
        if name is not None:
            target = Target(name, self.kind, self.positive)
            target.settle(records.column(name))
            target.read(records.column(name).slice(0, 1000), str)
        records = records.slice(0, 1000)
        features = flatten(records.select(self.columns.choose(records.schema.names)))
        trial.settle(features)
        if not trial.apply(features, False)[0].num_columns:
            raise UsageError(f"rows must have features, got none that can be learned from; {'; '.join(trial.notes)}")

    def decode(self, payloads: Sequence[bytes]) -> tuple[pa.RecordBatch, dict[int, str]]:
        """Return the good ones of some JSON rows, and what is wrong with each of the others."""
        decoder = self._decoder
        if decoder is None or self.schema is None:
            raise UsageError("rows must be known before they are read; send some to learn first")
        found = decoder.decode(payloads, len(payloads))
        return (empty_batch(self.schema) if found.records is None else found.records), dict(found.bad)

    def conform(self, records: pa.RecordBatch, columns: Sequence[str] | None = None) -> pa.RecordBatch:
        """Return the rows of an Arrow body with our columns and types; a column that is not there is null.

        Raises
        ------
        UsageError
            If a column cannot have the type that it has to have.

        """
        schema = self.schema if self.schema is not None else widen(records.schema)
        if columns is not None:
            schema = pa.schema([schema.field(name) for name in columns])
        if records.schema.equals(schema):
            return records
        known = set(records.schema.names)
        arrays = [
            cast(records.column(field.name), field) if field.name in known else pa.nulls(records.num_rows, field.type)
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def read_one(self, data: bytes) -> dict[str, Any] | None:
        """Return the features of one JSON row; None where it takes a closer look, as `decode` has."""
        if self._one is None:
            return None if self.schema is not None else self._read_unknown(data)
        try:
            values = msgspec.structs.astuple(self._one(data))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        return {name: value for name, value in zip(self.fields, values, strict=True) if value is not None}

    def _read_unknown(self, data: bytes) -> dict[str, Any]:
        """Return the features of a row before the first one was learned."""
        try:
            row = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise UsageError(f"the row must be a JSON object, got {len(data)} bytes that are not: {error}") from error
        if not isinstance(row, dict):
            raise UsageError(f"the row must be a JSON object, got {type(row).__name__}")
        columns = self.columns
        taken = {columns.target, columns.weight, columns.slice_by, self.identity, *columns.exclude}
        return {n: v for n, v in row.items() if n not in taken and isinstance(v, bool | int | float | str)}


def plain_type(kind: pa.DataType) -> Any:
    """Return the Python type of a column's values that JSON has, too, else None."""
    if pa.types.is_float64(kind):
        return float
    if pa.types.is_boolean(kind):
        return bool
    return str if pa.types.is_string(kind) else None


def cast(column: pa.Array, field: pa.Field) -> pa.Array:
    """Return a column of the type that it has to have."""
    if column.type.equals(field.type):
        return column
    try:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(
            f"column {field.name!r} must be {describe_type(field.type)}, got {column.type}: {reason}"
        ) from error
