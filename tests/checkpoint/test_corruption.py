"""Each file of the newest checkpoint truncated, flipped, deleted: the one before it takes over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stream_maxloss.checkpoint import CheckpointStore, CheckpointWarning, Content
from stream_maxloss.errors import CheckpointError

FILES = ["manifest.json", "arrays.safetensors", "window.arrow", "extra.json", "model2.pkl"]


def truncate_to_nothing(path: Path) -> None:
    path.write_bytes(b"")


def truncate_by_one(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def delete(path: Path) -> None:
    path.unlink()


@pytest.fixture
def store(tmp_path: Path, make_content: Callable[[int], Content]) -> CheckpointStore:
    with CheckpointStore(tmp_path) as store:
        for number in (1, 2):
            content = make_content(number)
            content.blobs["model2"] = b"a pickle that nobody opens"
            store.save(content, allow_pickle=True)
    return store


@pytest.mark.parametrize(
    "damage", [truncate_to_nothing, truncate_by_one, append, zero, delete], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("name", FILES)
def test_the_one_before_takes_over(store: CheckpointStore, name: str, damage: Callable[[Path], None]) -> None:
    damage(store.path(2) / name)
    assert not store.verify(2).ok
    with store, pytest.warns(CheckpointWarning, match=rf"set aside as corrupt-000000000002, .*{name}") as caught:
        content = store.load(allow_pickle=True)
    assert len(caught) == 1
    assert content.counters == {"seen": 1}
    assert content.sources == {"day.csv": {"day.csv": {"offset": 100}}}
    assert store.list() == [1]
    assert (store.directory / "corrupt-000000000002").is_dir()


@pytest.mark.parametrize("name", FILES)
def test_no_flipped_bit_goes_unnoticed(store: CheckpointStore, name: str) -> None:
    path = store.path(2) / name
    good = path.read_bytes()
    for place in range(0, 8 * len(good), 9):
        bad = bytearray(good)
        bad[place // 8] ^= 1 << place % 8
        path.write_bytes(bad)
        with pytest.warns(CheckpointWarning, match="damaged checkpoint passed over"):
            assert store.load(allow_pickle=True).counters == {"seen": 1}, place
    path.write_bytes(good)
    assert store.load(allow_pickle=True).counters == {"seen": 2}


def test_if_none_is_whole_the_error_says_why_and_what_to_do(store: CheckpointStore) -> None:
    (store.path(1) / "manifest.json").unlink()
    (store.path(2) / "extra.json").write_bytes(b"")
    with (
        pytest.warns(CheckpointWarning),
        pytest.raises(CheckpointError, match=r"whole checkpoint, got .*extra.json must hold.*manifest.json.*--fresh"),
    ):
        store.load(allow_pickle=True)
