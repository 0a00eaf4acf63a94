"""The rows as numbers in a matrix, for systems that want all columns declared beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.streams.stream import Stream

__all__ = ["coded", "sparse"]


def coded(stream: Stream) -> tuple[NDArray[np.float64], dict[int, list[str]]]:
    """Return the rows with text as codes, and by column the texts that the codes stand for."""
    texts = set(stream.texts())
    columns, words = [], {}
    for place, name in enumerate(stream.table.column_names):
        column = stream.table.column(name)
        if name in texts:
            known, codes = np.unique(np.asarray(column.to_pylist(), dtype=str), return_inverse=True)
            words[place] = known.tolist()
            columns.append(codes.astype(np.float64))
        else:
            columns.append(np.asarray(column, dtype=np.float64))
    return np.column_stack(columns), words


def sparse(stream: Stream) -> Any:
    """Return rows of maps as a CSR matrix."""
    from sklearn.feature_extraction import DictVectorizer

    return DictVectorizer().fit_transform(stream.dicts())
