"""Online learning on live streams when the rare, hard rows matter.

The names below are imported when they are first used, so that `import stream_maxloss` compiles and loads nothing.

Examples
--------
>>> from stream_maxloss import FocusedClassifier, HingeOGD, Scaler
>>> model = Scaler() | FocusedClassifier(HingeOGD(), window=1000, seed=1)

"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_maxloss.evaluate import progressive
    from stream_maxloss.expand import Bins, Ferns, TaughtFerns
    from stream_maxloss.experts import Mixture
    from stream_maxloss.focus import (
        Admission,
        AdmitAll,
        Capped,
        ClassQuota,
        Corrected,
        Credible,
        Exponential,
        FocusedClassifier,
        FocusedRegressor,
        HardRow,
        Policy,
        Reservoir,
        Slack,
        Slices,
        SubSample,
        Uniform,
    )
    from stream_maxloss.keyed import KeyedClassifier, KeyedRegressor
    from stream_maxloss.linear import (
        LLD,
        LLM,
        AbsoluteOGD,
        BalancedWinnow,
        HingeOGD,
        Logistic,
        MarginPursuit,
        Pegasos,
        Perceptron,
        Scaler,
        Winnow,
    )
    from stream_maxloss.metrics import CatoniMargin, MaxLoss, SliceReport, TailLoss
    from stream_maxloss.mixture import AutoClassifier, AutoRegressor

__all__ = [
    "LLD",
    "LLM",
    "AbsoluteOGD",
    "Admission",
    "AdmitAll",
    "AutoClassifier",
    "AutoRegressor",
    "BalancedWinnow",
    "Bins",
    "Capped",
    "CatoniMargin",
    "ClassQuota",
    "Corrected",
    "Credible",
    "Exponential",
    "Ferns",
    "FocusedClassifier",
    "FocusedRegressor",
    "HardRow",
    "HingeOGD",
    "KeyedClassifier",
    "KeyedRegressor",
    "Logistic",
    "MarginPursuit",
    "MaxLoss",
    "Mixture",
    "Pegasos",
    "Perceptron",
    "Policy",
    "Reservoir",
    "Scaler",
    "Slack",
    "SliceReport",
    "Slices",
    "SubSample",
    "TailLoss",
    "TaughtFerns",
    "Uniform",
    "Winnow",
    "progressive",
]

__version__ = "0.2.0"

_ROOMS = {
    "evaluate": "progressive",
    "expand": "Bins Ferns TaughtFerns",
    "experts": "Mixture",
    "focus": "Admission AdmitAll Capped ClassQuota Corrected Credible Exponential FocusedClassifier FocusedRegressor "
    "HardRow Policy Reservoir Slack Slices SubSample Uniform",
    "keyed": "KeyedClassifier KeyedRegressor",
    "linear": "LLD LLM AbsoluteOGD BalancedWinnow HingeOGD Logistic MarginPursuit Pegasos Perceptron Scaler Winnow",
    "metrics": "CatoniMargin MaxLoss SliceReport TailLoss",
    "mixture": "AutoClassifier AutoRegressor",
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
