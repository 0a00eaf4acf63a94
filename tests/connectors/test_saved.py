from __future__ import annotations

from typing import Any

import pytest

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors import open_sink, open_source
from stream_maxloss_connectors.saved import check_saved_sink, check_saved_source

TOPIC = "kafka://localhost:9092/orders"


FILE = {"size": 9, "head_bytes": 9, "head": "0"}
NO_QUOTE = {"delimiter": ",", "decimal_point": ".", "has_header": True}


@pytest.mark.parametrize("follow", [False, True])
def test_positions_that_were_saved_are_taken(tmp_path, follow):
    path = tmp_path / "day.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with open_source(path, follow=follow) as source:
        source.open()
        source.next_batch(1, 1.0)
        check_saved_source(str(path), source.position())
    with open_sink(tmp_path / "out.jsonl") as sink:
        sink.open()
        check_saved_sink("out.jsonl", sink.flush())


@pytest.mark.parametrize(
    ("uri", "position"),
    [
        ("day.csv", None),
        ("day.csv", {"day.csv": {"byte": -1, "line": 1}}),
        ("day.csv", {"day.csv": {"byte": 1, "line": 1}}),
        ("day.csv", {"day.csv": {"byte": 1, "line": 1, "file": FILE, "dialect": NO_QUOTE}}),
        ("day.csv", {"day.csv": {"gaps": 0, "at": None, "schema": 7}}),
        (TOPIC, {"0": {"offset": 1 << 62}}),
        (TOPIC, {"zero": {"offset": 1}}),
        (TOPIC, {"0": {"offset": 1}, "_topic": {"schema": "nonsense"}}),
    ],
)
def test_an_impossible_position_of_a_source_is_refused(uri: str, position: Any):
    with pytest.raises(SourceError, match="must"):
        check_saved_source(uri, position)


@pytest.mark.parametrize(
    ("uri", "position"),
    [
        ("out.csv", []),
        ("out.csv", {"length": -1, "schema": None}),
        ("out.parquet", {"parts": 1.5, "schema": None}),
        (TOPIC, {"written": "all"}),
        (TOPIC, {"written": 3, "id": "a", "committed": 1, "rows": 2, "pending": "nonsense"}),
    ],
)
def test_an_impossible_position_of_a_sink_is_refused(uri: str, position: Any):
    with pytest.raises(SourceError, match="must"):
        check_saved_sink(uri, position)


@pytest.mark.parametrize("uri", ["mqtt://host/topic", "<a source of a program>"])
def test_positions_of_others_are_left_to_them(uri: str):
    check_saved_source(uri, {"anything": {"at": "all"}})
    check_saved_sink(uri, {"anything": 1})
