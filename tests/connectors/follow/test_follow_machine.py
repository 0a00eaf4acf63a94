"""The follower against a plain model, under every order of writes, moves, cuts, deletions and restarts."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.follow.source import FollowedSource

SETTINGS = settings(deadline=None, max_examples=40, stateful_step_count=40, report_multiple_bugs=False)
IPC_SCHEMA = pa.schema([("n", pa.float64())])


class Event:
    """A cut or a deletion: rows that it may have taken are not owed any more, but their loss must be reported."""

    def __init__(self, must_be_reported):
        self.must_be_reported = must_be_reported


class FollowMachine(RuleBasedStateMachine):
    """Rows are numbers that never repeat.

    `owed` lists every row in the order of writing, each with the event that may have taken it. A row without an event
    must be delivered, exactly once and in order. A row with one may be missing: what is written and then cut away
    between two looks cannot be had. But then the source must have said so, unless it never saw the file.
    """

    name: str

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / self.name
        self.counter = 0
        self.owed = []
        self.generation = 0
        self.torn = b""
        self.delivered = []
        self.events = []
        self.bad = BadRecords("skip")
        self.bad_least = self.bad_most = 0
        self.source = self.make_source()
        self.source.open()
        self.saved = None
        self.save()

    def make_source(self):
        return FollowedSource(self.path, on_gap="continue", rotate_wait=0.0, bad_records=self.bad)

    head = b""

    def encode(self, row):
        raise NotImplementedError

    def head_after_cut(self):
        return self.head

    def write(self, data):
        new = not self.path.exists()
        with self.path.open("ab") as file:
            file.write((self.head if new else b"") + data)

    def next_row(self):
        self.counter += 1
        self.owed.append([self.counter, self.generation, None])
        return self.encode(self.counter)

    @rule(rows=st.integers(1, 4))
    def append(self, rows):
        rest, self.torn = self.torn, b""
        self.write(rest + b"".join(self.next_row() for _ in range(rows)))

    @rule(share=st.floats(0.01, 0.99))
    def append_torn(self, share):
        if self.torn:
            self.append(1)
        data = self.next_row()
        cut = min(max(1, int(share * len(data))), len(data) - 1)
        self.torn = data[cut:]
        self.write(data[:cut])

    @precondition(lambda self: self.path.exists())
    @rule()
    def rotate(self):
        if self.torn:
            self.drop_torn_row()
            self.bad_least += 1
            self.bad_most += 1
        for number in range(self.generation + 1, 0, -1):
            older = self.folder / f"{self.name}.{number}"
            if older.exists():
                older.rename(self.folder / f"{self.name}.{number + 1}")
        self.path.rename(self.folder / f"{self.name}.1")
        self.generation += 1

    @precondition(lambda self: self.path.exists())
    @rule(look_first=st.booleans(), keep_copy=st.booleans())
    def copy_truncate(self, look_first, keep_copy):
        if look_first:
            self.drain()
        self.destroy()
        if keep_copy:
            shutil.copy(self.path, self.folder / f"{self.name}-20260101")
        os.truncate(self.path, 0)
        head = self.head_after_cut()
        if head:
            self.write(head)

    @precondition(lambda self: self.path.exists())
    @rule(look_first=st.booleans())
    def delete(self, look_first):
        if look_first:
            self.drain()
        self.destroy()
        self.path.unlink()

    @precondition(lambda self: self.path.exists())
    @rule(look_first=st.booleans(), rows=st.integers(0, 3))
    def replace(self, look_first, rows):
        if look_first:
            self.drain()
        self.destroy()
        other = self.folder / "other"
        other.write_bytes(self.head + b"".join(self.next_row() for _ in range(rows)))
        other.replace(self.path)

    @precondition(lambda self: self.path.exists())
    @rule(rows=st.integers(1, 8))
    def fill_anew_in_place(self, rows):
        self.destroy()
        self.path.write_bytes(self.head + b"".join(self.next_row() for _ in range(rows)))

    def destroy(self):
        """The rows of this generation that are not safely delivered may be lost."""
        had = [row for row, generation, _ in self.owed if generation == self.generation]
        event = Event(must_be_reported=any(row in self.delivered for row in had))
        safe = set(self.saved["delivered"])
        for entry in self.owed:
            if entry[1] == self.generation and entry[0] not in safe:
                entry[2] = event
        self.events.append(event)
        if self.torn:
            self.drop_torn_row()
            self.bad_most += 1
        self.generation += 1

    def drop_torn_row(self):
        self.torn = b""
        self.owed = [entry for entry in self.owed if entry[0] != self.counter]

    @precondition(lambda self: self.source is not None)
    @rule(max_rows=st.integers(1, 3))
    def look(self, max_rows):
        batch = self.source.next_batch(max_rows, 0.0)
        if batch is not None:
            assert batch.num_rows <= max_rows
            self.delivered += [int(n) for n in batch.records.column("n").to_pylist()]

    def drain(self):
        while self.source is not None:
            before = len(self.delivered)
            self.look(max_rows=1000)
            if len(self.delivered) == before:
                return

    @precondition(lambda self: self.source is not None)
    @rule()
    def save(self):
        position = json.loads(json.dumps(self.source.position()))
        self.saved = {
            "position": position,
            "delivered": list(self.delivered),
            "bad": self.bad.flush(),
            "events": len(self.events),
        }

    @precondition(lambda self: self.source is not None)
    @rule()
    def stop(self):
        self.save()
        self.source.close()
        self.source = None

    @precondition(lambda self: self.source is not None)
    @rule()
    def crash(self):
        self.source.close()
        self.source = None
        self.delivered = list(self.saved["delivered"])
        self.bad.restore(self.saved["bad"])
        for event in self.events[self.saved["events"] :]:
            # The saved position may lie before anything was known of the file.
            event.must_be_reported = False

    @precondition(lambda self: self.source is None)
    @rule()
    def start(self):
        self.source = self.make_source()
        self.source.open(self.saved["position"])

    @invariant()
    def nothing_comes_twice_or_out_of_order(self):
        assert len(self.delivered) == len(set(self.delivered))
        # What a cut may have taken can still be found in a copy, late.
        doubtful = {row for row, _, event in self.owed if event is not None}
        sure = [row for row in self.delivered if row not in doubtful]
        assert sure == sorted(sure)

    @precondition(lambda self: self.source is not None)
    @rule()
    def all_is_there(self):
        self.drain()
        had = set(self.delivered)
        unfinished = {self.counter} if self.torn else set()
        missing = [entry for entry in self.owed if entry[0] not in had | unfinished]
        assert [row for row, _, event in missing if event is None] == []
        silent = {event for _, _, event in missing if event.must_be_reported}
        assert len(silent) <= self.source.gaps + self.source.truncations
        # A file that was moved away is only known to be complete once another stands in its place.
        assert self.bad.count <= self.bad_most
        assert self.bad.count >= self.bad_least or not self.path.exists()
        assert self.source.lag() <= 4096

    def teardown(self):
        if self.source is None:
            self.start()
        self.all_is_there()
        self.source.close()
        shutil.rmtree(self.folder)


class JsonlMachine(FollowMachine):
    name = "live.jsonl"

    def encode(self, row):
        return b'{"n": %d}\n' % row


class CsvMachine(FollowMachine):
    name = "live.csv"
    head = b"\xef\xbb\xbfn,text\r\n"

    def encode(self, row):
        return b'%d,"a\r\n""%d"\r\n' % (row, row)

    def head_after_cut(self):
        # A writer that knows nothing of the cut writes no second header; only a source that saw the first can bear it.
        return b"" if self.saved["delivered"] else self.head


class IpcMachine(FollowMachine):
    name = "live.arrows"
    head = bytes(IPC_SCHEMA.serialize())

    def encode(self, row):
        return bytes(pa.record_batch([pa.array([float(row)])], schema=IPC_SCHEMA).serialize())


@pytest.mark.parametrize("machine", [JsonlMachine, CsvMachine, IpcMachine])
def test_follower_loses_and_repeats_nothing_in_any_order_of_events(machine):
    with warnings.catch_warnings(), contextlib.suppress(ResourceWarning):
        warnings.simplefilter("ignore", UserWarning)
        run_state_machine_as_test(machine, settings=SETTINGS)
