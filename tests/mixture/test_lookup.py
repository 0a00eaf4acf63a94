"""One search gives the code of a number and the leaves of untaught ferns: the same as test by test."""

from __future__ import annotations

import numpy as np
import pytest
from streams import frame_of, mixed_stream

from stream_maxloss.mixture import AutoClassifier


@pytest.mark.parametrize("compute", ["least", "normal", "most"])
def test_leaves_and_codes_are_those_of_the_tests_one_by_one(compute: str) -> None:
    x, y = mixed_stream(450)
    model = AutoClassifier(seed=2, compute=compute)
    # Thresholds are found at 100 rows and move at 400, while the tests of ferns stay.
    model.learn_many(frame_of(x), y)
    memory = model._model.memory
    assert memory["group"][0] >= 0
    for row in x[:60]:
        model._model.answer_one(row)
        numbers = memory["numbers"]
        used = memory["group"] >= 0
        passed = numbers[memory["test_number"][used]] > memory["test_threshold"][used]
        leaves = passed @ (1 << np.arange(memory.level.depth)[::-1])
        assert (memory["leaf"][used] == leaves).all()
        edges, counts = memory["edges"], memory["num_edges"]
        codes = [(edges[k, : counts[k]] < numbers[k]).sum() for k in range(len(numbers))]
        assert memory["codes"].tolist() == codes
