from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from stream_maxloss.errors import RowError
from stream_maxloss.focus import FocusedClassifier, FocusedRegressor
from stream_maxloss.linear import AbsoluteOGD, HingeOGD, Scaler, Winnow

INFINITE = pa.table({"a": [0.0, 1.0, np.inf, 0.0]})
TABLE = pa.table({"a": [0.5, 0.25, 0.75, 1.0]})
LABELS = [True, False, True, False]


@pytest.mark.parametrize(
    ("model", "table", "labels", "weights"),
    [
        pytest.param(HingeOGD(), INFINITE, LABELS, 1.0, id="infinite value"),
        pytest.param(Scaler() | HingeOGD(), INFINITE, LABELS, 1.0, id="scaled"),
        pytest.param(Winnow(), pa.table({"a": [0.0, 1.0, 1.5, 0.0]}), LABELS, 1.0, id="outside the domain"),
        pytest.param(FocusedClassifier(HingeOGD()), INFINITE, LABELS, 1.0, id="focused"),
        pytest.param(HingeOGD(), TABLE, [0, 1, 2, 1], 1.0, id="label"),
        pytest.param(HingeOGD(), TABLE, [True, False, None, True], 1.0, id="missing label"),
        pytest.param(AbsoluteOGD(), TABLE, [0.0, 1.0, np.nan, 1.0], 1.0, id="target"),
        pytest.param(FocusedRegressor(AbsoluteOGD()), TABLE, [0.0, 1.0, np.nan, 1.0], 1.0, id="focused target"),
        pytest.param(HingeOGD(), TABLE, LABELS, [1.0, 1.0, 0.0, 1.0], id="sample weight"),
    ],
)
def test_a_refused_row_is_told_by_its_number(model, table, labels, weights):
    with pytest.raises(RowError, match=r" of row 2 ") as caught:
        model.learn_many(table, labels, w=weights)
    assert caught.value.row == 2
    assert str(caught.value) == caught.value.reason


def test_a_row_error_survives_pickling():
    again = pickle.loads(pickle.dumps(RowError(3, "feature 'a' of row 3 must be finite")))
    assert (again.row, again.reason) == (3, "feature 'a' of row 3 must be finite")
