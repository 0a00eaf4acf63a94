"""What `KeyedClassifier` and `KeyedRegressor` share: a model for each key, made from one template."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Hashable, Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np

from stream_maxloss.checkpoint.content import LinkedFile
from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.evaluate.engine import Engine, runs_in_kernel
from stream_maxloss.keyed.groups import KeyedRows, missing_key, split_rows
from stream_maxloss.keyed.keys import key_text
from stream_maxloss.keyed.learning import BatchStep, ask_groups
from stream_maxloss.keyed.models import Live, Models
from stream_maxloss.keyed.opinions import Opinions
from stream_maxloss.keyed.shelf import Place
from stream_maxloss.labels import as_array
from stream_maxloss.linear.batch_checks import check_length, row_weights
from stream_maxloss.linear.grouped import linear_parts
from stream_maxloss.protocol import Answers

__all__ = ["MEMORY", "Keyed"]

KEYS = {"key_text": ArrayOf("uint8", ("bytes",)), "key_ends": ArrayOf("int64", ("keys",), low=0, high="bytes")}
PLACES = {"key_places": ArrayOf("int64", ("keys", 3), low=0)}

MEMORY = 1 << 30
"""Bytes of models in memory where nothing else is said."""


class Keyed:
    """Base of both; a subclass names its template and says how answers are put together."""

    key: Hashable
    memory: int

    leaves_out_unseen = True
    """Whether a batch's answers have nothing of a class that a key has not had by then."""

    _models: Models
    _engine: Engine
    _worker = 0

    @property
    def template(self) -> Any:
        """The model that a new key begins with a copy of, with what it has learned: the shared prior."""
        raise NotImplementedError

    def _begin(self) -> None:
        if not isinstance(self.memory, int) or self.memory < 1:
            raise ValueError(f"memory must be a number of bytes, at least 1, got {self.memory!r}; 1 << 30 is a GiB")
        if isinstance(self.template, Keyed):
            raise ValueError("a model of many keys must be made of models of one, got another one of many keys")
        self._mould: bytes | None = None
        self._models = Models(self._fresh, self.memory, self._worker)
        self._engine = Engine(self.template, labels=False)

    def _fresh(self) -> Any:
        # A tenth of the time of a copy by `copy.deepcopy`, which looks at every part anew.
        if self._mould is None:
            self._mould = pickle.dumps(self.template, protocol=5)
        return pickle.loads(self._mould)

    def _opinions(self, rows: int) -> Opinions:
        raise NotImplementedError

    def _targets(self, y: Any) -> Any:
        """Return labels as linear learners take them, if the template is one; else None."""
        parts = linear_parts(self.template)
        return None if parts is None else parts[1]._targets_of(y)

    @property
    def is_native(self) -> bool:
        """Whether the models take whole batches."""
        return runs_in_kernel(self.template)

    @property
    def keys(self) -> list[str]:
        """The keys that came so far, as text, in the order in which they first came."""
        return list(self._models)

    @property
    def memory_bytes(self) -> int:
        """Bytes of the models in memory, as they are counted against `memory`."""
        return self._models.live_bytes

    def model_of(self, key: Any) -> Any:
        """Return a copy of the model of a key, to look at.

        Raises
        ------
        KeyError
            If the key never came.

        """
        text = key_text(key)
        if text is None or text not in self._models:
            raise KeyError(f"a key must have come to have a model, got {key!r}")
        return copy.deepcopy(self._models.peek(text))

    def describe(self) -> dict[str, Any]:
        """Return how many keys there are, and where their models lie."""
        models = self._models
        return {
            "key": str(self.key),
            "keys": len(models),
            "in_memory": len(models.live),
            "memory_bytes": models.live_bytes,
            "most_memory_bytes": self.memory,
            "shelf_bytes": models.shelf.total_bytes,
        }

    def _split(self, x: Mapping[Hashable, Any]) -> tuple[str, dict[Hashable, Any]]:
        """Return the key of a row, and the row without it."""
        rest = dict(x)
        key = key_text(rest.pop(self.key, None))
        if key is None:
            raise missing_key(self.key)
        return key, rest

    def _model_for(self, x: Mapping[Hashable, Any]) -> tuple[Any, dict[Hashable, Any]]:
        """Return the model that predicts a row, and the row without its key."""
        key, rest = self._split(x)
        live = self._models.find(key)
        if live is None:
            return self.template, rest
        self._models.make_room()
        return live.model, rest

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row with the model of its key. `w` is its sample weight, for models that take one.

        Raises
        ------
        ValueError
            If the row has no key, or the model refuses it. Nothing is then learned.

        """
        key, rest = self._split(x)
        is_new = key not in self._models
        live = self._models.add(key)
        try:
            self._learn_row(live, rest, y, w)
        except Exception:
            if is_new:
                self._models.remove(key)
            raise
        self._models.learned(live)
        self._models.make_room()

    def _learn_row(self, live: Live, x: dict[Hashable, Any], y: Any, w: float) -> None:
        if self._engine.takes_weights:
            live.model.learn_one(x, y, w=w)
        else:
            live.model.learn_one(x, y)

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a frame, each with the model of its key. `w` is one weight for all or one per row.

        Raises
        ------
        RowError
            If a row is refused. None of the rows is then learned.

        """
        self.answer_learn_many(X, y, w)

    def predict_one(self, x: dict[Hashable, Any]) -> Any:
        """Return what the model of the row's key predicts; for a key that never came, what the prior does."""
        model, rest = self._model_for(x)
        return model.predict_one(rest)

    def answer_learn_many(self, X: Any, y: Any, w: Any = 1.0) -> Answers:
        """Predict each row of a frame, then learn it, row after row; return what was said before learning it."""
        rows, labels = split_rows(X, self.key), as_array(y)
        check_length(len(rows.order), labels)
        targets, order = self._targets(labels), rows.order
        weights = None if np.isscalar(w) and w == 1.0 else row_weights(w, len(labels))[order]
        opinions = self._opinions(len(order))
        step = BatchStep(self._models, rows, labels[order], weights, opinions, self._engine)
        step.run(None if targets is None else targets[order])
        return opinions.answers(order)

    def answer_many(self, X: Any) -> Answers:
        """Predict every row of a frame and learn nothing."""
        rows = split_rows(X, self.key)
        return self._ask(rows).answers(rows.order)

    def _ask(self, rows: KeyedRows) -> Opinions:
        opinions = self._opinions(len(rows.order))
        ask_groups(self._models, self.template, rows, opinions, self._engine)
        return opinions

    def hardest_by_key(self, k: int) -> list[tuple[str, Any]]:
        """Return the hardest rows of all windows, each with its key, the one with the highest loss first.

        Raises
        ------
        AttributeError
            If the models keep no rows.

        """
        found: list[tuple[str, Any]] = []
        for key in self._models:
            model = self._models.peek(key)
            last = model._last_step if hasattr(model, "_last_step") else model
            found += [(key, row) for row in last.hardest(k)]
            found = sorted(found, key=lambda pair: (-pair[1].loss, -pair[1].weight))[:k]
        return found

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, the models of all keys among it, as arrays and JSON."""
        records = {key: self._models.record(key) for key in self._models}
        data = np.frombuffer(b"".join(records.values()), dtype=np.uint8).copy()
        ends = np.cumsum([len(record) for record in records.values()], dtype=np.int64)
        return {**write_index(records), "records": data, "ends": ends.reshape(-1)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of a model with the same parameters returned, or `put_files`.

        Raises
        ------
        KeyError
            If something is missing.
        ValueError
            If the state does not fit.

        """
        keys, places = read_index(state)
        models, self._mould = self._models, None
        if places is None:
            ends, data = state["ends"].tolist(), state["records"].tobytes()
            if len(ends) != len(keys) or any(a > b for a, b in zip([0, *ends], [*ends, len(data)], strict=True)):
                raise ValueError(f"there must be a record for each of {len(keys)} keys, got {len(ends)}")
            models.close()
            for key, first, last in zip(keys, [0, *ends], ends, strict=False):
                models.put_record(key, data[first:last])
            return
        for place in places:
            models.shelf.keep(place)
        models.places = dict(zip(keys, places, strict=True))

    def put_files(self, files: MutableMapping[str, LinkedFile]) -> dict[str, Any]:
        """Write all models that have learned, add the files that hold them, and return where each lies."""
        self._models.write_all()
        files.update(self._models.shelf.seal())
        return write_index(self._models.places)

    def take_files(self, files: Mapping[str, LinkedFile]) -> None:
        """Take over the files of a checkpoint; where the models lie in them comes by `load_state_dict`."""
        self._models.close()
        self._models.shelf.take(files)

    def shelve_in(self, folder: Path) -> None:
        """Keep the models that are not in memory in a folder of this name from now on."""
        self._models.shelf.move_to(folder)

    def records(self, keys: Iterable[str] | None = None) -> Iterator[tuple[str, bytes]]:
        """Yield keys with the states of their models as bytes: to compare them, or to hand them to another worker."""
        for key in list(self._models) if keys is None else keys:
            yield key, self._models.record(key)

    def __getstate__(self) -> dict[str, Any]:
        params = {name: getattr(self, name) for name in ("_worker", "key", "memory", self._template_name)}
        return {"params": params, "state": self._pickled_state()}

    _template_name = "template"

    def _pickled_state(self) -> dict[str, Any]:
        return self.state_dict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state["params"])
        self._begin()
        self.load_state_dict(state["state"])


def write_index(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys, and the places of those that have one, as arrays.

    Examples
    --------
    >>> from stream_maxloss.keyed.keyed import read_index, write_index
    >>> from stream_maxloss.keyed.shelf import Place
    >>> read_index(write_index({"north": Place(64, 0, 900)}))
    (['north'], [Place(segment=64, offset=0, length=900)])

    """
    texts = [key.encode("utf-8", "surrogatepass") for key in keys]
    state: dict[str, Any] = {
        "key_text": np.frombuffer(b"".join(texts), dtype=np.uint8).copy(),
        "key_ends": np.cumsum([len(text) for text in texts], dtype=np.int64).reshape(-1),
    }
    places = list(keys.values())
    if places and isinstance(places[0], Place):
        state["key_places"] = np.array(places, dtype=np.int64).reshape(-1, 3)
    return state


def read_index(state: Mapping[str, Any]) -> tuple[list[str], list[Place] | None]:
    """Return the keys, and their places if there are such.

    Raises
    ------
    KeyError
        If something is missing.
    ValueError
        If it is not what `write_index` returns.

    """
    has_places = "key_places" in state
    check_state(state, {**KEYS, **PLACES} if has_places else KEYS)
    data, ends = state["key_text"].tobytes(), state["key_ends"].tolist()
    keys = [data[first:last].decode("utf-8", "surrogatepass") for first, last in zip([0, *ends], ends, strict=False)]
    if len(set(keys)) != len(keys) or (ends[-1] if ends else 0) != len(data):
        raise ValueError("keys must be different texts that fill their array, got others")
    if not has_places:
        return keys, None if "records" in state or keys else []
    return keys, [Place(*place) for place in state["key_places"].tolist()]
