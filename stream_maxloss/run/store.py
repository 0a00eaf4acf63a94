"""The checkpoints of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from stream_maxloss.checkpoint import CheckpointStore, Content, describe, put_model
from stream_maxloss.checkpoint.description import ForeignModelError
from stream_maxloss.described import UNFIT
from stream_maxloss.errors import CheckpointError
from stream_maxloss.run.saved import check_classes, check_outside, open_saved

if TYPE_CHECKING:
    from stream_maxloss.intake import Intake
    from stream_maxloss.run.session import Session

__all__ = [
    "Attachment",
    "RunSettings",
    "RunStore",
    "find_difference",
    "load_run",
    "parse_type",
    "saved_intake",
    "session_state",
    "take_over",
]


class Attachment(Protocol):
    """Something beside model and scores that goes along in the checkpoints of a run, as JSON."""

    def state_dict(self) -> dict[str, Any]:
        """Return its state as plain values."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; a checkpoint may say anything, and what is wrong is a ValueError."""


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
    named_metrics
        Whether the settings name the metrics in full, so that they can be made again from them.

    """

    def __init__(
        self,
        directory: Path,
        settings: RunSettings,
        keep: int = 3,
        allow_pickle: bool = False,
        named_metrics: bool = True,
    ) -> None:
        self.directory = directory
        self.settings = settings
        self.named_metrics = named_metrics
        self.allow_pickle = allow_pickle
        self.seq: int | None = None
        self._is_begun = True  # by this run, not by one that it goes on with
        self.saved_rows = 0
        self.command: dict[str, Any] | None = None
        self.alerts: dict[str, Any] | None = None
        self.attachments: dict[str, Attachment] = {}
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
        self._is_begun = False
        self._require_same(content)
        check_outside(content)
        if self.command is None:  # as in Python; the command line is to find it again
            self.command = content.values.get("command")
        self.seq = content.origin.seq if content.origin else None
        self.saved_rows = _count(content.counters, "rows")
        return content

    def _describe(self, model: Any) -> Any:
        try:
            return describe(model)
        except ForeignModelError as error:
            if not self.allow_pickle:
                raise ForeignModelError(
                    f"{type(model).__name__} must be pickled to be kept in a checkpoint; allow it with "
                    "--allow-pickle (allow_pickle=True), and load only checkpoints that you wrote yourself"
                ) from error
            return {"pickle": type(model).__name__, "repr": repr(model)}

    def _require_same(self, content: Content) -> None:
        saved = content.values.get("run")
        if not isinstance(saved, dict):
            raise CheckpointError(
                f"{self.directory} must hold checkpoints of a run, got one without; choose another directory"
            )
        if content.values.get("named_metrics", self.named_metrics) != self.named_metrics:
            was, now = ("objects", "names") if self.named_metrics else ("names", "objects")
            raise CheckpointError(
                f"{self.directory} holds a run whose metrics were given as {was}, and now as {now}; give them as before"
            )
        difference = find_difference(saved, self.settings)
        if difference is not None:
            what, before, now = difference
            raise CheckpointError(
                f"{self.directory} holds a run whose {what} was {before}, and now it is {now}; leave out "
                f"{option_of(what)} to go on, start over with --fresh (fresh=True), or choose another directory"
            )

    def save(self, session: Session, names: Mapping[str, str]) -> int:
        """Write a checkpoint, then tell the broker where it stands, and return its number.

        Parameters
        ----------
        session
            What to save.
        names
            What the user calls its `source` and its `predictions`.

        """
        content = self.collect(session, names)
        self.write(content)
        return self.tell(session, content)

    def collect(self, session: Session, names: Mapping[str, str]) -> Content:
        """Return what a checkpoint of now would hold; arrays may be those of the model itself."""
        try:
            content = make_content(session, self.settings, names, self.allow_pickle)
        except ValueError as error:
            raise CheckpointError(f"a checkpoint of the model must be made, got: {error}") from error
        content.values["named_metrics"] = self.named_metrics
        if self.command is not None:
            content.values["command"] = self.command
        if self.alerts is not None:
            content.values["alerts"] = self.alerts
        for name, attachment in self.attachments.items():
            content.values[name] = attachment.state_dict()
        return content

    def write(self, content: Content) -> None:
        """Write what was collected; another thread may go on with the run if the content has arrays of its own."""
        self.seq = self._store.save(content, allow_pickle=self.allow_pickle)

    def tell(self, session: Session, content: Content) -> int:
        """Notify source and sink that a checkpoint was written, and return its number."""
        self.saved_rows = content.counters["rows"]
        session.source.commit(content.sources["source"])
        if session.late is not None:
            session.late.source.commit(content.sources["labels"])
        if session.predictions is not None:
            # Not before: what was kept back must be in a checkpoint, so that it can be sent again if this fails.
            session.predictions.commit(content.values["predictions"]["position"])
        return self.seq or 0

    def withdraw(self) -> None:
        """Remove the checkpoints of this run, if none was there before: it ends before its first row."""
        for seq in self._store.list() if self._is_begun else ():
            self._store.remove(seq)
            self.seq = None

    def working_folder(self, name: str) -> Path:
        """Return a folder for files that checkpoints are to link: swept away when a run ends or the next one begins."""
        return self._store.working_folder(name)

    def sources(self) -> list[Any]:
        """Return the source's position in each kept checkpoint whose manifest is whole, oldest first."""
        return [found["source"] for found in self._store.sources() if "source" in found]

    def close(self) -> None:
        """Let the next writer in."""
        self._store.close()


def make_content(session: Session, settings: RunSettings, names: Mapping[str, str], allow_pickle: bool) -> Content:
    """Return everything that a session is made of."""
    content = Content(values={"run": settings})
    # Outputs first: what the checkpoint says was written must be on the disk before it.
    if session.predictions is not None:
        position, uri = session.predictions.flush(), names["predictions"]
        content.values["predictions"] = {"uri": uri, "position": dict(position), "places": session.carries_places}
        if "length" in position:
            content.outputs[uri] = int(position["length"])
    content.values["source_name"] = names["source"]
    content.values["bad_records"] = session.bad_records.flush()
    content.sources["source"] = session.source.position()
    put_model(content, session.model, allow_pickle=allow_pickle)
    state = session.state_dict()
    board = state.pop("board")
    if session.late is not None:
        content.sources["labels"] = session.late.source.position()
        waiting = state["late"].pop("rows")
        if waiting is not None:
            content.tables["late"] = waiting
    content.put_state("board", board, may_be_infinite=board)
    origins = None if session.origins is None else session.origins.table()
    if origins is not None:
        content.tables["origins"] = origins
    content.counters.update(rows=state.pop("rows"), learned=state.pop("learned"), bad=session.bad_records.count)
    content.values.update(state)
    return content


def session_state(content: Content) -> dict[str, Any]:
    """Return what `Session.load_state_dict` takes, from a checkpoint."""
    state: dict[str, Any] = {name: _count(content.counters, name) for name in ("rows", "learned")}
    names = ("delayed", "row_form", "seen_positive", "label_mark", "texts", "intake", "unlabelled")
    state |= {name: content.values.get(name) for name in names}
    late = content.values.get("late")
    if isinstance(late, dict):
        state["late"] = {**late, "rows": content.tables.get("late")}
    board = content.take_state("board")
    for name in ("rows", "waiting_rows", "reported_rows"):
        _count(board, name)
    return state | {"board": board, "origins": content.tables.get("origins")}


def take_over(session: Session, content: Content, attachments: Mapping[str, Attachment] | None = None) -> None:
    """Let a session, and what goes along with it, go on with what a checkpoint has of one.

    Raises
    ------
    CheckpointError
        If that is not the state of a session like this.

    """
    check_classes(session.model, content.values["row_form"]["label_type"])
    try:
        for name, attachment in (attachments or {}).items():
            if name in content.values:  # runs of before had none
                attachment.load_state_dict(content.values[name])
        session.load_state_dict(session_state(content))
    except UNFIT as error:
        # Whatever it is: the checkpoint is whole, and not one that we wrote.
        raise CheckpointError(
            f"the checkpoint must hold the state of a run, got {type(error).__name__}: {error}; use another one"
        ) from error


def _count(values: Mapping[str, Any], name: str) -> int:
    """Return a number of rows; a checkpoint may say anything."""
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 62:
        shown = "a huge number" if isinstance(value, int) and abs(value) >= 1 << 62 else repr(value)
        raise CheckpointError(f"{name!r} of a checkpoint must be a number of rows, got {shown}; use another checkpoint")
    return value


def load_run(directory: Path, allow_pickle: bool = False) -> tuple[Any, RunSettings, Content]:
    """Return the model, the settings and everything else of the newest whole checkpoint, without taking the lock.

    Raises
    ------
    CheckpointError
        If there is none.

    """
    content = CheckpointStore(directory).load(allow_pickle=allow_pickle)
    return open_saved(content, allow_pickle), content.values.get("run", {}), content


def saved_intake(saved: Any) -> Intake:
    """Return what turns columns into features, as a checkpoint has it.

    Raises
    ------
    CheckpointError
        If it has something else.

    """
    from stream_maxloss.intake.intake import Intake

    if saved is None:  # of a run before there was one: texts were categories, and there were no dates
        return Intake(dates=(), text=())
    intake = Intake()
    try:
        intake.load_state_dict(saved)
    except UNFIT as error:
        raise CheckpointError(
            f"'intake' of a checkpoint must say what columns are: {error}; use another one"
        ) from error
    return intake


def parse_type(text: str) -> pa.DataType:
    """Return the Arrow type of labels that a checkpoint names."""
    kinds = [
        pa.bool_(),
        pa.float64(),
        pa.float32(),
        *(pa.type_for_alias(f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)),
    ]
    return {str(kind): kind for kind in kinds}.get(text, pa.string())


def find_difference(saved: Any, now: Any, what: str = "settings") -> tuple[str, str, str] | None:
    """Return the first thing in which two settings differ: its name, what it was, and what it is.

    Examples
    --------
    >>> from stream_maxloss.run.store import find_difference
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


def option_of(what: str) -> str:
    """Return the option by which something in which settings differ is given."""
    if what in ("model", "model.classifier", "model.regressor"):
        return "--model"
    return "--set" if what.startswith("model.") else f"--{what}"


def short(value: Any) -> str:
    """Return a setting as an error message shows it."""
    if isinstance(value, Mapping) and "class" in value:
        steps = value.get("params", {}).get("steps")
        return " | ".join(short(part) for _, part in steps) if steps else str(value["class"])
    if isinstance(value, Mapping) and "pickle" in value:
        return str(value["pickle"])
    text = str(value) if not isinstance(value, list) else ",".join(map(str, value)) or "none"
    return text if len(text) <= 60 else text[:57] + "..."
