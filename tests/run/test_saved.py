"""What `verify` takes, a run goes on with; what a run would refuse, `verify` refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stream_maxloss.checkpoint import CheckpointStore, Content
from stream_maxloss.concepts import OnlineToPAC
from stream_maxloss.errors import CheckpointError
from stream_maxloss.focus import FocusedClassifier, Reservoir, SubSample
from stream_maxloss.linear import HingeOGD, Perceptron, Scaler
from stream_maxloss.run import Columns, Tail
from stream_maxloss.run.history import History
from stream_maxloss.run.saved import verify_run


def late(folder: Path, checkpoint: Path) -> Tail:
    columns = Columns("y", key="id", exclude=("y",))
    options: dict[str, Any] = {"attachments": {"history": History()}, "labels": folder / "labels.csv"}
    return Tail(folder / "rows.csv", HingeOGD(), columns, checkpoint=checkpoint, limit=50, **options)


def plain(make: Callable[[], Any]) -> Callable[[Path, Path], Tail]:
    def tail(folder: Path, checkpoint: Path) -> Tail:
        columns = Columns("y", exclude=("id",))
        return Tail(folder / "rows.csv", make(), columns, metrics=["accuracy"], checkpoint=checkpoint, limit=50)

    return tail


def focused(admission: Any) -> Callable[[Path, Path], Tail]:
    return plain(lambda: FocusedClassifier(HingeOGD(), window=10, replays=1, seed=1, admission=admission))


def no_slot_in_use(content: Content) -> None:
    counts = content.arrays["model/game.gate.counts"].copy()
    counts[4] = 0
    content.arrays["model/game.gate.counts"] = counts


CHANGES: dict[str, tuple[Callable[[Path, Path], Tail], Callable[[Content], Any]]] = {
    "no position of the labels": (late, lambda content: content.sources.pop("labels")),
    "no state of late labels": (late, lambda content: content.values.pop("late")),
    "a history without its length": (late, lambda content: content.values["history"].pop("added")),
    "a history that is none": (late, lambda content: content.values["history"].update(points=-1)),
    "a run longer than its stage": (
        plain(lambda: OnlineToPAC(HingeOGD(), 0.2, 0.1)),
        lambda content: content.values["model"].update(run=2**31, rows=2**32),
    ),
    "a pipeline without steps": (
        plain(lambda: Scaler() | Perceptron()),
        lambda content: content.values["model.description"]["params"].update(steps=""),
    ),
    "a sample that holds no row": (focused(SubSample(0.5)), no_slot_in_use),
    "a reservoir that holds no row": (focused(Reservoir()), no_slot_in_use),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_checkpoint_is_refused_by_verify_and_by_the_run(name: str, tmp_path: Path) -> None:
    make, change = CHANGES[name]
    lines = [f"{number % 7},{(number * 5) % 11},{number % 2},k{number}" for number in range(100)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,y,id", *lines]) + "\n")
    labels = [f"k{number},{number % 2}" for number in range(0, 100, 2)]
    (tmp_path / "labels.csv").write_text("\n".join(["id,y", *labels]) + "\n")
    with make(tmp_path, tmp_path / "whole") as tail:
        tail.run()
    content = CheckpointStore(tmp_path / "whole").load()
    with CheckpointStore(tmp_path / "same") as store:
        store.save(content)
    assert verify_run(CheckpointStore(tmp_path / "same").path(1)).ok
    change(content)
    with CheckpointStore(tmp_path / "changed") as store:
        store.save(content)
    assert not verify_run(CheckpointStore(tmp_path / "changed").path(1)).ok
    with pytest.raises(CheckpointError), make(tmp_path, tmp_path / "changed") as tail:
        tail.run()
