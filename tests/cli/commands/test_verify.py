"""`verify`, `inspect`, `hard`, `predict` and a resumed `tail` agree on what a checkpoint is worth."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_maxloss.checkpoint import CheckpointStore, Content

MODEL = ("--model", "HingeOGD", "--window", 50, "--replays", 2, "--seed", 1)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("trained")


@pytest.fixture
def trained(place, maxloss):
    """A file, and a directory with the checkpoint of a run over half of it; made once."""
    if not (place / "run").exists():
        pairs = np.random.default_rng(3).normal(size=(200, 2)).tolist()
        rows = [f"{a:.3f},{b:.3f},k{i % 3},{str(a > b).lower()}" for i, (a, b) in enumerate(pairs)]
        (place / "rows.csv").write_text("\n".join(["a,b,kind,y", *rows]) + "\n")
        done = maxloss(*tail_words(place, place / "run"), "--limit", 100)
        assert done.code == 0, done.err
    return place


def tail_words(folder: Path, run: Path) -> tuple[Any, ...]:
    places = ("--checkpoint", run, "--checkpoint-every", 1000, "--keep", 1, "--predictions", folder / "out.jsonl")
    return ("tail", folder / "rows.csv", "--target", "y", "--slice-by", "kind", *MODEL, *places)


def array(name: str, place: int, value: float) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        content.arrays[name] = content.arrays[name].copy()
        content.arrays[name].reshape(-1)[place] = value

    return change


def value(*path: str, to: Any) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        where = getattr(content, path[0])
        for name in path[1:-1]:
            where = where[name]
        where[path[-1]] = to

    return change


def position(name: str, to: Any) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        next(iter(content.sources["source"].values()))[name] = to

    return change


def widen_window(content: Content) -> None:
    content.values["model.description"]["params"]["steps"][1][1]["params"]["window"] = 2_000_000_000


def forget_file(content: Content) -> None:
    del next(iter(content.sources["source"].values()))["file"]


CHANGES: dict[str, Callable[[Content], None]] = {
    "a length beyond the window": array("model/1.rows.window.lengths", 3, 2**31 - 1),
    "a player that has lost count": array("model/1.game.player.game", 5, 1e300),
    "a negative spread": array("model/0.statistics", 35, -1.0),
    "a window of other size": value("values", "model.description", "params", "steps", to=[]),
    "no such class": value("values", "model.description", "class", to="os.system"),
    "scores of another metric": value("values", "board", "total.0.type", to="Recall"),
    "waiting rows that are not there": value("values", "board", "waiting_rows", to=7),
    "settings that are no settings": value("values", "run", to=[]),
    "features that are no names": value("values", "row_form", "features", to=[None]),
    "text values that are none": value("values", "texts", to={"limit": -1}),
    "a window larger than memory": widen_window,
    "too many rows": value("counters", "rows", to=1 << 62),
    "a number of rows too long to print": value("counters", "rows", to=10**400),
    "fewer scores than none": value("values", "board", "rows", to=-5),
    "a position without its file": forget_file,
    "no position": lambda content: content.sources.clear(),
    "a byte before the file": position("byte", -1),
    "a schema that is none": position("schema", "nonsense"),
    "bad records that are no counts": value("values", "bad_records", to={"count": "many"}),
    "a sink before its beginning": value("values", "predictions", "position", "length", to=-5),
    "an output that nobody named": value("outputs", "/etc/passwd", to=3),
}


def reseal(source: Path, goal: Path, change: Callable[[Content], None]) -> None:
    content = CheckpointStore(source).load()
    change(content)
    with CheckpointStore(goal) as store:
        store.save(content)


def codes(maxloss: Any, folder: Path, run: Path) -> dict[str, int]:
    found = {name: maxloss(name, run) for name in ("verify", "inspect", "hard")}
    found["predict"] = maxloss("predict", folder / "rows.csv", "--checkpoint", run, "--predictions", folder / "p.jsonl")
    found["tail"] = maxloss(*tail_words(folder, run))
    for name, done in found.items():
        assert "Traceback" not in done.err, (name, done.err)
    return {name: done.code for name, done in found.items()}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_checkpoint_that_was_sealed_again_is_refused_by_all(name, maxloss, trained, tmp_path):
    reseal(trained / "run", tmp_path / "run", CHANGES[name])
    assert set(codes(maxloss, trained, tmp_path / "run").values()) == {4}


def rename(run: Path) -> None:
    newest(run).rename(run / "ckpt-000000000077")


def damage(run: Path) -> None:
    path = newest(run) / "arrays.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x55")


def swap_manifest(run: Path) -> None:
    other = run.with_name("other")
    reseal(run, other, value("counters", "learned", to=1))
    shutil.copy(newest(other) / "manifest.json", newest(run))
    path = newest(run) / "extra.json"
    path.write_bytes(path.read_bytes().replace(b'"y"', b'"z"', 1))


def newest(run: Path) -> Path:
    return max(run.glob("ckpt-*"))


@pytest.mark.parametrize("harm", [rename, damage, swap_manifest])
def test_files_that_are_not_as_written_are_refused_by_all(harm, maxloss, trained, tmp_path):
    shutil.copytree(trained / "run", tmp_path / "run")
    harm(tmp_path / "run")
    assert set(codes(maxloss, trained, tmp_path / "run").values()) == {4}


def test_a_whole_checkpoint_is_taken_by_all(maxloss, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "all")
    found = CheckpointStore(tmp_path / "all" / "run")
    assert set(codes(maxloss, trained, found.directory).values()) == {0}
