"""A first run that is refused leaves nothing behind that binds the corrected one."""

from __future__ import annotations

import json

import pytest

from stream_maxloss.checkpoint import CheckpointStore
from stream_maxloss.errors import DecodeError
from stream_maxloss.linear import Perceptron
from stream_maxloss.run import Tail
from stream_maxloss_connectors.testing import MemorySource

MISTAKES = {
    "misspelt target": ["--target", "fruad"],
    "misspelt slice": ["--target", "fraud", "--slice-by", "knd"],
    "misspelt feature": ["--target", "fraud", "--exclude", "d"],
    "target of another kind": ["--target", "a", "--model", "lld"],
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_the_corrected_command_works_as_if_it_were_the_first(maxloss, day, tmp_path, mistake) -> None:
    places = ["--checkpoint", "state", "--predictions", "out.jsonl"]
    refused = maxloss("tail", day, *mistake, *places)
    assert refused.code in (2, 3), refused.err
    assert not CheckpointStore(tmp_path / "state").list()
    end = maxloss("tail", day, "--target", "fraud", *places, "-o", "jsonl")
    assert (end.code, end.err) == (0, "")
    assert json.loads(end.out.splitlines()[-1])["rows"] == 500
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 500


def test_a_refused_option_leaves_the_checkpoints_of_the_run_that_it_was_to_change(maxloss, day, tmp_path) -> None:
    assert maxloss("tail", day, "--target", "fraud", "-c", "state", "--limit", "100").code == 0
    before = CheckpointStore(tmp_path / "state").list()
    assert maxloss("tail", day, "--target", "fruad", "-c", "state").code == 4
    assert CheckpointStore(tmp_path / "state").list() == before


class Stream(MemorySource):
    waits = True


def test_of_a_stream_the_first_position_stays_where_its_first_record_is_bad(tmp_path) -> None:
    source = Stream([{"x": 1.0, "y": 7.0}] * 5)
    with pytest.raises(DecodeError), Tail(source, Perceptron(), "y", checkpoint=tmp_path) as tail:
        tail.run()
    assert CheckpointStore(tmp_path).list() == [1]
