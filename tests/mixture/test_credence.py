"""Wrong labels are found and left alone; clean ones change nothing, and neither do models that were saved before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from streams import frame_of, same_state

from reference_policies import Doubt, believed
from stream_maxloss.mixture import AutoClassifier, AutoRegressor
from stream_maxloss.mixture.credence import ALL_WRONG, SURE_ROWS, WRONG, credence


@njit
def credences(table: Any, rows: int, out: Any) -> None:
    for slot in range(rows):
        out[slot] = credence(table, slot)


def credences_of(model: Any) -> Any:
    memory = model._model.memory
    out = np.empty(memory.kept)
    credences(memory.table, memory.kept, out)
    return out


def flipped_stream(rows: int, classes: int, share: float) -> tuple[list[dict[str, Any]], list[int], Any]:
    """Return rows of one number that tells the class, their labels, of which a share is wrong, and which ones are."""
    draw = np.random.default_rng(3)
    true = draw.integers(classes, size=rows)
    is_wrong = draw.random(rows) < share
    labels = np.where(is_wrong, (true + draw.integers(1, classes, size=rows)) % classes, true)
    # All classes come in time for the first row to be asked about each.
    labels[:classes] = np.arange(classes)
    return [{"a": float(c + draw.uniform(-0.3, 0.3))} for c in true], labels.tolist(), labels != true


@pytest.mark.parametrize("classes", [2, 4])
def test_credence_is_that_of_the_reference(classes: int) -> None:
    x, labels, is_wrong = flipped_stream(3000, classes, 0.1)
    model, doubt = AutoClassifier(seed=1, memory=4000), Doubt()
    for seen, (row, label) in enumerate(zip(x, labels, strict=True)):
        said = [model.predict_proba_one(row).get(name, 0.0) for name in range(classes)]
        model.learn_one(row, label)
        if seen < classes:
            # Before all classes have come, answers are of fewer classes.
            said = model._model.memory["out"][: model._model.memory.outputs].tolist()
            said = [1.0 - said[0], said[0]] if len(said) == 1 else said
        doubt.observe(said, label)
    scale = model._model.memory["scale"]
    assert scale[SURE_ROWS] == len(doubt.outcomes)
    assert scale[WRONG] == pytest.approx(np.mean(doubt.outcomes))
    # As far as it is certain, so less than there is.
    assert 0.5 * is_wrong.mean() < doubt.epsilon < is_wrong.mean()
    found = credences_of(model)
    # The log-odds are what was said on arrival, and what lessons have moved them by since.
    odds = model._model.memory["kept_score"][: len(x)].astype(np.float64)
    odds = np.column_stack([np.zeros(len(x)), odds[:, 0]]) if classes == 2 else odds
    chances = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    missed = np.mean(doubt.all_outcomes)
    assert scale[ALL_WRONG] == pytest.approx(missed)
    expected = [believed(p[label], doubt.epsilon, missed, classes) for p, label in zip(chances, labels, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    # Once the model knows the classes, what is doubted is wrong, nearly always.
    late = slice(1500, None)
    assert (found[late][is_wrong[late]] < 0.75).mean() > 0.85
    assert (found[late][~is_wrong[late]] > 0.9).mean() > 0.99


def test_clean_labels_are_all_believed_and_nothing_changes() -> None:
    x, labels, _ = flipped_stream(1200, 2, 0.0)
    doubting, trusting = AutoClassifier(seed=1), AutoClassifier(seed=1)
    trusting._model.memory["scale"][SURE_ROWS] = 0.0
    for model in (doubting, trusting):
        model.learn_many(frame_of(x), np.array(labels))
    assert (credences_of(doubting) == 1.0).all()
    one, other = doubting.state_dict(), trusting.state_dict()
    del one["scale"], other["scale"]
    assert same_state(one, other)


def test_rows_that_are_not_believed_are_not_replayed() -> None:
    x, labels, _ = flipped_stream(2500, 2, 0.2)
    model = AutoClassifier(seed=1)
    model.learn_many(frame_of(x), np.array(labels))
    memory = model._model.memory
    doubted = credences_of(model) == 0.0
    # A slot is admitted with a twentieth of the mean weight and gains none.
    weights = memory["nodes"][: memory.kept]
    late = np.arange(memory.kept) > 2000
    assert np.median(weights[doubted & late]) < 0.06 * np.median(weights[~doubted & late])


@pytest.mark.parametrize("regresses", [False, True])
def test_a_model_that_was_saved_before_goes_on_without_doubt(regresses: bool, tmp_path: Path) -> None:
    x, labels, _ = flipped_stream(800, 2, 0.2)
    make: Any = AutoRegressor if regresses else AutoClassifier
    first = make(seed=1)
    first._model.memory["scale"][SURE_ROWS:] = 0.0
    first.learn_many(frame_of(x[:400]), np.array(labels[:400]))
    old = first.state_dict()
    old["scale"] = old["scale"][:8].copy()
    resumed = make(seed=1)
    resumed.load_state_dict(old)
    for model in (first, resumed):
        model.learn_many(frame_of(x[400:]), np.array(labels[400:]))
    assert same_state(first.state_dict(), resumed.state_dict())
    assert (credences_of(resumed) == 1.0).all()


@pytest.mark.parametrize(("place", "value"), [(SURE_ROWS, 0.5), (WRONG, 1.5), (WRONG, -0.1), (ALL_WRONG, 2.0)])
def test_a_share_that_no_model_has_is_refused(place: int, value: float) -> None:
    x, labels, _ = flipped_stream(50, 2, 0.2)
    model = AutoClassifier(seed=1)
    model.learn_many(frame_of(x), np.array(labels))
    state = model.state_dict()
    state["scale"] = state["scale"].copy()
    state["scale"][place] = value
    with pytest.raises(ValueError, match="its share of wrong labels"):
        AutoClassifier(seed=1).load_state_dict(state)
