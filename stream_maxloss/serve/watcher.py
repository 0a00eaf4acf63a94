"""What the page of a run shows that is not a service: one that runs here, or the checkpoints of another."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_maxloss.checkpoint import CheckpointStore
from stream_maxloss.errors import CheckpointError
from stream_maxloss.evaluate import Progress
from stream_maxloss.run import Columns, Scoreboard, load_run, make_metrics
from stream_maxloss.run.history import History
from stream_maxloss.run.origins import origin_of
from stream_maxloss.run.progress import short_position, worst_slice
from stream_maxloss.run.store import session_state
from stream_maxloss.run.target import label_kind
from stream_maxloss.serve.bulletin import Bulletin
from stream_maxloss.serve.snapshot import find_in, snapshot_of

if TYPE_CHECKING:
    from stream_maxloss.run import Tail

__all__ = ["DirectoryWatcher", "Watcher"]

PAUSE = 1.0


class Watcher:
    """Shows a run from inside, every second; its history goes along in the checkpoints.

    Parameters
    ----------
    tail
        The run, not yet opened.

    """

    def __init__(self, tail: Tail) -> None:
        self.tail = tail
        self.bulletin = Bulletin()
        self.history = History()
        self._last = float("-inf")
        tail.watchers.append(self.look)
        if tail.store is not None:
            tail.store.attachments["history"] = self.history

    def look(self) -> None:
        """Show how the run stands, if it is time."""
        now = time.monotonic()
        if now - self._last < PAUSE:
            return
        self._last = now
        tail = self.tail
        progress = tail.measure()
        report = tail.session.board.slices()
        self.history.add(progress, report)
        extra = {"service": Path(tail.names.get("source", "")).name or "run"}
        source = tail.names.get("source", "")
        shown = (tail.model, tail.columns, source, progress, report, self.history, extra)
        self.bulletin.publish(snapshot_of(*shown, find_in(tail.session)))


class DirectoryWatcher:
    """Shows a run from its checkpoints, one that is running in another process or has ended.

    Where the run kept no history itself, every checkpoint that appears meanwhile is a point.

    Parameters
    ----------
    directory
        Where the checkpoints are.
    allow_pickle
        Whether a pickled model may be loaded.

    """

    def __init__(self, directory: Path, allow_pickle: bool = False) -> None:
        self.directory = directory
        self.allow_pickle = allow_pickle
        self.bulletin = Bulletin()
        self.history = History()
        self._number: int | None = None

    def look(self) -> bool:
        """Show the newest checkpoint if it is a new one; return whether it was.

        Raises
        ------
        CheckpointError
            If there is none, or none that is whole.

        """
        numbers = CheckpointStore(self.directory).list()
        if numbers and numbers[-1] == self._number:
            return False
        model, settings, content = load_run(self.directory, self.allow_pickle)
        origin = content.origin
        number = None if origin is None else origin.seq
        if number == self._number:
            return False
        self._number = number
        columns = Columns(settings.get("target"), settings.get("weight"), settings.get("slice-by"))
        progress, report = read_board(model, settings, content, number)
        kept = content.values.get("history")
        try:
            if kept is not None:
                self.history.load_state_dict(kept)
            else:
                self.history.add(progress, report)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{self.directory}: its history cannot be shown: {error}; use another one") from error
        extra = {"service": self.directory.absolute().name, "ended": None if origin is None else origin.created_at}
        source = str(content.values.get("source_name", ""))
        table = content.tables.get("origins")
        find = (lambda number: None) if table is None else (lambda number: origin_of(table, number))
        self.bulletin.publish(snapshot_of(model, columns, source, progress, report, self.history, extra, find))
        return True

    def follow(self, stopped: Any) -> None:
        """Look again and again until `stopped()`."""
        while not stopped():
            # A checkpoint that is being written, or pruned just now, is one to look at later.
            with contextlib.suppress(CheckpointError, OSError):
                self.look()
            time.sleep(0.3)


def read_board(model: Any, settings: dict[str, Any], content: Any, number: int | None) -> tuple[Progress, Any]:
    """Return how the run of a checkpoint stood, and its report by slice."""
    kind = settings.get("task") or label_kind(model)
    metrics = make_metrics(settings.get("metric"), model)
    board = Scoreboard(metrics, kind != "number", settings.get("slice-by"))
    try:
        state = session_state(content)
        board.load_state_dict(state["board"])
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise CheckpointError(f"the checkpoint must hold the scores of a run, got {error}; use another one") from error
    scores, report = board.summary()
    progress = Progress(
        rows=state["rows"],
        values={name: score.total for name, score in scores.items()},
        seconds=0.0,
        learned=state["learned"],
        bad=int(content.counters.get("bad", 0)),
        scores=scores,
        worst=worst_slice(report),
        positions=short_position(content.sources.get("source", {})),
        checkpoint=number,
    )
    return progress, report
