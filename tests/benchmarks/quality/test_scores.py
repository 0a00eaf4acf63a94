from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.quality.scores import score, sigmoid
from benchmarks.streams import Stream


def make_stream(rare_rows: int) -> Stream:
    labels = np.array([False] * 60 + [True] * 40 + [True] * rare_rows)
    names = np.array(["normal"] * 60 + ["common"] * 40 + ["rare"] * rare_rows)
    slices = {name: names == name for name in ("normal", "common", "rare")}
    return Stream(pa.table({"x": np.zeros(len(labels))}), labels, slices, "rare")


def test_errors_recall_and_losses_are_those_of_the_answers():
    stream = make_stream(30)
    answers = np.where(stream.labels, 0.9, 0.2)
    answers[-15:] = 0.3  # half of the rare rows are missed
    found = score(stream, answers)
    assert found["error"] == pytest.approx(15 / 130)
    assert found["rare recall"] == pytest.approx(0.5)
    assert found["worst slice"] == "rare"
    assert found["max loss"] == pytest.approx(0.7)
    assert found["tail loss"] == pytest.approx(0.7)  # the worst 5 %, 6.5 rows, are all missed ones


def test_a_slice_of_few_rows_is_never_the_worst():
    stream = make_stream(29)
    answers = np.where(stream.slices["common"], 0.9, 0.2)
    assert score(stream, answers)["rare recall"] == 0.0
    assert score(stream, answers)["worst slice"] != "rare"


def test_half_a_chance_counts_as_a_negative_answer():
    stream = make_stream(30)
    assert score(stream, np.full(130, 0.5))["error"] == pytest.approx(70 / 130)


@pytest.mark.parametrize("answers", [np.zeros(3), np.full(130, np.nan)], ids=["too few", "not numbers"])
def test_answers_that_are_not_one_number_a_row_are_refused(answers):
    with pytest.raises(ValueError, match="one finite answer per row"):
        score(make_stream(30), answers)


def test_sigmoid_of_great_scores_neither_overflows_nor_leaves_the_unit_interval():
    with np.errstate(all="raise"):
        assert sigmoid(np.array([-1e6, 0.0, 1e6])).tolist() == [0.0, 0.5, 1.0]
