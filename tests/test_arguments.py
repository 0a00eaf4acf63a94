from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_maxloss.arguments import require_choice, require_count, require_open_unit, require_positive


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.1), np.int64(3), 1e308], ids=repr)
def test_positive_numbers_of_every_kind_pass(value: Any) -> None:
    require_positive("lr", value)


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan, "1", None], ids=repr)
def test_anything_else_is_no_positive_number(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^lr must be positive, got .*; try 1$"):
        require_positive("lr", value, "try 1")


@pytest.mark.parametrize("value", [0.0, 0.5, 1, math.nan, "x"], ids=repr)
def test_the_ends_of_an_open_interval_are_refused(value: Any) -> None:
    require_open_unit("epsilon", 0.25, 0.5)
    with pytest.raises(ValueError, match=r"^epsilon must lie strictly between 0 and 0.5, got "):
        require_open_unit("epsilon", value, 0.5)


@pytest.mark.parametrize("value", [0, -3, 1.0, "1", None], ids=repr)
def test_a_count_is_a_whole_number_from_1_on(value: Any) -> None:
    require_count("warmup", 1)
    require_count("warmup", np.int64(5))
    with pytest.raises(ValueError, match=r"^warmup must be a whole number of at least 1, got .*; wait$"):
        require_count("warmup", value, "wait")


def test_a_choice_lists_the_choices() -> None:
    require_choice("step", "sqrt", ("sqrt", "inverse"))
    with pytest.raises(ValueError, match=r"^step must be one of 'sqrt', 'inverse', got 3$"):
        require_choice("step", 3, ("sqrt", "inverse"))


def test_a_count_that_no_memory_holds_is_refused_without_its_digits() -> None:
    with pytest.raises(ValueError, match=r"window must be at most \d+, which is more than any memory holds, got more$"):
        require_count("window", 10**400)
