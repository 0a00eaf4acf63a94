"""A writer killed, or a machine without power, at every step of a save."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import stream_maxloss
from stream_maxloss.checkpoint import CheckpointStore, CheckpointWarning, Content, files

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(stream_maxloss.__file__).parents[1])}


@pytest.fixture
def old(tmp_path: Path, make_content: Callable[[int], Content]) -> Path:
    """A directory with two checkpoints, of which a third save removes one, and the litter of a killed writer."""
    directory = tmp_path / "old"
    with CheckpointStore(directory, keep=2) as store:
        store.save(make_content(1))
        store.save(make_content(2))
    (directory / ".tmp-1-3").mkdir()
    (directory / ".tmp-1-3" / "arrays.safetensors").write_bytes(b"half")
    return directory


@pytest.fixture
def points(
    old: Path, tmp_path: Path, make_content: Callable[[int], Content], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Every crash point that a save passes, in order, as NAME:COUNT."""
    passed: list[str] = []
    counts: Counter[str] = Counter()

    def note(name: str) -> None:
        counts[name] += 1
        passed.append(f"{name}:{counts[name]}")

    shutil.copytree(old, tmp_path / "rehearsal")
    with monkeypatch.context() as patch, CheckpointStore(tmp_path / "rehearsal", keep=2) as store:
        patch.setattr(files, "crash_point", note)
        store.save(make_content(3))
    return ["before-remove:1", "after-remove:1", *passed]


def test_every_write_sync_and_rename_is_between_two_crash_points(points: list[str]) -> None:
    expected = ["before-remove:1", "after-remove:1", "before-mkdir:1", "after-mkdir:1"]
    for name in ("arrays.safetensors", "window.arrow", "extra.json", "manifest.json"):
        steps = ("before-create", "before-write", "after-write", "after-fsync")
        expected += [f"{step}-{name}:1" for step in steps]
    expected += ["before-fsync-directory:1", "after-fsync-directory:1", "after-rename:1", "after-fsync-parent:1"]
    expected += ["before-discard:1", "after-discard:1", "before-remove:1", "after-remove:1"]
    assert points == expected


@pytest.mark.parametrize("fault", ["kill", "power"])
def test_a_crash_at_any_step_recovers_to_the_old_or_the_new(
    fault: str,
    old: Path,
    points: list[str],
    tmp_path: Path,
    make_content: Callable[[int], Content],
    same: Callable[[Content, Content], bool],
    recwarn: pytest.WarningsRecorder,
) -> None:
    # The sweep of the litter passes the remove points first, so those of the pruned checkpoint are the second.
    points = [*points[:-2], "before-remove:2", "after-remove:2"]
    directories = [tmp_path / f"{place:02d}" for place in range(len(points))]
    for directory in directories:
        shutil.copytree(old, directory)
    script = Path(__file__).with_name("crashing_writer.py")
    jobs = "".join(f"{directory} {point}\n" for directory, point in zip(directories, points, strict=True))
    result = subprocess.run(
        [sys.executable, script, fault], input=jobs, capture_output=True, text=True, env=ENVIRONMENT, timeout=100
    )
    assert result.stdout.split() == ["70"] * len(points), result.stderr

    renamed = points.index("after-rename:1")
    for place, (directory, point) in enumerate(zip(directories, points, strict=True)):
        # Without power a rename counts from the sync of the parent on.
        number = 3 if place >= renamed + (fault == "power") else 2
        with CheckpointStore(directory, keep=2) as store:
            assert same(store.load(), make_content(number)), point
            assert store.save(make_content(4)) > number, point
            assert same(store.load(), make_content(4)), point
            assert all(store.verify(seq).ok for seq in store.list()), point
        assert not list(directory.glob(".tmp-*")), point
        assert not list(directory.glob("corrupt-*")), point
    assert not [warning for warning in recwarn if warning.category is CheckpointWarning]


@pytest.mark.parametrize("point", ["before-set-aside", "after-set-aside", "after-fsync-set-aside"])
def test_a_crash_while_a_damaged_one_is_set_aside_recovers(
    point: str, old: Path, make_content: Callable[[int], Content], same: Callable[[Content, Content], bool]
) -> None:
    (old / "ckpt-000000000002" / "extra.json").unlink()
    code = f"from stream_maxloss.checkpoint import CheckpointStore; CheckpointStore({str(old)!r}).lock().load()"
    environment = {**ENVIRONMENT, "STREAM_MAXLOSS_CRASH_AT": point}
    assert subprocess.run([sys.executable, "-c", code], env=environment, timeout=60).returncode == 70
    store = CheckpointStore(old).lock()
    if point == "before-set-aside":
        with pytest.warns(CheckpointWarning, match=r"set aside as corrupt-000000000002.*extra\.json cannot be read"):
            content = store.load()
    else:
        content = store.load()
    assert same(content, make_content(1))
    assert store.save(make_content(3)) == 3
    store.close()


SAVE_FOR_EVER = """
import sys
import numpy as np
from stream_maxloss.checkpoint import CheckpointStore, Content
with CheckpointStore(sys.argv[1], keep=1) as store:
    number = store.load().counters["seen"] if store.list() else 0
    while True:
        number += 1
        store.save(Content(arrays={"w": np.full(1000, float(number))}, counters={"seen": number}))
        print(number, flush=True)
"""


def test_no_save_that_was_acknowledged_is_lost_to_sigkill_while_readers_look_on(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    acknowledged = 0
    for _ in range(8):
        writer = subprocess.Popen(
            [sys.executable, "-c", SAVE_FOR_EVER, tmp_path], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
        )
        try:
            assert writer.stdout is not None
            assert int(writer.stdout.readline()) == acknowledged + 1
            deadline = time.monotonic() + random.uniform(0.0, 0.15)
            while time.monotonic() < deadline:
                content = CheckpointStore(tmp_path).load()
                assert content.arrays["w"].tolist() == [float(content.counters["seen"])] * 1000
        finally:
            writer.kill()
            rest = writer.communicate(timeout=30)[0].split()
        last = CheckpointStore(tmp_path).load().counters["seen"]
        # The one in the works when the kill came may have been finished; nothing before it may be missing.
        printed = int(rest[-1]) if rest else acknowledged + 1
        assert last in (printed, printed + 1)
        acknowledged = last
    assert acknowledged > 8


def test_without_the_variable_nothing_crashes_and_a_count_is_counted_down(monkeypatch: pytest.MonkeyPatch) -> None:
    exits: list[int] = []
    monkeypatch.setattr(files.os, "_exit", exits.append)
    files.crash_point("here")
    files.arm_crash_point("here:2")
    files.crash_point("there")
    files.crash_point("here")
    assert exits == []
    files.crash_point("here")
    assert exits == [70]
    files.arm_crash_point(None)
    files.crash_point("here")
    assert exits == [70]
