"""How many values of a text column a run keeps apart."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from stream_maxloss.errors import CheckpointError
from stream_maxloss.run.task import is_text

__all__ = ["OTHER", "TEXT_LIMIT", "TextValues"]

logger = logging.getLogger("stream_maxloss.run")

TEXT_LIMIT = 1 << 16
OTHER = "(other)"
# Rows a value from which on a dictionary is worth its while.
FEW = 16


class TextValues:
    """The values that text columns have had so far; once a column has too many, each new one becomes `(other)`.

    Every value is a feature, so that a column of identifiers would make a model, and its checkpoints, grow for ever.
    The first values of each column are kept apart, in the order of the rows and however those were cut into batches;
    so a resumed run keeps the same ones, and so does a model that takes rows one by one.

    Parameters
    ----------
    limit
        The most values of one column; None for that of the checkpoint that the run goes on from, or `TEXT_LIMIT`.

    Raises
    ------
    ValueError
        If `limit` is not positive.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.run import TextValues
    >>> texts = TextValues(limit=2)
    >>> texts.bound(pa.record_batch({"city": ["Ulm", None, "Bonn", "Kiel", "Ulm"]}))["city"].to_pylist()
    ['Ulm', None, 'Bonn', '(other)', 'Ulm']

    """

    def __init__(self, limit: int | None = None) -> None:
        if limit is not None and limit < 1:
            raise ValueError(f"text_limit must be at least 1, got {limit!r}; leave the column out instead (--exclude)")
        self.limit = TEXT_LIMIT if limit is None else limit
        self._is_default = limit is None
        # Ordered, so that a checkpoint of the same rows has the same bytes.
        self._known: dict[str, dict[str, None]] = {}
        self._full: set[str] = set()

    def bound(self, records: pa.RecordBatch, learn: bool = True) -> pa.RecordBatch:
        """Return the rows with text beyond the limit as `OTHER`, as dictionaries where that is quicker to read.

        Without `learn` no value is added: one that a model has not learned is passed on while there is room for it.
        """
        for place, field in enumerate(records.schema):
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            if is_text(kind):
                column = self._bound_column(field.name, records.column(place), learn)
                records = records.set_column(place, field.name, column)
        return records

    def _bound_column(self, name: str, column: Any, learn: bool) -> Any:
        known = self._known.setdefault(name, {})
        if pa.types.is_dictionary(column.type):
            if all(value is None or value in known for value in column.dictionary.to_pylist()):
                return column
            # Its dictionary is in no order of ours, and may have values that no row has.
            column = column.dictionary_decode()
        plain = column.cast(pa.string())
        column = plain.dictionary_encode()
        values = column.dictionary.to_pylist()
        new = [value for value in values if value not in known]
        room = self.limit - len(known)
        if learn:
            known.update(dict.fromkeys(new[: max(room, 0)]))
        if len(new) <= room:
            # Readers look at all values of a dictionary for each stretch of rows.
            return column if FEW * len(values) <= len(plain) else plain
        self._say_once(name)
        return merge(column, values, known)

    def _say_once(self, name: str) -> None:
        if name not in self._full:
            self._full.add(name)
            logger.warning(
                "column %r has more than %s values: new ones count as one, %s; leave the column "
                "out (--exclude %s), or change the limit (--text-limit)",
                *(name, f"{self.limit:,}", OTHER, name),
            )

    def state_dict(self) -> dict[str, Any]:
        """Return the limit and the values of each column, as JSON."""
        return {"limit": self.limit, "columns": {name: list(known) for name, known in self._known.items()}}

    def load_state_dict(self, state: Any) -> None:
        """Take over what `state_dict` returned; None, from a run that had no limit, starts with no value.

        Raises
        ------
        CheckpointError
            If it is something else.

        """
        if state is None:
            return
        limit, columns = (state.get("limit"), state.get("columns")) if isinstance(state, Mapping) else (None, None)
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1 or not isinstance(columns, Mapping):
            raise CheckpointError(f"texts of a run must be a limit and the values of columns, got {state!r:.100}")
        for name, values in columns.items():
            if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
                raise CheckpointError(f"texts of column {name!r:.100} must be a list of texts, got {values!r:.100}")
        if self._is_default:
            self.limit = limit
        self._known = {name: dict.fromkeys(values) for name, values in columns.items()}


def merge(column: Any, values: list[str], known: Mapping[str, None]) -> Any:
    """Return a dictionary-encoded column in which all values that are not known are one, `OTHER`."""
    kept = list(dict.fromkeys(value if value in known else OTHER for value in values))
    places = {value: place for place, value in enumerate(kept)}
    goals = np.array([places[value if value in known else OTHER] for value in values], dtype=np.int32)
    codes = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
    indices = pa.array(goals[codes], mask=column.is_null().to_numpy(zero_copy_only=False))
    return pa.DictionaryArray.from_arrays(indices, pa.array(kept, pa.string()))
