from __future__ import annotations

import pytest

from stream_maxloss.errors import GapError
from stream_maxloss_connectors.kafka.topic_facts import TopicFacts, Watermarks, check_identity, check_offset

FACTS = TopicFacts("cluster", "id-2", [0])


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        (
            {"name": "orders", "cluster_id": "cluster", "topic_id": "id-1"},
            "recreated or truncated: .* 'id-1' and is 'id-2'",
        ),
        ({"name": "orders", "cluster_id": "other"}, "this is another cluster: its cluster id was 'other'"),
        ({"name": "returns"}, "the position must be of topic 'orders', got one of 'returns'"),
    ],
)
def test_position_of_another_topic_is_refused(saved, message):
    with pytest.raises(GapError, match=message):
        check_identity("orders", FACTS, saved)


@pytest.mark.parametrize(
    ("facts", "saved"),
    [
        (FACTS, {}),
        (FACTS, {"name": "orders", "cluster_id": "cluster", "topic_id": "id-2"}),
        (FACTS, {"cluster_id": None, "topic_id": None}),
        (TopicFacts(None, None, [0]), {"cluster_id": "cluster", "topic_id": "id-1"}),
    ],
    ids=["nothing saved", "the same", "unknown then", "unknown now"],
)
def test_what_is_not_known_is_not_compared(facts, saved):
    check_identity("orders", facts, saved)


@pytest.mark.parametrize("on_gap", ["fail", "earliest", "latest"])
@pytest.mark.parametrize("offset", [180, 190, 200])
def test_offset_that_is_held_or_comes_next_is_kept(offset, on_gap):
    assert check_offset("orders", 2, offset, Watermarks(180, 200), on_gap) == offset


def test_missing_records_are_named_by_first_and_last():
    with pytest.raises(
        GapError, match=r"records 120\.\.179 of orders\[2\] are gone: .* is 120 .* held is 180; .*on_gap"
    ):
        check_offset("orders", 2, 120, Watermarks(180, 200), "fail")


@pytest.mark.parametrize(("on_gap", "target"), [("earliest", 180), ("latest", 200)])
def test_missing_records_are_passed_over_on_request_and_logged(on_gap, target, caplog):
    assert check_offset("orders", 2, 120, Watermarks(180, 200), on_gap) == target
    assert f"records 120..{target - 1} of orders[2] are passed over; going on at {target}" in caplog.text


@pytest.mark.parametrize("on_gap", ["fail", "earliest", "latest"])
def test_offset_behind_the_end_is_refused_whatever_on_gap_says(on_gap):
    with pytest.raises(GapError, match=r"orders\[2\]@201: the topic was recreated or truncated: .* ends at 200"):
        check_offset("orders", 2, 201, Watermarks(180, 200), on_gap)
