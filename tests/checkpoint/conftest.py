from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stream_maxloss.checkpoint import Content
from stream_maxloss.checkpoint.manifest import MANIFEST_FILE, seal


def build_content(number: int) -> Content:
    """Content with every kind of thing in it, different for every number."""
    random = np.random.default_rng(number)
    content = Content(
        tables={"window": pa.table({"x": [float(number), None, 2.5], "name": ["a", "b", None]})},
        sources={"day.csv": {"day.csv": {"offset": 100 * number}}},
        outputs={"predictions.csv": 7 * number},
        counters={"seen": number},
    )
    content.put_state(
        "model",
        {
            "weights": random.normal(size=5),
            "generator": random.integers(0, 2**64, size=4, dtype=np.uint64),
            "empty": np.zeros((0, 3)),
            "rounds": number,
            "best": float("inf"),
        },
    )
    return content


def contents_equal(left: Content, right: Content) -> bool:
    return (
        left.arrays.keys() == right.arrays.keys()
        and all(
            left.arrays[name].dtype == right.arrays[name].dtype
            and left.arrays[name].shape == right.arrays[name].shape
            and left.arrays[name].tobytes() == right.arrays[name].tobytes()
            for name in left.arrays
        )
        and left.tables == right.tables
        and left.blobs == right.blobs
        and left.values == right.values
        and left.finite == right.finite
        and left.sources == right.sources
        and left.outputs == right.outputs
        and left.counters == right.counters
    )


@pytest.fixture
def make_content() -> Callable[[int], Content]:
    return build_content


@pytest.fixture
def same() -> Callable[[Content, Content], bool]:
    return contents_equal


@pytest.fixture
def forge() -> Callable[..., None]:
    """Rewrite a checkpoint as somebody would who knows the format: every digest is right again."""

    def rewrite(
        directory: Path, files: dict[str, bytes] | None = None, change: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        fields = json.loads((directory / MANIFEST_FILE).read_text())
        del fields["sha256"]
        for name, data in (files or {}).items():
            (directory / name).write_bytes(data)
            fields["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        if change is not None:
            change(fields)
        (directory / MANIFEST_FILE).write_bytes(seal(fields))

    return rewrite
