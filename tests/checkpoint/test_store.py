from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from stream_maxloss.checkpoint import CheckpointStore, CheckpointWarning, Content
from stream_maxloss.checkpoint import store as store_module
from stream_maxloss.errors import CheckpointError

Make = Callable[[int], Content]
Same = Callable[[Content, Content], bool]


def test_what_was_saved_is_loaded_into_a_fresh_object_and_continues(
    tmp_path: Path, make_content: Make, same: Same
) -> None:
    with CheckpointStore(tmp_path / "run", run_id="first") as store:
        assert [store.save(make_content(number)) for number in (1, 2)] == [1, 2]
    with CheckpointStore(tmp_path / "run", run_id="second") as store:
        content = store.load()
        assert same(content, make_content(2))
        content.arrays["model/weights"] += 1.0
        assert store.save(content) == 3
    again = CheckpointStore(tmp_path / "run").load()
    np.testing.assert_array_equal(again.arrays["model/weights"], make_content(2).arrays["model/weights"] + 1.0)
    assert again.origin is not None
    assert (again.origin.seq, again.origin.parent_seq, again.origin.run_id) == (3, 2, "second")
    assert {"stream-maxloss", "river", "numpy", "pyarrow"} <= again.origin.libraries.keys()


def test_saving_does_not_change_or_keep_the_content(tmp_path: Path, make_content: Make, same: Same) -> None:
    content = make_content(1)
    with CheckpointStore(tmp_path) as store:
        store.save(content)
        assert same(content, make_content(1))
        content.arrays["model/weights"][:] = 0.0
        assert same(store.load(), make_content(1))


@pytest.mark.parametrize("keep", [1, 2, 5])
def test_the_last_few_are_kept(tmp_path: Path, keep: int) -> None:
    with CheckpointStore(tmp_path, keep=keep) as store:
        for _ in range(7):
            store.save(Content())
        assert store.list() == list(range(8 - keep, 8))
        assert all(store.verify(seq).ok for seq in store.list())
    assert not list(tmp_path.glob(".tmp-*"))


def test_numbers_continue_above_damaged_and_foreign_ones(tmp_path: Path) -> None:
    with CheckpointStore(tmp_path) as store:
        store.save(Content())
        (tmp_path / "corrupt-000000000041").mkdir()
        (tmp_path / "ckpt-note.txt").write_text("not one of ours")
        assert store.save(Content()) == 42
        assert store.list() == [1, 42]


def test_damaged_ones_that_were_set_aside_do_not_pile_up(tmp_path: Path) -> None:
    with CheckpointStore(tmp_path, keep=2) as store:
        store.save(Content())
        for _ in range(4):
            seq = store.save(Content())
            (store.path(seq) / "extra.json").write_bytes(b"")
            with pytest.warns(CheckpointWarning, match="set aside"):
                store.load()
        store.save(Content())
        assert sorted(path.name for path in tmp_path.glob("corrupt-*")) == [
            "corrupt-000000000004",
            "corrupt-000000000005",
        ]
        assert len(store.list()) == 2


def test_the_whole_one_is_not_pruned_because_of_damaged_newer_ones(
    tmp_path: Path, make_content: Make, same: Same
) -> None:
    with CheckpointStore(tmp_path, keep=3) as store:
        for number in (1, 2, 3):
            store.save(make_content(number))
        for seq in (2, 3):
            (store.path(seq) / "manifest.json").unlink()
    with CheckpointStore(tmp_path, keep=1) as store:
        with pytest.warns(CheckpointWarning):
            assert same(store.load(), make_content(1))
        assert store.list() == [1]
        assert store.save(make_content(4)) == 4
        content = store.load()
        assert content.origin is not None
        assert content.origin.parent_seq == 1


def test_a_run_that_starts_afresh_can_never_fall_back_to_the_run_before(tmp_path: Path, make_content: Make) -> None:
    with CheckpointStore(tmp_path, keep=2) as store:
        for number in (1, 2):
            store.save(make_content(number))
        assert store.retire() == [1, 2]
        with pytest.raises(CheckpointError, match="got none"):
            store.load()
        assert store.save(make_content(3)) == 3
        origin = store.load().origin
        assert origin is not None
        assert origin.parent_seq is None
        (store.path(3) / "extra.json").unlink()
        with pytest.warns(CheckpointWarning), pytest.raises(CheckpointError, match="whole checkpoint"):
            store.load()
        assert store.save(make_content(4)) == 4
        assert store.retire() == [4]
        store.save(make_content(5))
    names = sorted(path.name for path in tmp_path.iterdir())
    kept = ["ckpt-000000000005", "corrupt-000000000003", "retired-000000000002", "retired-000000000004"]
    assert names == ["LOCK", *kept]


def test_retiring_needs_the_lock(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="must be locked to retire"):
        CheckpointStore(tmp_path).retire()


def test_reading_one_never_gives_another(tmp_path: Path, make_content: Make, same: Same) -> None:
    with CheckpointStore(tmp_path) as store:
        for number in (1, 2):
            store.save(make_content(number))
    assert same(store.read(1), make_content(1))
    (store.path(2) / "extra.json").unlink()
    with pytest.raises(CheckpointError, match=r"ckpt-000000000002: extra\.json cannot be read"):
        store.read(2)
    with pytest.raises(CheckpointError, match="No such file"):
        store.read(3)


def test_a_clock_that_goes_backwards_changes_only_the_time_shown(
    tmp_path: Path, make_content: Make, same: Same, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(datetime.datetime):
        year_now = 2030

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Clock:
            cls.year_now -= 10
            return cls(cls.year_now, 1, 1, tzinfo=tz)

    monkeypatch.setattr(store_module.datetime, "datetime", Clock)
    with CheckpointStore(tmp_path) as store:
        for number in (1, 2, 3):
            store.save(make_content(number))
            # What the file system believes about the age must not matter either.
            os.utime(store.path(number), (1e9 - number * 1e6, 1e9 - number * 1e6))
        content = store.load()
    assert same(content, make_content(3))
    assert content.origin is not None
    assert content.origin.created_at == "2000-01-01T00:00:00+00:00"


def test_litter_of_a_killed_writer_is_swept_and_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("stays")
    run = tmp_path / "run"
    (run / ".tmp-1-1").mkdir(parents=True)
    (run / ".tmp-1-1" / "arrays.safetensors").write_bytes(b"half")
    (run / ".tmp-link").symlink_to(outside)
    with CheckpointStore(run):
        assert [path.name for path in run.iterdir()] == ["LOCK"]
    assert (outside / "precious").read_text() == "stays"


def test_saving_without_the_lock_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="must be locked to save"):
        CheckpointStore(tmp_path).save(Content())
    with CheckpointStore(tmp_path) as store:
        store.close()
        store.close()
        with pytest.raises(CheckpointError, match="must be locked to save"):
            store.save(Content())


@pytest.mark.parametrize("missing", [True, False], ids=["no-directory", "empty-directory"])
def test_loading_where_there_is_nothing_says_how_to_start(tmp_path: Path, missing: bool) -> None:
    directory = tmp_path / "absent" if missing else tmp_path
    with pytest.raises(CheckpointError, match="must hold a checkpoint, got none; check the path, or start afresh"):
        CheckpointStore(directory).load()
    assert directory.exists() is not missing


def test_a_directory_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"must be writable, got .*file: File exists; choose another"):
        CheckpointStore(tmp_path / "file").lock()
    with pytest.raises(CheckpointError, match="must be writable"):
        CheckpointStore(tmp_path / "file" / "below").lock()


@pytest.mark.parametrize("arguments", [{"keep": 0}, {"keep": -1}, {"max_bytes": 0}], ids=str)
def test_arguments_are_checked(tmp_path: Path, arguments: dict[str, int]) -> None:
    name, value = next(iter(arguments.items()))
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got {value}"):
        CheckpointStore(tmp_path, **arguments)


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (Content(values={"a": object()}), TypeError, r"values\['a'\] must be None.*got object"),
        (Content(arrays={"a": np.array(["text"])}), TypeError, "array 'a' must be of float64"),
        (Content(arrays={"a": np.array([np.nan])}, finite=["a"]), ValueError, "'a' must be finite, got nan"),
        (Content(counters={"seen": -1}), ValueError, r"counters\['seen'\] must be a whole number, got -1"),
        (Content(sources={"a": object()}), TypeError, "sources.*got object"),
        (Content(blobs={"model": b"pickle"}), CheckpointError, r"pickles must be allowed, got \['model'\]"),
        (Content(arrays={"a": np.zeros(200)}), CheckpointError, "at most 1000 bytes, got .*raise max_bytes"),
    ],
    ids=["value", "array", "nan", "counter", "source", "pickle", "size"],
)
def test_a_save_that_is_refused_leaves_nothing(
    tmp_path: Path, content: Content, kind: type[Exception], message: str
) -> None:
    with CheckpointStore(tmp_path, max_bytes=1000) as store:
        store.save(Content(counters={"seen": 1}))
        with pytest.raises(kind, match=message):
            store.save(content)
        assert store.list() == [1]
        assert not list(tmp_path.glob(".tmp-*"))
        assert store.load().counters == {"seen": 1}
        assert store.save(Content()) == 2


def test_a_reader_beside_a_writer_renames_nothing(tmp_path: Path, make_content: Make, same: Same) -> None:
    with CheckpointStore(tmp_path) as store:
        store.save(make_content(1))
        store.save(make_content(2))
        (store.path(2) / "window.arrow").unlink()
        with pytest.warns(CheckpointWarning, match=r"passed over, .*ckpt-000000000002: window\.arrow cannot be read"):
            assert same(CheckpointStore(tmp_path).load(), make_content(1))
        assert store.list() == [1, 2]


def test_a_reader_takes_the_new_one_if_the_old_one_is_pruned_under_it(
    tmp_path: Path, make_content: Make, same: Same, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    writer = CheckpointStore(tmp_path, keep=1).lock()
    writer.save(make_content(1))
    reader = CheckpointStore(tmp_path)
    read = store_module.read_checkpoint

    def read_late(path: Path, *, allow_pickle: bool, max_bytes: int) -> Content:
        if path.name.endswith("1"):
            writer.save(make_content(2))
        return read(path, allow_pickle=allow_pickle, max_bytes=max_bytes)

    monkeypatch.setattr(store_module, "read_checkpoint", read_late)
    assert same(reader.load(), make_content(2))
    assert not [warning for warning in recwarn if warning.category is CheckpointWarning]
    writer.close()


def test_pickles_are_written_and_read_only_with_permission(tmp_path: Path) -> None:
    with CheckpointStore(tmp_path) as store:
        store.save(Content(blobs={"model": b"not even a pickle"}), allow_pickle=True)
        with pytest.raises(CheckpointError, match=r"got model\.pkl; if you wrote it yourself.*--allow-pickle"):
            store.load()
        assert store.load(allow_pickle=True).blobs == {"model": b"not even a pickle"}
        assert store.list() == [1]
