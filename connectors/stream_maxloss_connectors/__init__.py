"""Arrow sources and sinks that can be resumed at a position without losing or repeating a row.

Everything here loads on first use: importing the package imports neither pyarrow nor a Kafka client.

Examples
--------
>>> from stream_maxloss_connectors import open_sink, open_source
>>> type(open_source("live.csv", follow=True)).__name__, type(open_sink("predictions.jsonl")).__name__
('FollowedSource', 'JsonlSink')

"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_maxloss_connectors.bad_records import BadRecords
    from stream_maxloss_connectors.base import Batch, Position, Sink, Source, SourceTraits
    from stream_maxloss_connectors.contract import check_sink, check_source
    from stream_maxloss_connectors.files import FileSource
    from stream_maxloss_connectors.follow import FollowedSource
    from stream_maxloss_connectors.kafka import KafkaSink, KafkaSource, iter_kafka
    from stream_maxloss_connectors.open import open_sink, open_source, sink_class, source_class
    from stream_maxloss_connectors.outputs import (
        is_same_output,
        refuse_clashing_outputs,
        refuse_outputs_that_are_read,
    )
    from stream_maxloss_connectors.river_streams import iter_arrow, iter_batches, iter_follow, iter_jsonl, iter_parquet

__all__ = [
    "BadRecords",
    "Batch",
    "FileSource",
    "FollowedSource",
    "KafkaSink",
    "KafkaSource",
    "Position",
    "Sink",
    "Source",
    "SourceTraits",
    "check_sink",
    "check_source",
    "is_same_output",
    "iter_arrow",
    "iter_batches",
    "iter_follow",
    "iter_jsonl",
    "iter_kafka",
    "iter_parquet",
    "open_sink",
    "open_source",
    "refuse_clashing_outputs",
    "refuse_outputs_that_are_read",
    "sink_class",
    "source_class",
]

_MODULES = {
    "bad_records": ("BadRecords",),
    "base": ("Batch", "Position", "Sink", "Source", "SourceTraits"),
    "contract": ("check_sink", "check_source"),
    "files": ("FileSource",),
    "follow": ("FollowedSource",),
    "kafka": ("KafkaSink", "KafkaSource", "iter_kafka"),
    "open": ("open_sink", "open_source", "sink_class", "source_class"),
    "outputs": ("is_same_output", "refuse_clashing_outputs", "refuse_outputs_that_are_read"),
    "river_streams": ("iter_arrow", "iter_batches", "iter_follow", "iter_jsonl", "iter_parquet"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
