"""Changes of what a checkpoint holds, anywhere in it, such as an attacker or a bug could make."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pyarrow as pa

from stream_maxloss.checkpoint import Content

__all__ = ["change"]

HOSTILE_NUMBERS = [0, -1, 1, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63), 1e300, -1e300, 1e18]
HOSTILE_VALUES: list[Any] = [
    *(None, [], {}, "", "x" * 5000, -1, 10**400, 1e300, True, [[]], {"a": {}}, "../../etc/passwd", 0),
    *(float("nan"), float("-inf"), 2**31, 2**63, 1.5, [None], [1, 2, 3], {"class": "Scaler", "params": {}}),
]


def change(content: Content, generator: random.Random) -> Content:
    """Return a copy with one or two things changed: entries, lengths and types of arrays, or plain values."""
    changed = copy.deepcopy(content)
    for _ in range(generator.choice((1, 1, 2))):
        if changed.tables and generator.random() < 0.1:
            name = generator.choice(sorted(changed.tables))
            changed.tables[name] = change_table(changed.tables[name], generator)
        elif changed.arrays and generator.random() < 0.6:
            name = generator.choice(sorted(changed.arrays))
            if generator.random() < 0.02:
                del changed.arrays[name]
                continue
            with np.errstate(all="ignore"):
                changed.arrays[name] = change_array(changed.arrays[name], generator)
        else:
            part = generator.choice(["values", "values", "values", "counters", "sources", "outputs"])
            setattr(changed, part, change_value(getattr(changed, part), generator))
    return changed


def change_array(array: Any, generator: random.Random) -> Any:
    array = array.copy()
    choice = generator.choice((0, 0, 0, 0, 1, 2, 3, 4))
    if choice == 0 and array.size:
        value = np.array(generator.choice([*HOSTILE_NUMBERS, float("nan"), float("inf")])).astype(array.dtype)
        array.reshape(-1)[generator.randrange(array.size)] = value
    elif choice == 1:
        array = array[: generator.randrange(len(array) + 1)] if array.ndim else array
    elif choice == 2:
        array = np.resize(array, generator.choice([0, 1, array.size + 1, 2 * array.size]))
    elif choice == 3:
        array = array.astype(generator.choice([np.float64, np.int64, np.int32, np.uint8, np.bool_]))
    else:
        generator.shuffle(flat := array.reshape(-1).tolist())
        array = np.array(flat, dtype=array.dtype).reshape(array.shape)
    return array


def change_table(table: pa.Table, generator: random.Random) -> pa.Table:
    """Return a table with rows or a column left out, repeated, or of another kind."""
    choice, place = generator.randrange(4), generator.randrange(table.num_columns)
    if choice == 0:
        return table.slice(0, generator.randrange(table.num_rows + 1))
    if choice == 1:
        return pa.concat_tables([table, table.slice(0, generator.randrange(table.num_rows + 1))])
    if choice == 2:
        return table.remove_column(place)
    kind = generator.choice([pa.null(), pa.list_(pa.int8()), pa.string(), pa.float64(), pa.bool_(), pa.binary()])
    return table.set_column(place, table.column_names[place], pa.nulls(table.num_rows, kind))


def change_value(value: Any, generator: random.Random) -> Any:
    """Return JSON data with one thing changed, anywhere in it."""
    if isinstance(value, dict) and value and generator.random() < 0.9:
        name = generator.choice(sorted(value))
        if generator.random() < 0.1:
            return {key: kept for key, kept in value.items() if key != name}
        return {**value, name: change_value(value[name], generator)}
    if isinstance(value, list) and value and generator.random() < 0.8:
        place = generator.randrange(len(value))
        return [*value[:place], change_value(value[place], generator), *value[place + 1 :]]
    return generator.choice(HOSTILE_VALUES)
