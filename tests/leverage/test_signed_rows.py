from __future__ import annotations

import numpy as np
import pytest

from stream_maxloss.leverage.signed_rows import read_signed_rows


@pytest.mark.parametrize("kind", ["dense", "binary", "sparse"])
def test_split_sums_are_the_sums_over_the_two_signs(table, kind):
    X, y = table(0, kind=kind)
    M = (X.toarray() if kind == "sparse" else X) * np.where(y, 1, -1)[:, None]
    weight = np.random.default_rng(1).random(len(y))
    up, down = read_signed_rows(X, y, intercept=False).split_sums(weight)
    np.testing.assert_allclose(up, [sum(w * v for w, v in zip(weight, c, strict=True) if v > 0) for c in M.T])
    np.testing.assert_allclose(down, [sum(w * -v for w, v in zip(weight, c, strict=True) if v < 0) for c in M.T])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_product_with_one_entry_is_one_column(table, kind):
    X, y = table(0, kind=kind)
    rows = read_signed_rows(X, y, intercept=True)
    dense = rows.matrix.toarray() if kind == "sparse" else rows.matrix
    for column in range(6):
        np.testing.assert_allclose(rows.product(2.0 * np.eye(6)[column]), 2.0 * dense[:, column])
    np.testing.assert_array_equal(rows.product(np.zeros(6)), np.zeros(len(y)))
    np.testing.assert_allclose(rows.product(np.arange(6.0)), dense @ np.arange(6.0))
