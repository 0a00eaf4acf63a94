"""The Kafka source on librdkafka's mock: fast, and with failures made to order."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from kafka_rows import numbers, read_rows, source_of, values
from stream_maxloss.errors import DecodeError, GapError, SourceError, TooManyBadRecordsError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.contract import check_source
from stream_maxloss_connectors.payloads.arrow_rows import encode_stream


def test_json_source_keeps_the_contract_with_tombstones_and_bad_records(mock_kafka):
    mock_kafka.create_topic("t", 2)
    mock_kafka.produce("t", [None, b'{"i":0}', b"bad", b'{"i":1}', None, b'{"i":2}', b""], 0)
    mock_kafka.produce("t", [b'{"i":5}', None], 1)
    expected = {"0": [{"i": 0.0}, {"i": 1.0}, {"i": 2.0}], "1": [{"i": 5.0}]}
    check_source(lambda: source_of(mock_kafka, bad_records=BadRecords("skip")), expected, timeout=5.0)


def test_arrow_source_keeps_the_contract_inside_messages(mock_kafka):
    mock_kafka.create_topic("t")
    messages = [
        encode_stream(pa.record_batch({"i": pa.array(range(k, k + n), pa.int64())}))
        for k, n in ((0, 5), (5, 0), (5, 1), (6, 4))
    ]
    mock_kafka.produce("t", messages)
    rows = [{"i": i} for i in range(10)]
    check_source(lambda: source_of(mock_kafka, format="arrow"), rows, max_rows=(1, 3, 7, 1000), timeout=5.0)
    with source_of(mock_kafka, format="arrow") as source:
        source.open()
        batch = source.next_batch(3, 5.0)
        assert source.position()["0"] == {"offset": 0, "row": 3}
        assert batch.address(2) == "t[0]@0"
        assert source.next_batch(4, 5.0).address(3) == "t[0]@3"
        assert source.position()["0"] == {"offset": 3, "row": 1}


def test_source_that_follows_keeps_the_contract(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", numbers(0, 4))
    check_source(
        lambda: source_of(mock_kafka, until_eof=False), [{"i": float(i)} for i in range(4)], bounded=False, timeout=0.5
    )


def test_bounded_reader_stops_at_the_end_that_was_there_at_open(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", numbers(0, 3))
    with source_of(mock_kafka) as source:
        source.open()
        mock_kafka.produce("t", numbers(3, 6))
        rows = []
        while not source.exhausted:
            if (batch := source.next_batch(1000, 5.0)) is not None:
                rows += batch.records.to_pylist()
        assert values(rows) == [0, 1, 2]
        position = source.position()
    assert values(read_rows(source_of(mock_kafka), position)["0"]) == [3, 4, 5]


def test_empty_topic_is_exhausted_at_once(mock_kafka):
    mock_kafka.create_topic("t", 2)
    assert read_rows(source_of(mock_kafka)) == {}


def test_follower_gets_what_is_written_later(mock_kafka):
    mock_kafka.create_topic("t")
    with source_of(mock_kafka, until_eof=False, start="latest") as source:
        mock_kafka.produce("t", numbers(0, 2))
        source.open()
        assert source.next_batch(10, 0.1) is None
        mock_kafka.produce("t", numbers(2, 4))
        assert values(source.next_batch(10, 10.0).records.to_pylist()) == [2, 3]
        assert not source.exhausted


@pytest.mark.parametrize(
    ("start", "found"), [("earliest", [0, 1, 2]), ("latest", []), (1, [1, 2]), ("2", [2]), (3, [])]
)
def test_start_is_where_reading_begins_without_a_position(mock_kafka, start, found):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", numbers(0, 3))
    assert values(read_rows(source_of(mock_kafka, start=start)).get("0", [])) == found


def test_start_behind_the_end_is_refused(mock_kafka):
    mock_kafka.create_topic("t")
    with pytest.raises(GapError, match=r"t\[0\]@9: .* ends at 0"):
        source_of(mock_kafka, start=9).open()


def test_chosen_partitions_alone_are_read(mock_kafka):
    mock_kafka.create_topic("t", 4)
    for partition in range(4):
        mock_kafka.produce("t", numbers(partition, partition + 1), partition)
    source = source_of(mock_kafka, partitions=[1, 3])
    assert read_rows(source) == {"1": [{"i": 1.0}], "3": [{"i": 3.0}]}
    assert source.partitions() == ["1", "3"]
    assert read_rows(source_of(mock_kafka), source.position()) == {"0": [{"i": 0.0}], "2": [{"i": 2.0}]}
    with pytest.raises(SourceError, match=r"the position must hold only partitions that are read, got \[1\] besides"):
        source_of(mock_kafka, partitions=[3]).open(source.position())
    with pytest.raises(SourceError, match=r"partitions must be among \[0, 1, 2, 3\], got \[7\]"):
        source_of(mock_kafka, partitions=[0, 7]).open()


def test_types_of_the_position_are_kept_instead_of_inferred_again(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", [b'{"a":1,"b":"x"}', b'{"b":"y","c":1}', b'{"b":7}'])
    with source_of(mock_kafka) as source:
        source.open()
        assert source.next_batch(1, 5.0).records.to_pylist() == [{"a": 1.0, "b": "x", "c": None}]
        position = source.position()
    with source_of(mock_kafka) as source:
        source.open(position)
        assert source.next_batch(10, 5.0).records.to_pylist() == [{"a": None, "b": "y", "c": 1.0}]
        with pytest.raises(DecodeError, match=r"t\[0\]@2: field 'b' must be a text, got 7"):
            source.next_batch(10, 5.0)


def test_columns_select_and_order(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", [b'{"a":1,"b":2,"c":3}'])
    assert [list(row) for row in read_rows(source_of(mock_kafka, columns=["c", "a"]))["0"]] == [["c", "a"]]
    with source_of(mock_kafka, columns=["z"]) as source:
        source.open()
        for _ in range(2):
            with pytest.raises(SourceError, match=r"t: columns must be among \['a', 'b', 'c'\], got \['z'\]"):
                source.next_batch(1, 5.0)
    with pytest.raises(ValueError, match=r"columns must be among \['a'\], got \['z'\]"):
        source_of(mock_kafka, schema=pa.schema([("a", pa.float64())]), columns=["z"])


def test_headers_become_columns(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", [b'{"i":0}'], headers=[("trace", b"old"), ("trace", b"new"), ("raw", b"\xff")])
    mock_kafka.produce("t", [None, b'{"i":1}'])
    found = read_rows(source_of(mock_kafka, headers=["trace", "raw"]))["0"]
    assert found == [
        {"i": 0.0, "header.trace": "new", "header.raw": "\ufffd"},
        {"i": 1.0, "header.trace": None, "header.raw": None},
    ]


def test_bad_records_are_reported_once_wherever_reading_is_cut(mock_kafka, tmp_path):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", [b'{"i":0}', b"bad 1", b'{"i":2}', b"bad 3", b"bad 4", b'{"i":5}'])
    for cut in range(4):
        bad = BadRecords("dlq", tmp_path / f"{cut}.jsonl")
        with source_of(mock_kafka, bad_records=bad) as source:
            source.open()
            for _ in range(cut):
                source.next_batch(1, 5.0)
            position, state = source.position(), bad.flush()
            # Read on, and be killed: what is reported now must be reported once more, not twice.
            source.next_batch(1, 1.0)
            bad.flush()
        resumed = BadRecords("dlq", tmp_path / f"{cut}.jsonl")
        resumed.restore(state)
        read_rows(source_of(mock_kafka, bad_records=resumed), position)
        assert resumed.flush()["count"] == 3
        addresses = [json.loads(line)["address"] for line in (tmp_path / f"{cut}.jsonl").read_text().splitlines()]
        assert addresses == ["t[0]@1", "t[0]@3", "t[0]@4"]


def test_too_many_bad_records_stop_the_source(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", [b'{"i":0}', b"bad", b"worse"])
    with source_of(mock_kafka, bad_records=BadRecords("skip", limit=1)) as source:
        source.open()
        with pytest.raises(TooManyBadRecordsError, match=r"t\[0\]@2: .*more than the limit of 1"):
            source.next_batch(10, 5.0)


def test_lag_counts_what_was_not_returned(mock_kafka):
    mock_kafka.create_topic("t", 2)
    mock_kafka.produce("t", numbers(0, 5), 0)
    mock_kafka.produce("t", numbers(0, 5), 1)
    with source_of(mock_kafka) as source:
        assert source.lag() is None
        source.open()
        assert (source.lag(), source.lag_unit) == (10, "records")
        source.next_batch(3, 5.0)
        assert source.lag() == 7


def test_commit_without_a_group_does_nothing(mock_kafka):
    mock_kafka.create_topic("t")
    with source_of(mock_kafka) as source:
        source.open()
        source.commit(source.position())


def test_source_must_be_opened_and_limited_to_at_least_a_row(mock_kafka):
    with pytest.raises(SourceError, match="must be opened before it is read"):
        source_of(mock_kafka).next_batch(1, 0.0)
    mock_kafka.create_topic("t")
    with source_of(mock_kafka) as source:
        source.open()
        with pytest.raises(ValueError, match="max_rows must be at least 1, got 0"):
            source.next_batch(0, 0.0)


def test_csv_and_avro_messages_are_read(mock_kafka):
    mock_kafka.create_topic("csv")
    mock_kafka.produce("csv", [b"1.5,red", b"2,blue"])
    assert read_rows(source_of(mock_kafka, "csv", format="csv", column_names=["x", "c"])) == {
        "0": [{"x": 1.5, "c": "red"}, {"x": 2.0, "c": "blue"}]
    }
    mock_kafka.create_topic("avro")
    schema = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]}
    mock_kafka.produce("avro", [b"\x02", b"\x04"])
    assert values(read_rows(source_of(mock_kafka, "avro", format="avro", avro_schema=schema))["0"], "n") == [1, 2]
    mock_kafka.create_topic("wire")
    mock_kafka.produce("wire", [b"\0\0\0\0\x07\x02", b"\0\0\0\0\x07\x04"])
    wire = source_of(mock_kafka, "wire", format="avro", registry_schemas={7: schema})
    assert values(read_rows(wire)["0"], "n") == [1, 2]
