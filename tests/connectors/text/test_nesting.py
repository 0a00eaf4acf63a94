from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_maxloss_connectors.payloads.json_rows import JsonDecoder as MessageDecoder
from stream_maxloss_connectors.text.json_lines import JsonDecoder
from stream_maxloss_connectors.text.nesting import MAX_NESTING, is_deep

SHAPES = {"lists": (b"[", b"]"), "objects": (b'{"b":', b"}")}


def nested(depth: int, shape: str) -> bytes:
    opening, closing = SHAPES[shape]
    return b'{"a": ' + opening * (depth - 1) + b"1" + closing * (depth - 1) + b"}"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("depth", [MAX_NESTING + 1, 300, 1000, 10_000, 20_000])
def test_a_deep_line_is_one_bad_record_among_good_ones(depth: int, shape: str) -> None:
    decoder = JsonDecoder()
    text = b'{"a": 1}\nno object\n' + nested(depth, shape) + b'\n{"a": 2}\n'
    schema = decoder.infer(text)
    block = decoder.decode(text, schema, 1, "day.jsonl:{}".format)
    assert block.records.to_pydict() == {"a": [1.0, 2.0]}
    assert str(block.faults[1].error) == "day.jsonl:3: record must be nested at most 64 deep, got more; flatten it"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_line_of_the_greatest_depth_is_read(shape: str) -> None:
    decoder = JsonDecoder()
    text = nested(MAX_NESTING, shape) + b"\n"
    assert decoder.decode(text, decoder.infer(text), 1, str).records.num_rows == 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("depth", [MAX_NESTING + 1, 300, 1000, 20_000])
def test_a_deep_message_is_one_bad_record_among_good_ones(depth: int, shape: str) -> None:
    decoder = MessageDecoder()
    payloads = [b'{"a": 1}', nested(depth, shape), b'{"a": 2}']
    decoder.infer(payloads)
    decoded = decoder.decode(payloads, 10)
    assert decoded.records is not None
    assert decoded.records.to_pylist() == [{"a": 1.0}, {"a": 2.0}]
    assert decoded.bad == {1: "record must be nested at most 64 deep, got more; flatten it"}


@pytest.mark.parametrize("way", ["file", "standard input", "followed"])
def test_a_deep_line_does_not_end_the_process(way: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_bytes(b'{"a": 1}\n' + nested(20_000, "lists") + b"\n" + nested(10_000, "objects") + b'\n{"a": 2}\n')
    code = (
        "import sys\n"
        "from stream_maxloss_connectors import BadRecords, open_source\n"
        "bad, way = BadRecords('skip'), sys.argv[2]\n"
        "follow = {'follow': True, 'until_eof': True} if way == 'followed' else {}\n"
        "name = '-' if way == 'standard input' else sys.argv[1]\n"
        "source = open_source(name, format='jsonl', bad_records=bad, **follow)\n"
        "source.open()\n"
        "rows = []\n"
        "while not source.exhausted:\n"
        "    batch = source.next_batch(10, 5.0)\n"
        "    rows += [] if batch is None else batch.records['a'].to_pylist()\n"
        "print(rows, bad.count)\n"
    )
    with path.open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-c", code, str(path), way], stdin=file, capture_output=True, text=True, timeout=60
        )
    assert (done.returncode, done.stdout) == (0, "[1.0, 2.0] 2\n"), done.stderr


@given(st.recursive(st.text('[]{}"\\', max_size=4), lambda inner: st.lists(inner, max_size=3), max_leaves=40))
def test_brackets_inside_texts_do_not_count(value: object) -> None:
    text = json.dumps(value)
    inner = f'{{"a": {"[" * 60}{text}{"]" * 60}}}'.encode()
    assert is_deep(inner) == (depth_of(value) + 61 > MAX_NESTING)


def depth_of(value: object) -> int:
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0
