from __future__ import annotations

import pytest

from benchmarks.cases import growth
from benchmarks.point import OURS


def point(axis: str, size: int, cost: float) -> dict[str, object]:
    return {"settings": {"axis": axis, "size": size}, "seconds_per_unit": {OURS: {"median": cost}}}


def test_the_exponent_from_many_features_on_is_not_flattened_by_what_a_row_costs_whatever_its_width():
    costs = {size: 100.0 + size**1.2 for size in growth.FEATURES}
    measured = {str(size): point("features", size, cost) for size, cost in costs.items()}
    whole, many = growth.conclude(measured)
    assert whole["value"] < many["value"] < 1.2
    assert "from 100 on" in many["what"]


def test_rows_that_all_cost_the_same_make_a_pass_linear():
    measured = {str(size): point("rows", size, 2e-8) for size in growth.ROWS}
    [found] = growth.conclude(measured)
    assert found["value"] == pytest.approx(1.0)
    assert found["met"]


@pytest.mark.parametrize(("features", "batches"), [(5, 16), (20, 4), (500, 1)])
def test_every_width_has_batches_of_the_same_length(features, batches, monkeypatch):
    monkeypatch.setattr(growth, "BATCH_ROWS", 64)
    monkeypatch.setattr(growth, "VALUES", 64 * 80)
    assert growth.prepare(OURS, {"axis": "features", "size": features})() == 64 * batches
