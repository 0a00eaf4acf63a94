from __future__ import annotations

import numpy as np
import pytest
from river import metrics

from stream_maxloss.run.baseline import LastLabel


def test_a_label_before_that_is_none_is_refused() -> None:
    last = LastLabel(metrics.Accuracy())
    with pytest.raises(ValueError, match=r"a name must be a text or a number, got \{\}"):
        last.load_state_dict(last.state_dict() | {"before": [{}]})


@pytest.mark.parametrize("before", ["text", 10**400, None])
def test_a_label_before_of_another_type_counts_as_none(before: object) -> None:
    last = LastLabel(metrics.Accuracy())
    last.load_state_dict(last.state_dict() | {"before": [before]})
    last.take_many(np.array([1, 1, 0]))
    assert last.get() == 0.5
