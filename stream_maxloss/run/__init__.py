"""Whole runs over files and topics: what `maxloss` has, for Python.

`Tail` predicts, scores and learns every row of a source exactly once, with predictions, slices, dead letters and
checkpoints. `Session` is the part between two checkpoints; the others are its parts. All load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_maxloss.run.columns import Columns, MissingColumnError
    from stream_maxloss.run.feed import RowFeed
    from stream_maxloss.run.metrics import make_metrics
    from stream_maxloss.run.progress import ProgressMeter
    from stream_maxloss.run.requests import Requests
    from stream_maxloss.run.schedule import Schedule
    from stream_maxloss.run.scoreboard import Scoreboard
    from stream_maxloss.run.session import Session
    from stream_maxloss.run.store import RunStore, load_run
    from stream_maxloss.run.tail import Tail
    from stream_maxloss.run.target import Target
    from stream_maxloss.run.texts import TextValues

__all__ = [
    "Columns",
    "MissingColumnError",
    "ProgressMeter",
    "Requests",
    "RowFeed",
    "RunStore",
    "Schedule",
    "Scoreboard",
    "Session",
    "Tail",
    "Target",
    "TextValues",
    "load_run",
    "make_metrics",
]

_HOMES = {name: name.lower() for name in ("Columns", "Requests", "Schedule", "Scoreboard", "Session", "Tail", "Target")}
_HOMES |= {"MissingColumnError": "columns", "ProgressMeter": "progress", "RowFeed": "feed", "RunStore": "store"}
_HOMES |= {"TextValues": "texts", "load_run": "store", "make_metrics": "metrics"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
