from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.rows.csr import Fixed, Ragged, assemble


def random_part(generator: random.Random, rows: int) -> Fixed | Ragged:
    if generator.random() < 0.5:
        columns = [generator.randint(-1, 5) for _ in range(rows)]
        return Fixed(np.array(columns, dtype=np.int64), np.array([generator.randint(-4, 4) / 2 for _ in range(rows)]))
    counts = [generator.randint(0, 3) for _ in range(rows)]
    total = sum(counts)
    return Ragged(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([generator.randint(-1, 5) for _ in range(total)], dtype=np.int64),
        np.array([generator.randint(-4, 4) / 2 for _ in range(total)], dtype=np.float64),
    )


def entries(part: Fixed | Ragged, row: int) -> list[tuple[int, float]]:
    if isinstance(part, Fixed):
        return [(int(part.columns[row]), float(part.values[row]))]
    places = range(part.indptr[row], part.indptr[row + 1])
    return [(int(part.columns[k]), float(part.values[k])) for k in places]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(0, 6), st.integers(0, 4))
def test_parts_side_by_side_are_the_sum_of_their_entries(seed: int, rows: int, count: int) -> None:
    generator = random.Random(seed)
    parts = [random_part(generator, rows) for _ in range(count)]
    indptr, columns, values = assemble(parts, rows, distinct=False)
    for row in range(rows):
        expected: dict[int, float] = {}
        for column, value in (entry for part in parts for entry in entries(part, row)):
            if column >= 0:
                expected[column] = expected.get(column, 0.0) + value
        stretch = slice(indptr[row], indptr[row + 1])
        assert columns[stretch].tolist() == sorted(expected)
        assert dict(zip(columns[stretch].tolist(), values[stretch].tolist(), strict=True)) == expected


def test_a_lone_complete_part_is_taken_as_it_is() -> None:
    part = Ragged(np.array([0, 2, 2]), np.array([4, 1]), np.array([0.5, 2.0]))
    indptr, columns, values = assemble([part], 2, distinct=True)
    assert columns is part.columns
    assert values is part.values
    assert indptr is part.indptr
