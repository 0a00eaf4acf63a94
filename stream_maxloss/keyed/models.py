"""Many models by key: those in use as objects or as numbers in slots, the others as records on a shelf."""

from __future__ import annotations

import pickle
import struct
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from stream_maxloss.checkpoint.content import ARRAY_DTYPES, State, join_state, split_state
from stream_maxloss.checkpoint.description import register_own
from stream_maxloss.checkpoint.registry import load_state_of, state_of
from stream_maxloss.checkpoint.values import decode, encode
from stream_maxloss.errors import CheckpointError
from stream_maxloss.keyed.shelf import Place, Shelf
from stream_maxloss.linear.slots import Slots, open_slots

__all__ = ["Live", "Models"]

PLAIN, COMPRESSED = 0, 1
_HEAD = struct.Struct("<IBQ")
_LENGTH = struct.Struct("<I")
# Bytes from which on compressing is worth its time.
LARGE = 16 << 10
# More than any model has: a damaged length must not fill the memory.
MOST_BYTES = 4 << 30

# Bytes that the objects around a model take, beside its arrays: measured for a scaler and a linear learner.
OVERHEAD = 6 << 10
# The same for a model in a slot, which has no objects of its own.
SLOT_OVERHEAD = 512


@dataclass(slots=True)
class Live:
    """A model in memory.

    Parameters
    ----------
    model
        The model; None while it lies in a slot.
    is_dirty
        Whether it has learned since it was last written.
    nbytes
        What it was counted as.
    slot
        The address of its numbers; 0 while it is an object.

    """

    model: Any
    is_dirty: bool
    nbytes: int
    slot: int = 0


class Models:
    """Models by key, of which those used last stay in memory up to a bound, and the others lie on a shelf.

    Parameters
    ----------
    make
        Returns a model as a new key begins with.
    most_bytes
        The bound. One model may be in memory whatever its size.
    worker
        See `Shelf`.

    """

    def __init__(self, make: Callable[[], Any], most_bytes: int, worker: int = 0) -> None:
        self.make = make
        self.most_bytes = most_bytes
        self.shelf = Shelf(worker=worker)
        self.places: dict[str, Place | None] = {}  # None: never written so far
        self.live: OrderedDict[str, Live] = OrderedDict()
        self.live_bytes = 0
        self._slots: Slots | None = None

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, key: object) -> bool:
        return key in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def find(self, key: str) -> Live | None:
        """Return the model of a key as an object, brought back if need be; None for a key that never came."""
        live = self.live.get(key)
        if live is not None:
            self.live.move_to_end(key)
            if live.slot:
                self._leave_slot(live)
            return live
        if key not in self.places:
            return None
        return self._enter(key, self._load(key), is_dirty=False)

    def add(self, key: str) -> Live:
        """Return the model of a key, a new one if it never came."""
        live = self.find(key)
        if live is None:
            self.places[key] = None
            live = self._enter(key, self.make(), is_dirty=True)
        return live

    def slots_for(self, names: list[Hashable]) -> Slots | None:
        """Return the slots for models of these columns; None if models cannot lie there, or have other columns."""
        if self._slots is None or (self._slots.names != names and not any(live.slot for live in self.live.values())):
            self._slots = open_slots(self.make, names)
        return self._slots if self._slots is not None and self._slots.names == names else None

    def add_slot(self, key: str, slots: Slots) -> Live:
        """Return the model of a key, a new one if it never came, in a slot unless it has other columns."""
        live = self.live.get(key)
        if live is not None and live.slot:
            self.live.move_to_end(key)
        elif live is None and key not in self.places:
            self.places[key] = None
            live = self.live[key] = Live(None, True, slots.nbytes + SLOT_OVERHEAD, slots.new())
            self.live_bytes += live.nbytes
        else:
            live = self.add(key)
            if slots.fits(live.model):
                live.slot, live.model = slots.take(live.model), None
                self._count(live, slots.nbytes + SLOT_OVERHEAD)
        return live

    def remove(self, key: str) -> None:
        """Forget a key."""
        self.drop(key)
        place = self.places.pop(key)
        if place is not None:
            self.shelf.drop(place)

    def drop(self, key: str) -> None:
        """Forget the object of a key, with what it has learned since it was last written."""
        live = self.live.pop(key, None)
        if live is not None:
            self.live_bytes -= live.nbytes
            if live.slot and self._slots is not None:
                self._slots.free(live.slot)

    def restore(self, key: str, live: Live) -> None:
        """Put an object back that may have been dropped meanwhile."""
        if self.live.get(key) is not live:
            self.drop(key)
            self.live[key] = live
            self.live_bytes += live.nbytes

    def learned(self, live: Live) -> None:
        """Note that a model has learned, and may have grown."""
        live.is_dirty = True
        if not live.slot:
            self._count(live, size_of(live.model))

    def rewind(self, key: str, place: Place) -> None:
        """Go back to a model as it was written at a place that is still kept."""
        self.drop(key)
        now = self.places[key]
        if now is not None and now != place:
            self.shelf.drop(now)
            self.shelf.keep(place)
            self.places[key] = place

    def write(self, key: str, live: Live) -> Place:
        """Write a model to the shelf, if it has learned since it was last written; return where it lies."""
        before = self.places[key]
        if before is not None and not live.is_dirty:
            return before
        place = self.places[key] = self.shelf.put(self._encode(self._look(live)))
        if before is not None:
            self.shelf.drop(before)
        live.is_dirty = False
        return place

    def make_room(self) -> None:
        """Put the models that were not used for longest on the shelf, down to the bound."""
        while self.live_bytes > self.most_bytes and len(self.live) > 1:
            key, live = next(iter(self.live.items()))
            self.write(key, live)
            self.drop(key)

    def write_all(self) -> None:
        """Write every model that has learned, and pack what the shelf has of the others."""
        for key, live in self.live.items():
            self.write(key, live)
        sparse = self.shelf.sparse()
        if sparse:
            moving = [key for key, place in self.places.items() if place is not None and place.segment in sparse]
            for key in moving:
                self._move(key)

    def peek(self, key: str) -> Any:
        """Return a model to look at, without a place in memory."""
        live = self.live.get(key)
        return self._load(key) if live is None else self._look(live)

    def record(self, key: str) -> bytes:
        """Return the state of a model as it is written."""
        live, place = self.live.get(key), self.places[key]
        if place is None or (live is not None and live.is_dirty):
            return self._encode(self._look(self.live[key]))
        return self.shelf.get(place)

    def put_record(self, key: str, record: bytes) -> None:
        """Take over a model as it was written elsewhere."""
        self.places[key] = self.shelf.put(record)

    def close(self) -> None:
        """Forget all, and let go of files."""
        self.shelf.close()
        self.places, self.live, self.live_bytes, self._slots = {}, OrderedDict(), 0, None

    def _look(self, live: Live) -> Any:
        """Return a model to look at until the next call."""
        return self._slots.view(live.slot) if live.slot and self._slots is not None else live.model

    def _leave_slot(self, live: Live) -> None:
        if self._slots is not None:
            live.model = self._slots.give(live.slot)
            self._slots.free(live.slot)
            live.slot = 0
            self._count(live, size_of(live.model))

    def _count(self, live: Live, nbytes: int) -> None:
        self.live_bytes += nbytes - live.nbytes
        live.nbytes = nbytes

    def _enter(self, key: str, model: Any, is_dirty: bool) -> Live:
        live = self.live[key] = Live(model, is_dirty, size_of(model))
        self.live_bytes += live.nbytes
        return live

    def _move(self, key: str) -> None:
        place = self.places[key]
        if place is not None:
            self.places[key] = self.shelf.put(self.shelf.get(place))
            self.shelf.drop(place)

    def _encode(self, model: Any) -> bytes:
        register_own()
        # A foreign model has no other form. It never leaves this process: what is saved of it is a pickle as well.
        return encode_record(state_of(model)) if hasattr(model, "state_dict") else pickle.dumps(model, protocol=5)

    def _load(self, key: str) -> Any:
        place = self.places[key]
        if place is None:
            raise RuntimeError(f"the model of {key!r} must be in memory or on the shelf, got neither")
        register_own()
        record, model = self.shelf.get(place), self.make()
        if not hasattr(model, "state_dict"):
            return pickle.loads(record)
        load_state_of(model, decode_record(record))
        return model


def size_of(model: Any) -> int:
    """Return what a model is counted as."""
    nbytes = getattr(model, "memory_bytes", None)
    return OVERHEAD + (int(model._raw_memory_usage) if nbytes is None else int(nbytes))


def encode_record(state: State) -> bytes:
    """Return a flat state of arrays and JSON as bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.keyed.models import decode_record, encode_record
    >>> decode_record(encode_record({"weights": np.array([0.5, -1.0]), "rounds": 7}))
    {'weights': array([ 0.5, -1. ]), 'rounds': 7}

    """
    arrays, values = split_state(state)
    kept = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    forms = [[name, array.dtype.name, list(array.shape)] for name, array in kept.items()]
    text = encode([forms, values]).encode("ascii")
    payload = b"".join([_LENGTH.pack(len(text)), text, *(array.tobytes() for array in kept.values())])
    form, body = PLAIN, payload
    if len(payload) >= LARGE:
        form, body = COMPRESSED, pa.compress(payload, codec="zstd", asbytes=True)
    head = _HEAD.pack(0, form, len(payload))[4:]
    return struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + head + body


def decode_record(record: bytes) -> State:
    """Return the state that was encoded.

    Raises
    ------
    CheckpointError
        If the bytes are not those that were written.

    """
    try:
        checksum, form, length = _HEAD.unpack_from(record)
        if zlib.crc32(record[4:]) != checksum or length > MOST_BYTES:
            raise ValueError("its checksum differs")
        body: Any = memoryview(record)[_HEAD.size :]
        if form == COMPRESSED:
            body = memoryview(pa.decompress(body, decompressed_size=length, codec="zstd", asbytes=True))
        return _decode_payload(body)
    except (ValueError, TypeError, KeyError, struct.error, OSError) as error:
        raise CheckpointError(
            f"the state of a model must be read as it was written, got damaged bytes ({error}); use another checkpoint"
        ) from error


def _decode_payload(payload: memoryview) -> State:
    (length,) = _LENGTH.unpack_from(payload)
    end = _LENGTH.size + length
    forms, values = decode(bytes(payload[_LENGTH.size : end]))
    arrays: dict[str, np.ndarray] = {}
    for name, kind, shape in forms:
        if kind not in ARRAY_DTYPES:
            raise ValueError(f"an array cannot be of {kind!r:.40}")
        count = int(np.prod(shape, dtype=np.int64))
        first, end = end, end + count * np.dtype(kind).itemsize
        arrays[name] = np.frombuffer(payload[first:end], dtype=kind).reshape(shape).copy()
    return join_state(arrays, values)
