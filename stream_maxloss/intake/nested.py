"""Nested columns, flattened: the field `id` of the struct `user` becomes the column `user.id`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

__all__ = ["DEEPEST", "flatten", "flatten_row"]

DEEPEST = 32
"""Structs inside structs beyond this depth stay as they are, and are left out."""


def flatten(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without structs; a column that is there already keeps its name, and the field is left out.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.nested import flatten
    >>> rows = pa.RecordBatch.from_pylist([{"user": {"id": 7, "geo": {"country": "DE"}}}, {"user": None}])
    >>> flatten(rows).to_pylist()
    [{'user.id': 7, 'user.geo.country': 'DE'}, {'user.id': None, 'user.geo.country': None}]

    """
    if not any(pa.types.is_struct(kind) or is_exotic(kind) for kind in batch.schema.types):
        return batch
    arrays: dict[str, Any] = {}
    taken = {field.name for field in batch.schema if not pa.types.is_struct(field.type)}
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        spread(name, array, arrays, taken, DEEPEST)
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def spread(name: str, array: Any, arrays: dict[str, Any], taken: set[str], depth: int) -> None:
    """Put a column, or each field of a struct, among the arrays."""
    if pa.types.is_struct(array.type) and depth:
        # `flatten` lets a null struct make its fields null.
        for field, part in zip(array.type, array.flatten(), strict=True):
            inner = f"{name}.{field.name}"
            if inner not in taken:
                spread(inner, part, arrays, taken, depth - 1)
    else:
        arrays.setdefault(name, plain(array) if is_exotic(array.type) else array)


def is_exotic(kind: Any) -> bool:
    """Tell whether a type is one that few of Arrow's functions take: views of text, and types of extensions."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string_view(inner) or isinstance(inner, pa.BaseExtensionType))


def plain(array: Any) -> Any:
    """Return an array of an exotic type as text, or as what it is stored as."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(array.indices, plain(array.dictionary))
    if pa.types.is_string_view(kind):
        return array.cast(pa.string())
    if kind.extension_name == "arrow.uuid":
        return pa.array([None if value is None else str(value) for value in array.to_pylist()], pa.string())
    return array.storage


def flatten_row(x: dict[Any, Any], prefix: str = "", depth: int = DEEPEST) -> dict[Any, Any]:
    """Return a row without dicts inside, named as `flatten` names columns.

    Examples
    --------
    >>> from stream_maxloss.intake.nested import flatten_row
    >>> flatten_row({"user": {"id": 7, "geo": {"country": "DE"}}})
    {'user.id': 7, 'user.geo.country': 'DE'}

    """
    flat: dict[Any, Any] = {}
    for name, value in x.items():
        if isinstance(value, dict) and depth:
            inner = flatten_row(value, f"{prefix}{name}.", depth - 1)
            flat.update((key, part) for key, part in inner.items() if key not in x)
        else:
            flat[f"{prefix}{name}" if prefix else name] = value
    return flat
