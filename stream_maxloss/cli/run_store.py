"""A session in a checkpoint, and a session as a checkpoint left it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stream_maxloss.checkpoint import CheckpointStore, Content, describe, put_model, take_model
from stream_maxloss.checkpoint.description import ForeignModelError
from stream_maxloss.errors import CheckpointError

if TYPE_CHECKING:
    from stream_maxloss.cli.session import Session

__all__ = ["RunSettings", "RunStore", "find_difference", "load_run"]

RunSettings = dict[str, Any]
"""What must be the same for a run to go on: model, columns, metrics. Plain values."""


class RunStore:
    """The checkpoints of one run.

    Parameters
    ----------
    directory
        Where they are.
    settings
        What this run is; a checkpoint of another one is refused.
    keep
        How many to keep.
    allow_pickle
        Whether a model that is not ours may be pickled.

    """

    def __init__(self, directory: Path, settings: RunSettings, keep: int = 3, allow_pickle: bool = False) -> None:
        self.directory = directory
        self.settings = settings
        self.allow_pickle = allow_pickle
        self.seq: int | None = None
        self.saved_rows = 0
        self._store = CheckpointStore(directory, keep)

    def open(self, fresh: bool, model: Any) -> Content | None:
        """Become the one writer; return the checkpoint to go on from, or None for a fresh start.

        Raises
        ------
        CheckpointError
            If there is another writer, the checkpoint is of another run, or none of several is whole.

        """
        self.settings["model"] = self._describe(model)
        self._store.lock()
        if fresh:
            self._store.retire()
            return None
        if not self._store.list():
            return None
        content = self._store.load(allow_pickle=self.allow_pickle)
        self._require_same(content)
        self.seq = content.origin.seq if content.origin else None
        self.saved_rows = content.counters["rows"]
        return content

    def _describe(self, model: Any) -> Any:
        try:
            return describe(model)
        except ForeignModelError as error:
            if not self.allow_pickle:
                raise ForeignModelError(
                    f"{type(model).__name__} must be pickled to be kept in a checkpoint; allow it with "
                    "--allow-pickle, and load only checkpoints that you wrote yourself"
                ) from error
            return {"pickle": type(model).__name__, "repr": repr(model)}

    def _require_same(self, content: Content) -> None:
        saved = content.values.get("run")
        if not isinstance(saved, dict):
            raise CheckpointError(
                f"{self.directory} must hold checkpoints of maxloss tail, got one without a run; choose another one"
            )
        difference = find_difference(saved, self.settings)
        if difference is not None:
            what, before, now = difference
            raise CheckpointError(
                f"{self.directory} holds a run whose {what} was {before}, and now it is {now}; go on with the old one, "
                "start over with --fresh, or choose another directory"
            )

    def restore(self, session: Session, content: Content) -> None:
        """Take up scores, counters and waiting rows; model, source and sinks were taken up before."""
        session.board.load_state_dict(content.take_state("board"))
        if session.delayed is not None:
            session.delayed.load_state_dict(content.values["delayed"])
        session.rows, session.learned = content.counters["rows"], content.counters["learned"]
        session.row_form = content.values["row_form"]
        if session.row_form["features"]:
            session.feed.learned_features = session.row_form["features"]
        if session.target is not None:
            session.target.seen_positive = bool(content.values.get("seen_positive"))

    def save(self, session: Session) -> int:
        """Write a checkpoint, then tell the broker where it stands, and return its number."""
        content = make_content(session, self.settings, self.allow_pickle)
        self.seq = self._store.save(content, allow_pickle=self.allow_pickle)
        self.saved_rows = session.rows
        commit = getattr(session.source, "commit", None)
        if commit is not None:
            commit(content.sources["source"])
        return self.seq

    def close(self) -> None:
        """Let the next writer in."""
        self._store.close()


def make_content(session: Session, settings: RunSettings, allow_pickle: bool) -> Content:
    """Return everything that a session is made of."""
    counters = {"rows": session.rows, "learned": session.learned, "bad": session.bad_records.count}
    content = Content(values={"run": settings}, counters=counters)
    # Outputs first: what the checkpoint says was written must be on the disk before it.
    if session.predictions is not None:
        position = session.predictions.flush()
        content.values["predictions"] = {"uri": session.predictions_uri, "position": dict(position)}
        if "length" in position:
            content.outputs[session.predictions_uri] = int(position["length"])
    content.values["source_name"] = session.source_name
    content.values["bad_records"] = session.bad_records.flush()
    content.sources["source"] = session.source.position()
    put_model(content, session.model, allow_pickle=allow_pickle)
    state = session.board.state_dict()
    content.put_state("board", state, may_be_infinite=state)
    if session.delayed is not None:
        content.values["delayed"] = session.delayed.state_dict()
    content.values["row_form"] = session.row_form = row_form(session)
    content.values["seen_positive"] = session.target is not None and session.target.seen_positive
    return content


def row_form(session: Session) -> dict[str, Any]:
    """Return what rows look like: all columns with their types, the features, and the type of labels."""
    schema = session.feed.schema
    if schema is None:  # no row has come in this process; what the checkpoint before said still holds
        return session.row_form
    return {
        "schema": [[field.name, str(field.type)] for field in schema],
        "features": list(session.feed.features),
        "label_type": str(session.feed.label_type(session.engine.is_classifier)),
    }


def load_run(directory: Path, allow_pickle: bool = False) -> tuple[Any, RunSettings, Content]:
    """Return the model, the settings and everything else of the newest whole checkpoint, without taking the lock.

    Raises
    ------
    CheckpointError
        If there is none.

    """
    content = CheckpointStore(directory).load(allow_pickle=allow_pickle)
    return take_model(content, allow_pickle=allow_pickle), content.values.get("run", {}), content


def parse_type(text: str) -> pa.DataType:
    """Return the Arrow type of labels that a checkpoint names."""
    names = {"bool": pa.bool_(), "double": pa.float64(), "float": pa.float32(), "string": pa.string()}
    return names[text] if text in names else getattr(pa, text, pa.string)()


def find_difference(saved: Any, now: Any, what: str = "settings") -> tuple[str, str, str] | None:
    """Return the first thing in which two settings differ: its name, what it was, and what it is.

    Examples
    --------
    >>> from stream_maxloss.cli.run_store import find_difference
    >>> saved = {"model": {"class": "HingeOGD", "params": {"lr": 0.1}}}
    >>> find_difference(saved, {"model": {"class": "HingeOGD", "params": {"lr": 0.5}}})
    ('model.lr', '0.1', '0.5')
    >>> find_difference(saved, {"model": {"class": "Perceptron", "params": {}}})
    ('model', 'HingeOGD', 'Perceptron')

    """
    if saved == now:
        return None
    if isinstance(saved, Mapping) and isinstance(now, Mapping) and saved.get("class") == now.get("class"):
        for name in dict.fromkeys([*saved, *now]):
            inner = name if what == "settings" else what if name in ("params", "steps") else f"{what}.{name}"
            found = find_difference(saved.get(name), now.get(name), inner)
            if found is not None:
                return found
    if isinstance(saved, list) and isinstance(now, list) and len(saved) == len(now):
        for before, after in zip(saved, now, strict=True):
            found = find_difference(before, after, what)
            if found is not None:
                return found
    return what, short(saved), short(now)


def short(value: Any) -> str:
    """Return a setting as an error message shows it."""
    if isinstance(value, Mapping) and "class" in value:
        steps = value.get("params", {}).get("steps")
        return " | ".join(short(part) for _, part in steps) if steps else str(value["class"])
    if isinstance(value, Mapping) and "pickle" in value:
        return str(value["pickle"])
    text = str(value) if not isinstance(value, list) else ",".join(map(str, value)) or "none"
    return text if len(text) <= 60 else text[:57] + "..."
