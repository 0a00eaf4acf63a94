"""A third-party admission policy: every n-th row enters the window, and the oldest leaves when it is full.

`maxloss tail rows.csv --target y --model admission_policy:make_model` runs it.
"""

from typing import Any

from stream_maxloss import Admission, FocusedClassifier, HingeOGD, Scaler
from stream_maxloss.checkpoint import register_value
from stream_maxloss.focus.admission import ADMITTED, CAPACITY, SEEN


@register_value
class EveryNth(Admission):
    def __init__(self, n: int = 2) -> None:
        self.n = n

    @property
    def settings(self) -> tuple[float, ...]:
        return (float(self.n),)

    @staticmethod
    def place(counts: Any, settings: Any, generator: Any, queues: Any, following: Any, code: int) -> int:
        return counts[ADMITTED] % counts[CAPACITY] if counts[SEEN] % int(settings[0]) == 0 else -1


def make_model(seed: int = 1) -> Any:
    return Scaler() | FocusedClassifier(HingeOGD(), window=40, replays=3, admission=EveryNth(3), seed=seed)
