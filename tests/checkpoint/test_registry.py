from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import base, compose, linear_model, preprocessing

from stream_maxloss.checkpoint import (
    CheckpointStore,
    Content,
    build,
    describe,
    description,
    load,
    load_metadata,
    put_model,
    register,
    save,
    take_model,
)
from stream_maxloss.checkpoint.damage import RefusedError
from stream_maxloss.errors import CheckpointError
from stream_maxloss.expand import Bins
from stream_maxloss.linear import Winnow


class Toy(base.Classifier):
    """A classifier with all that the protocol asks for: arrays, numbers, and a generator that goes on."""

    def __init__(self, rate: float = 1.0, bounds: tuple[float, float] = (-1.0, float("inf")), seed: int | None = None):
        self.rate = rate
        self.bounds = bounds
        self.seed = seed
        self._weights = np.zeros(2)
        self._random = np.array([seed or 1], dtype=np.uint64)
        self._names: list[str] = []
        self._least = float("inf")

    def learn_one(self, x: dict[str, float], y: bool) -> None:
        self._random *= np.uint64(6364136223846793005)
        noise = int(self._random[0] >> np.uint64(40)) / 2**24
        for name in x:
            if name not in self._names:
                self._names.append(name)
        self._weights += self.rate * noise * (1 if y else -1) * np.array([x["a"], x["b"]])
        self._least = min(self._least, x["a"])

    def predict_one(self, x: dict[str, float]) -> bool:
        return bool(self._weights @ np.array([x["a"], x["b"]]) >= 0)

    def state_dict(self) -> dict[str, Any]:
        return {"weights": self._weights, "random": self._random, "names": self._names, "least": self._least}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["weights"].shape != (2,):
            raise ValueError(f"weights must have shape (2,), got {state['weights'].shape}")
        self._weights, self._random = state["weights"], state["random"]
        self._names, self._least = state["names"], state["least"]


class ToyScaler(base.Transformer):
    def __init__(self) -> None:
        self._count = 0
        self._largest = np.ones(1)

    def learn_one(self, x: dict[str, float]) -> None:
        self._count += 1
        self._largest[0] = max(self._largest[0], *x.values())

    def transform_one(self, x: dict[str, float]) -> dict[str, float]:
        return {name: value / self._largest[0] for name, value in x.items()}

    def state_dict(self) -> dict[str, Any]:
        return {"count": self._count, "largest": self._largest}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._count, self._largest = state["count"], state["largest"]


class ToyFocus(base.Wrapper, base.Classifier):
    """Wraps a classifier and keeps its state under a dotted name."""

    def __init__(self, classifier: base.Classifier, window: int = 10, options: dict[str, Any] | None = None):
        self.classifier = classifier
        self.window = window
        self.options = options
        self._rows = 0

    @property
    def _wrapped_model(self) -> base.Classifier:
        return self.classifier

    def learn_one(self, x: dict[str, float], y: bool) -> None:
        self._rows += 1
        self.classifier.learn_one(x, y)

    def predict_one(self, x: dict[str, float]) -> bool:
        return self.classifier.predict_one(x)

    def state_dict(self) -> dict[str, Any]:
        inner = {f"classifier.{name}": value for name, value in self.classifier.state_dict().items()}
        return {"rows": self._rows, **inner}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._rows = state["rows"]
        prefix = "classifier."
        self.classifier.load_state_dict(
            {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
        )


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "_registered", {})
    register(Toy, may_be_infinite=["least"])
    register(ToyScaler)
    register(ToyFocus)


def rows(first: int, last: int) -> list[tuple[dict[str, float], bool]]:
    random = np.random.default_rng(5)
    matrix = random.normal(size=(last, 2))
    return [({"a": float(a), "b": float(b)}, bool(a + b > 0)) for a, b in matrix[first:last]]


MODELS: dict[str, Callable[[], Any]] = {
    "bare": lambda: Toy(rate=0.5, seed=7),
    "wrapped": lambda: ToyFocus(Toy(seed=3), window=5, options={"deep": [1, {"class": "x"}, (2, None)]}),
    "pipeline": lambda: ToyScaler() | ToyFocus(Toy(bounds=(0.0, 1.0))),
    "named": lambda: compose.Pipeline(("a", ToyScaler()), ("a.0", ToyScaler()), ("last", Toy())),
    "same-step-twice": lambda: compose.Pipeline(ToyScaler(), ToyScaler(), Toy()),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_a_model_saved_and_loaded_halfway_ends_as_one_that_ran_straight(
    tmp_path: Path, make: Callable[[], Any]
) -> None:
    straight, halfway = make(), make()
    for x, y in rows(0, 200):
        straight.learn_one(x, y)
    for x, y in rows(0, 100):
        halfway.learn_one(x, y)
    save(tmp_path, halfway)
    loaded = load(tmp_path)
    assert type(loaded) is type(straight)
    for x, y in rows(100, 200):
        loaded.learn_one(x, y)
    assert describe(loaded) == describe(straight)
    left, right = Content(), Content()
    put_model(left, loaded)
    put_model(right, straight)
    assert left.values == right.values
    assert {name: array.tobytes() for name, array in left.arrays.items()} == {
        name: array.tobytes() for name, array in right.arrays.items()
    }


def test_parameters_come_back_with_their_types(tmp_path: Path) -> None:
    save(tmp_path, ToyFocus(Toy(bounds=(-1.0, float("inf"))), options={"deep": [1, {"class": "x"}, (2, None)]}))
    loaded = load(tmp_path)
    assert loaded.options == {"deep": [1, {"class": "x"}, (2, None)]}
    assert loaded.classifier.bounds == (-1.0, float("inf"))
    assert type(loaded.classifier.bounds) is tuple


def test_steps_of_a_pipeline_keep_their_names(tmp_path: Path) -> None:
    save(tmp_path, MODELS["named"]())
    assert list(load(tmp_path).steps) == ["a", "a.0", "last"]


def test_the_loaded_model_shares_nothing_with_the_saved_one(tmp_path: Path) -> None:
    model = Toy()
    content = Content()
    put_model(content, model)
    save(tmp_path, model)
    loaded = load(tmp_path)
    loaded._weights += 1.0
    assert model._weights.tolist() == [0.0, 0.0]


def test_metadata_is_given_back_and_a_store_or_a_single_checkpoint_can_be_named(tmp_path: Path) -> None:
    with CheckpointStore(tmp_path / "run", keep=1) as store:
        assert save(store, Toy(rate=0.25), trained_on="day.csv", score=float("nan")) == 1
        assert load(store).rate == 0.25
    assert load(tmp_path / "run" / "ckpt-000000000001").rate == 0.25
    assert load_metadata(str(tmp_path / "run"))["trained_on"] == "day.csv"


def test_a_second_save_keeps_the_first(tmp_path: Path) -> None:
    assert [save(tmp_path, Toy(rate=rate)) for rate in (1.0, 2.0)] == [1, 2]
    assert load(tmp_path).rate == 2.0


FOREIGN: dict[str, Callable[[], Any]] = {
    "river": lambda: linear_model.LogisticRegression(),
    "river-in-pipeline": lambda: preprocessing.StandardScaler() | Toy(),
    "river-in-wrapper": lambda: ToyFocus(linear_model.LogisticRegression()),
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_model_that_is_not_ours_needs_a_pickle_and_permission_both_ways(
    tmp_path: Path, make: Callable[[], Any]
) -> None:
    model = make()
    for x, y in rows(0, 50):
        model.learn_one(x, y)
    with pytest.raises(
        CheckpointError, match=r"own estimators .*got (LogisticRegression|StandardScaler); .*allow_pickle"
    ):
        save(tmp_path, model)
    assert not tmp_path.exists() or not list(tmp_path.iterdir())
    save(tmp_path, model, allow_pickle=True, note="foreign")
    with pytest.raises(CheckpointError, match=r"got model\.pkl; if you wrote it yourself"):
        load(tmp_path)
    assert load_metadata(tmp_path) == {"note": "foreign"}
    loaded = load(tmp_path, allow_pickle=True)
    assert [loaded.predict_one(x) for x, _ in rows(50, 100)] == [model.predict_one(x) for x, _ in rows(50, 100)]


def test_our_own_models_are_never_pickled_even_with_permission(tmp_path: Path) -> None:
    save(tmp_path, Toy(), allow_pickle=True)
    assert not list(tmp_path.rglob("*.pkl"))


def test_a_subclass_of_a_registered_class_is_not_taken_for_it() -> None:
    class Special(Toy):
        pass

    Special.__name__ = "Toy"
    with pytest.raises(CheckpointError, match="own estimators"):
        describe(Special())


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda model: model._weights.__setitem__(1, np.nan),
            r"state\['1\.weights'\] must be finite, got array.*diverged",
        ),
        (lambda model: model._names.append(float("inf")), r"state\['1\.names'\] must be finite"),
    ],
    ids=["array", "list"],
)
def test_a_model_that_diverged_is_not_saved(tmp_path: Path, spoil: Callable[[Toy], None], message: str) -> None:
    model = ToyScaler() | Toy()
    spoil(model["Toy"])
    with pytest.raises(ValueError, match=message):
        save(tmp_path, model)


def test_names_registered_as_such_may_be_infinite_also_inside_a_wrapper(tmp_path: Path) -> None:
    save(tmp_path, ToyScaler() | ToyFocus(Toy()))
    assert load(tmp_path)["ToyFocus"].classifier._least == float("inf")


def set_description(**changes: Any) -> Callable[[Content], None]:
    return lambda content: content.values["model.description"].update(changes)


def set_state(**changes: Any) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        for name, value in changes.items():
            if isinstance(value, np.ndarray):
                content.arrays[f"model/{name}"] = value
            else:
                content.values["model"][name] = value

    return change


def drop_finite_and_spoil(content: Content) -> None:
    content.finite.clear()
    content.arrays["model/weights"] = np.array([np.nan, 1.0])


FORGED: dict[str, tuple[Callable[[Content], None], str]] = {
    "other-class": (
        set_description(**{"class": "os.system"}),
        "class must be one of .*Toy, ToyFocus, ToyScaler, .*got 'os.sy",
    ),
    "builtin": (set_description(**{"class": "eval"}), "class must be one of"),
    "importable": (set_description(**{"class": "river.tree.HoeffdingTreeClassifier"}), "class must be one of"),
    "no-class": (set_description(**{"class": None}), "described by its class and params"),
    "no-params": (set_description(params=None), "described by its class and params"),
    "list": (lambda content: content.values.update({"model.description": [1]}), "described by its class"),
    "missing": (lambda content: content.values.pop("model.description"), "described by its class and params, got None"),
    "other-parameter": (set_description(params={"evil": 1}), "parameters of Toy must be accepted by it, got: .*evil"),
    "nested-class": (
        set_description(params={"rate": {"class": "subprocess.Popen", "params": {"args": "x"}}}),
        "class must be one of",
    ),
    "tuple-without-items": (set_description(params={"bounds": {"class": "tuple", "params": {}}}), "must be accepted"),
    "dict-of-no-pairs": (
        set_description(params={"bounds": {"class": "dict", "params": {"items": [1]}}}),
        "must be accepted",
    ),
    "pipeline-without-steps": (
        set_description(**{"class": "Pipeline", "params": {}}),
        r"Pipeline must have at least one step, got \{\}",
    ),
    "pipeline-of-numbers": (set_description(**{"class": "Pipeline", "params": {"steps": [1]}}), "Pipeline must have"),
    "newer-state": (
        set_description(state_version=2),
        "state_version of Toy must be 1, got 2; load it with the release",
    ),
    "nan-array": (set_state(weights=np.array([np.nan, 1.0])), r"must be finite"),
    "nan-array-not-listed": (drop_finite_and_spoil, r"state\['weights'\] must be finite"),
    "nan-in-list": (set_state(names=[float("nan")]), r"state\['names'\] must be finite"),
    "other-shape": (
        set_state(weights=np.zeros(3)),
        r"must fit its Toy, got: weights must have shape \(2,\), got \(3,\)",
    ),
    "no-state": (lambda content: content.values.pop("model"), "must fit its Toy, got: 'model'"),
    "state-is-a-number": (lambda content: content.values.update(model=3), "must fit its Toy"),
    "lost-array": (lambda content: content.arrays.pop("model/random"), "must fit its Toy, got: 'random'"),
}


@pytest.mark.parametrize(("forge_content", "message"), FORGED.values(), ids=FORGED.keys())
def test_a_forged_model_is_refused(forge_content: Callable[[Content], None], message: str) -> None:
    content = Content()
    put_model(content, Toy())
    forge_content(content)
    with pytest.raises(RefusedError, match=message):
        take_model(content)


def test_a_pickle_in_a_content_is_refused_without_permission() -> None:
    content = Content(blobs={"model": b"anything"})
    with pytest.raises(RefusedError, match="allow_pickle=True"):
        take_model(content)


def test_a_pickle_that_cannot_be_loaded_names_the_versions_that_wrote_it(tmp_path: Path) -> None:
    with CheckpointStore(tmp_path) as store:
        store.save(Content(blobs={"model": b"cno_such_module\nno_class\n."}), allow_pickle=True)
    with pytest.raises(
        CheckpointError, match=r"cannot be loaded: ModuleNotFoundError.*install what wrote it.*'river': '0"
    ):
        load(tmp_path, allow_pickle=True)


def test_a_description_that_never_ends_is_refused() -> None:
    description: Any = 1
    for _ in range(5000):
        description = {"class": "Toy", "params": {"rate": description}, "state_version": 1}
    with pytest.raises(RefusedError, match="nested less deeply"):
        take_model(Content(values={"model.description": description}))


def test_several_models_lie_side_by_side_in_one_content() -> None:
    content = Content()
    put_model(content, Toy(rate=1.0), "left")
    put_model(content, Toy(rate=2.0), "right")
    assert (take_model(content, "left").rate, take_model(content, "right").rate) == (1.0, 2.0)


def test_build_makes_a_fresh_model_of_a_description() -> None:
    model = build(describe(ToyScaler() | ToyFocus(Toy(rate=0.1), window=3)))
    assert isinstance(model, compose.Pipeline)
    assert model["ToyFocus"].window == 3
    assert model["ToyFocus"].classifier.rate == 0.1


def test_a_number_in_a_state_that_no_float_holds_is_refused():
    content = Content()
    model = Bins(bins=2, rows=3) | Winnow()
    for value in range(5):
        model.learn_one({"a": float(value)}, value > 2)
    put_model(content, model)
    content.values["model"]["0.edges"] = [["a", [10**400]]]
    with pytest.raises(CheckpointError, match="state of model must fit its RowPipeline, got: int too large"):
        take_model(content)
