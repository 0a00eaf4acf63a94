from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stream_maxloss.checkpoint import CheckpointStore, Content
from stream_maxloss.checkpoint.damage import RefusedError
from stream_maxloss.checkpoint.migrations import MIGRATIONS, Migrations


@pytest.fixture
def old_store(tmp_path: Path, make_content: Callable[[int], Content], forge: Callable[..., None]) -> CheckpointStore:
    """A checkpoint of version 0, which called the counter of rows something else."""

    def make_old(fields: dict[str, object]) -> None:
        fields["format_version"] = 0
        fields["counters"] = {"rows": 5}

    with CheckpointStore(tmp_path) as store:
        store.save(make_content(1))
        forge(store.path(1), change=make_old)
    return store


@pytest.fixture
def from_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MIGRATIONS, "_steps", {})

    @MIGRATIONS.register(0)
    def rename_rows(content: Content) -> Content:
        content.counters["seen"] = content.counters.pop("rows")
        return content


@pytest.mark.usefixtures("from_zero")
def test_an_old_checkpoint_is_brought_up_when_loaded_and_saved_anew(old_store: CheckpointStore) -> None:
    with old_store as store:
        content = store.load()
        assert content.counters == {"seen": 5}
        assert content.origin is not None
        assert content.origin.format_version == 0
        assert store.verify(1).ok
        assert store.save(content) == 2
        again = store.load()
        assert again.counters == {"seen": 5}
        assert again.origin is not None
        assert again.origin.format_version == 1


def test_an_old_checkpoint_without_a_migration_is_refused_and_stays(old_store: CheckpointStore) -> None:
    with old_store as store:
        with pytest.raises(
            RefusedError, match="got 0: no migration from 0 to 1; resume with the release that wrote it"
        ):
            store.load()
        assert store.list() == [1]


def test_steps_are_taken_in_order_and_none_is_left_out() -> None:
    migrations = Migrations(current=3)
    for version in (0, 2):
        migrations.register(version)(lambda content, version=version: note(content, version))
    with pytest.raises(RefusedError, match="got 0: no migration from 1 to 2"):
        migrations.migrate(Content(), 0)
    migrations.register(1)(lambda content: note(content, 1))
    assert migrations.migrate(Content(values={"steps": []}), 0).values == {"steps": [0, 1, 2]}
    assert migrations.migrate(Content(values={"steps": []}), 2).values == {"steps": [2]}
    assert migrations.migrate(Content(values={"steps": []}), 3).values == {"steps": []}


def note(content: Content, version: int) -> Content:
    content.values["steps"].append(version)
    return content


@pytest.mark.parametrize("version", [-1, 2, 3])
def test_a_step_must_lead_up_to_the_current_version(version: int) -> None:
    with pytest.raises(ValueError, match=f"from 0 to below 2, got {version}"):
        Migrations(current=2).register(version)


def test_a_second_step_from_the_same_version_is_refused() -> None:
    migrations = Migrations(current=2)
    migrations.register(1)(lambda content: content)
    with pytest.raises(ValueError, match="got a second one for 1"):
        migrations.register(1)
