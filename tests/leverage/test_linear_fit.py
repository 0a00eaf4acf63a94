"""Reading tables, windows and labels, for every fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from stream_maxloss.leverage import LLD, LLM, BatchPerceptron, LinearSeparator, LogBoost

FITS = [LLM, LLD, LogBoost, BatchPerceptron, LinearSeparator]


class Window:
    """What a focused model offers of its retained rows."""

    def __init__(self, X, y):
        self._rows = X, y

    def window_rows(self):
        return self._rows


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)).round(2) * (rng.random((40, 3)) < 0.7)
    # A tilt keeps rows of zeros, which no hyperplane through the origin separates, out of the table.
    X[:, 0] += np.where(X[:, 0] >= 0, 0.5, -0.5)
    return X, X[:, 0] > 0


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("fit", FITS)
def test_every_kind_of_table_gives_the_same_fit(fit, intercept, rows):
    X, y = rows
    names = ["a", "b", "c"]
    arrow = pa.table(list(X.T), names=names)
    reference = fit(intercept=intercept).fit(X, y)
    fitted = {
        "list": fit(intercept=intercept).fit(X.tolist(), y.tolist()),
        "csr": fit(intercept=intercept).fit(sparse.csr_matrix(X), y),
        "coo": fit(intercept=intercept).fit(sparse.coo_array(X), y),
        "arrow": fit(intercept=intercept).fit(arrow, pa.chunked_array([y])),
        "batch": fit(intercept=intercept).fit(arrow.to_batches()[0], pa.array(y)),
        "column": fit(intercept=intercept).fit(arrow.append_column("label", pa.array(y)), "label"),
        "pandas": fit(intercept=intercept).fit(pd.DataFrame(X, columns=names), pd.Series(y)),
        "window": fit(intercept=intercept).fit(Window(X, y)),
        "sparse window": fit(intercept=intercept).fit(Window(sparse.csr_array(X), np.where(y, 1, -1))),
    }
    for kind, other in fitted.items():
        np.testing.assert_allclose(other.coefficients, reference.coefficients, rtol=1e-9, err_msg=kind)
        assert other.bias == pytest.approx(reference.bias), kind
    scores = reference.decision_function(X)
    for table in (arrow, arrow.select(["c", "a", "b"]), sparse.csr_array(X), pd.DataFrame(X)):
        np.testing.assert_allclose(fitted["column"].decision_function(table), scores, rtol=1e-9)


@pytest.mark.parametrize(
    "fit", [LLM(iterations=3000, intercept=True), BatchPerceptron(intercept=True)], ids=["LLM", "BatchPerceptron"]
)
def test_the_intercept_is_the_weight_of_a_constant_feature(fit):
    X, y = np.arange(10.0)[:, None], np.arange(10) >= 6
    assert (fit.fit(X, y).predict(X) == y).all()
    assert fit.bias < 0.0 < fit.coefficients[0]
    by_hand = type(fit)(**{k: v for k, v in vars(fit).items() if k in ("iterations", "max_updates")})
    by_hand.fit(np.column_stack((X, np.ones(10))), y)
    assert by_hand.bias == 0.0
    np.testing.assert_allclose(by_hand.coefficients, [*fit.coefficients, fit.bias])


@pytest.mark.parametrize(
    ("negative", "positive"), [(False, True), (0, 1), (-1, 1), (0.0, 1.0)], ids=["bool", "zero", "minus", "float"]
)
def test_predicts_in_the_labels_of_the_fit(rows, negative, positive):
    X, y = rows
    labels = np.where(y, positive, negative)
    predicted = LLM(iterations=300).fit(X, labels).predict(X)
    assert np.mean(predicted == labels) > 0.9
    assert set(np.unique(predicted)) == {negative, positive}


def test_null_and_nan_are_absent(rows):
    X, y = rows
    holes = X.copy()
    holes[holes == 0] = np.nan
    columns = [[None if np.isnan(v) else v for v in column] for column in holes.T]
    reference = LLD().fit(X, y).coefficients
    np.testing.assert_array_equal(LLD().fit(holes, y).coefficients, reference)
    np.testing.assert_array_equal(LLD().fit(pa.table(columns, names=["a", "b", "c"]), y).coefficients, reference)
    assert np.isnan(holes).any()  # the caller's array is untouched


def test_sparse_input_is_not_written_to(rows):
    X, y = rows
    matrix = sparse.csc_array(X)
    matrix.data[0] = np.nan
    LLD().fit(matrix, y)
    assert np.isnan(matrix.data[0])


@pytest.mark.parametrize("make", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_an_infinity_is_named_by_row_and_column(make, rows):
    X, y = rows
    X[7, 2] = -np.inf
    with pytest.raises(ValueError, match="row 7: column '2' must be finite"):
        LLM().fit(make(X), y)


def test_arrow_errors_name_the_column(rows):
    X, y = rows
    table = pa.table(list(X.T), names=["a", "b", "c"])
    fit = LLM().fit(table, y)
    with pytest.raises(TypeError, match="column 'city' must be numeric or boolean, got string; drop or one-hot"):
        LLM().fit(table.append_column("city", pa.array(["Rome"] * 40)), y)
    with pytest.raises(ValueError, match="X must have the column 'c' of the fit"):
        fit.predict(table.select(["a", "b"]))
    with pytest.raises(ValueError, match="y must name a column of an Arrow table, got 'label'"):
        LLM().fit(table, "label")


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        pytest.param(
            [[1.0], [2.0]], [0, 2], ValueError, r"row 1: label must be one of \[0, 1\] .* got .*2", id="three"
        ),
        pytest.param([[1.0], [2.0]], [-1, 0], ValueError, r"row 1: label must be one of \[-1, 1\]", id="mixed"),
        pytest.param([[1.0]], ["spam"], ValueError, "row 0: label must be one of .* got .*'spam'", id="string"),
        pytest.param([[1.0], [2.0]], [1.0, np.nan], ValueError, "row 1: label must be .* got .*nan", id="missing"),
        pytest.param(
            [[1.0]], [0, 1], ValueError, "y must hold one label for each of the 1 rows, got shape", id="length"
        ),
        pytest.param([[1.0]], None, ValueError, "y must hold one label for each of the 1 rows, got shape", id="none"),
        pytest.param(
            np.empty((0, 2)), [], ValueError, r"X must be a table of at least one row, got shape \(0, 2\)", id="no"
        ),
        pytest.param(
            [1.0, 2.0], [0, 1], ValueError, r"X must be a table of at least one row, got shape \(2,\)", id="flat"
        ),
        pytest.param([["a"]], [1], TypeError, "X must be numeric, got list", id="text"),
        pytest.param(
            Window([[1.0]], [1]), [1], TypeError, "y must be None for a retained window, got list", id="window"
        ),
    ],
)
@pytest.mark.parametrize("fit", FITS)
def test_refuses(fit, X, y, error, message):
    with pytest.raises(error, match=message):
        fit().fit(X, y)


@pytest.mark.parametrize("fit", FITS)
def test_an_unfitted_fit_says_so(fit):
    with pytest.raises(ValueError, match=f"{fit.__name__} must have a solution first, got none; call fit"):
        fit().predict([[1.0]])


def test_refuses_another_width(rows):
    X, y = rows
    with pytest.raises(ValueError, match="X must have the 3 columns of the fit, got 2"):
        LLM().fit(X, y).predict(X[:, :2])
