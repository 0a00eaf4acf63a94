"""The errors that the quality cases count."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks.cases.drift import drifting
from benchmarks.cases.label_noise import conclude
from benchmarks.errors import over_seeds, percent, progressive_errors, row_by_row_errors
from benchmarks.streams import Stream
from stream_maxloss.linear import HingeOGD, Scaler


def mixed_stream() -> Stream:
    generator = np.random.default_rng(2)
    X = generator.standard_t(2, size=(400, 3))
    colour = generator.choice(["red", "green", "blue"], size=400)
    labels = X[:, 0] + (colour == "red") + 0.3 * generator.normal(size=400) > 0.0
    return Stream(
        pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "colour": colour}), labels, {"red": colour == "red"}
    )


def test_rows_scaled_beforehand_err_where_the_pipeline_errs():
    stream = mixed_stream()
    expected = progressive_errors(Scaler(clip=1.5) | HingeOGD(), stream)
    assert row_by_row_errors(HingeOGD(), stream, 1.5).tolist() == expected.tolist()
    assert 0 < expected.sum() < 200


def test_errors_are_in_per_cent_by_slice():
    stream = mixed_stream()
    errors = percent(stream.slices["red"], stream, ("red", "absent"))
    assert errors == {"all rows": 100.0 * stream.slices["red"].mean(), "red": 100.0}
    assert over_seeds([{"red": 1.0}, {"red": 3.0}]) == {"red": {"mean": 2.0, "deviation": 1.0}}


def test_a_plane_learned_before_the_drift_is_of_no_use_after_it():
    stream = drifting("abrupt", 4_000)
    model = HingeOGD()
    before = stream.part(0, 2_000)
    model.learn_many(before.table, before.labels)
    wrong = np.asarray(model.predict_many(stream.table)) != stream.labels
    # 5 % of the labels are flipped; planes at a right angle agree on half of the rows.
    assert wrong[:2_000].mean() < 0.12
    assert 0.4 < wrong[2_000:].mean() < 0.6


def test_a_gain_counts_only_where_all_rows_do_not_pay_for_it():
    def levels(clean, noisy):
        return {"0 %": dict(zip(("all rows", "rare"), clean, strict=True))} | {
            "5 %": dict(zip(("all rows", "rare"), noisy, strict=True))
        }

    facts = {
        "bare": levels((4.0, 90.0), (5.0, 90.0)),
        "focused": levels((3.0, 50.0), (4.0, 80.0)),
        "focused, eager": levels((3.0, 50.0), (4.0, 80.0)),
        "slack L1": levels((3.0, 80.0), (4.0, 60.0)),
        "sub-sampled 0.1": levels((3.0, 40.0), (6.0, 10.0)),
    }
    kept = conclude({"nsl_kdd": {"label": "", "facts": facts}})[-1]
    assert kept["value"] == (90.0 - 60.0) / (90.0 - 50.0)
    assert "slack L1" in kept["what"]
