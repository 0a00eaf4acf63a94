from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stream_maxloss.scale.ray.crew import deal


@given(st.integers(1, 30), st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_shards_are_even_and_move_no_more_than_they_must(shards, sizes):
    names = [f"s{i}" for i in range(shards)]
    dealt: dict[str, int] = {}
    for workers in sizes:
        after = deal(names, workers, dealt)
        loads = Counter(after.values())
        counts = [loads[worker] for worker in range(workers)]
        assert sum(counts) == shards
        assert max(counts) - min(counts) <= 1
        if dealt:
            held = Counter(worker for worker in dealt.values() if worker < workers)
            least, more = divmod(shards, workers)
            keep = sum(min(held[worker], least) for worker in range(workers))
            keep += min(more, sum(held[worker] > least for worker in range(workers)))
            assert sum(dealt[name] == after[name] for name in names) == keep
        dealt = after
