"""Checkpoints written by each release so far must load in this one. Never rewrite them: add one per format version."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from stream_maxloss.checkpoint import CheckpointStore, Content

GOLDEN = Path(__file__).with_name("golden")


def golden_content() -> Content:
    content = Content(
        tables={"window": pa.table({"x": [1.5, None], "label": pa.array(["a", None]).dictionary_encode()})},
        values={"metadata": {"note": "größe", "bounds": (0, float("inf")), "$odd": None}},
        sources={"day.csv": {"day.csv": {"offset": 1882}}},
        outputs={"predictions.csv": 12345},
        counters={"seen": 100, "bad": 1},
    )
    content.put_state(
        "model",
        {
            "weights": np.array([[0.5, -1.25], [0.1, 3e-310]]),
            "generator": np.array([2**64 - 1, 1], dtype=np.uint64),
            "mask": np.array([True, False]),
            "empty": np.zeros((0, 2), dtype=np.float32),
            "codes": np.arange(3, dtype=np.uint8),
            "slots": np.arange(2, dtype=np.int32),
            "ages": np.array(-7),
            "names": ["a", "b=ü"],
            "rounds": 2**70,
        },
    )
    return content


@pytest.mark.parametrize("version", [1])
def test_the_golden_checkpoint_of_each_version_loads(version: int, tmp_path: Path, same: object) -> None:
    assert callable(same)
    directory = GOLDEN / f"version-{version}"
    content = CheckpointStore(directory).load()
    assert same(content, golden_content())
    assert content.origin is not None
    assert content.origin.format_version == version
    shutil.copytree(directory, tmp_path / "run")
    with CheckpointStore(tmp_path / "run") as store:
        assert store.save(store.load()) == 2
        assert same(store.load(), golden_content())
