from __future__ import annotations

from stream_maxloss.state import join_parts, part_of


def test_parts_come_back_as_they_were_joined() -> None:
    parts = {"a": {"b": 1, "b.c": 2}, "ab": {"c": 3}, "empty": {}}
    joined = join_parts(parts)
    assert joined == {"a.b": 1, "a.b.c": 2, "ab.c": 3}
    assert {name: part_of(joined, name) for name in parts} == parts
