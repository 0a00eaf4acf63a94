from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream_maxloss_connectors.base import Position

PIPED = """
import json, sys
from stream_maxloss_connectors.open import open_source
source = open_source("-", format=sys.argv[1])
source.open(json.loads(sys.argv[2]))
rows, first = [], None
while not source.exhausted and len(rows) < int(sys.argv[3]):
    batch = source.next_batch(2, 5.0)
    rows += [] if batch is None else batch.records.to_pylist()
print(json.dumps([rows, source.position()]))
"""


def pipe(text: bytes, kind: str, position: Position | None, most: int = 1000) -> tuple[list[dict[str, Any]], Position]:
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", PIPED, kind, json.dumps(position), str(most)],
        input=text,
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'connectors'}"},
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode().strip().splitlines()[-1])
    rows, position = json.loads(done.stdout)
    return rows, position or {}


def test_standard_input_continues_when_it_is_fed_again() -> None:
    text = b"n,text\n" + b"".join(b"%d,x\n" % i for i in range(9))
    rows, position = pipe(text, "csv", None, 4)
    assert [row["n"] for row in rows] == [0, 1, 2, 3]
    assert [row["n"] for row in pipe(text, "csv", position)[0]] == [4, 5, 6, 7, 8]
    with pytest.raises(RuntimeError, match="GapError: -: input must be fed again from its beginning"):
        pipe(text.replace(b"0,x", b"9,y"), "csv", position)
    with pytest.raises(RuntimeError, match="GapError: -: input must be fed again from its beginning"):
        pipe(text[:9], "csv", position)
