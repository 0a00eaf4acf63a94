"""The public learners, so that a new one is tested like the others without being named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stream_maxloss import linear
from stream_maxloss.linear.learner import Learner

PUBLIC: dict[str, Callable[[], Any]] = {
    name: getattr(linear, name) for name in linear.__all__ if issubclass(getattr(linear, name), Learner)
}
