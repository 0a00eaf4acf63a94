from __future__ import annotations

import random

from stream_maxloss.scale.shards.keys import KeySample, shared_keys
from stream_maxloss.scale.shards.source import key_number


def sample(names, size=64):
    found = KeySample(size)
    found.add((key_number(name), name) for name in names)
    return found


def test_up_to_its_size_every_shared_key_is_found():
    first, second = sample(f"k{i}" for i in range(40)), sample(f"k{i}" for i in range(39, 80))
    assert shared_keys([first.state_dict(), second.state_dict()]) == {"k39": [0, 1]}


def test_far_beyond_its_size_a_topic_that_is_not_partitioned_by_the_key_is_found_out():
    names = [f"k{i}" for i in range(5000)]
    first, second = sample(names), sample(random.Random(1).sample(names, 4000))
    found = shared_keys([first.state_dict(), second.state_dict()])
    assert len(found) > 30  # 4/5 of 64 are expected


def test_disjoint_keys_are_never_reported():
    first, second = sample(f"a{i}" for i in range(5000)), sample(f"b{i}" for i in range(5000))
    assert shared_keys([first.state_dict(), second.state_dict()]) == {}


def test_a_restored_sample_continues_as_if_it_had_never_stopped():
    names = [f"k{i}" for i in range(1000)]
    straight = sample(names)
    half = KeySample(64)
    half.load_state_dict(sample(names[:500]).state_dict())
    half.add((key_number(name), name) for name in names[500:])
    assert sorted(half.state_dict()["names"]) == sorted(straight.state_dict()["names"])
    assert len(half.state_dict()["names"]) == 64
