"""Columns of lists of texts: each text is a feature of its row."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.features import text_feature
from stream_maxloss.rows.columns import Features, MapColumn
from stream_maxloss.rows.csr import Ragged

__all__ = ["TextListColumn", "is_text_list", "read_text_list"]


class TextListColumn(MapColumn):
    """A column of lists of texts, such as the words of a message: one feature `column=value` for each distinct text.

    Parameters
    ----------
    name
        The column's name.
    indptr
        Where the entries of each row begin, and where the last ones end.
    codes
        For each entry the place of its text in `texts`.
    texts
        The distinct texts.

    """

    def __init__(self, name: Hashable, indptr: NDArray[np.int64], codes: NDArray[np.int64], texts: list[str]) -> None:
        super().__init__(indptr, codes, [text_feature(name, text) for text in texts], np.ones(len(codes)))

    def entries(self, features: Features) -> Ragged:
        """Return one entry of value 1 for each text of a row, in the order of columns, -1 where it is unknown."""
        found = super().entries(features)
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        width = int(found.columns.max(initial=0)) + 2
        order = np.argsort(rows * width + found.columns, kind="stable")
        return Ragged(found.indptr, found.columns[order], found.values)

    def numeric_names(self) -> list[Hashable]:
        """Return the features that are numbers: none."""
        return []


def is_text_list(kind: Any) -> bool:
    """Return whether an Arrow type is a list of texts."""
    import pyarrow as pa

    types = pa.types
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return False
    value = kind.value_type
    return bool(types.is_string(value) or types.is_large_string(value) or types.is_string_view(value))


def read_text_list(name: Hashable, array: Any) -> TextListColumn:
    """Return a column of lists of texts, each text once a row."""
    import pyarrow as pa

    array = array.cast(pa.list_(pa.string()))
    lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    encoded = array.flatten().dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    texts = encoded.dictionary.to_pylist()
    rows = np.repeat(np.arange(len(lengths)), lengths)
    places = np.sort(np.unique(rows * len(texts) + codes, return_index=True)[1])
    places = places[codes[places] >= 0]
    counts = np.bincount(rows[places], minlength=len(lengths)) if len(places) else np.zeros(len(lengths))
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return TextListColumn(name, indptr, codes[places], texts)
