"""The oracle is River itself: the same metric, fed all rows."""

from __future__ import annotations

import random

import pytest
from river import metrics
from river.metrics.base import Metrics
from river.utils import Rolling

from stream_maxloss.errors import UsageError
from stream_maxloss.metrics import MaxLoss, RollingMaxLoss, TailLoss, metric_state, restore_metric
from stream_maxloss.scale.shards.scores import add_states, require_additive, since

KINDS = {
    "accuracy": metrics.Accuracy,
    "recall": metrics.Recall,
    "f1": metrics.F1,
    "logloss": metrics.LogLoss,
    "rocauc": metrics.ROCAUC,
    "maxloss": MaxLoss,
    "tailloss": TailLoss,
    "mae": metrics.MAE,
    "r2": metrics.R2,
}


def rows(kind, seed, count):
    generator = random.Random(seed)
    for _ in range(count):
        if kind in ("mae", "r2"):
            yield generator.gauss(3, 2), generator.gauss(3, 2)
        elif kind in ("logloss", "rocauc", "maxloss", "tailloss"):
            share = generator.random()
            yield generator.random() < 0.4, {True: share, False: 1 - share}
        else:
            yield generator.random() < 0.4, generator.random() < 0.5


def fed(kind, *parts):
    metric = Metrics([KINDS[kind]()])
    for part in parts:
        for truth, guess in part:
            metric[0].update(truth, guess)
    return metric


@pytest.mark.parametrize("kind", KINDS)
def test_metrics_of_shards_add_up_to_the_metric_of_all_rows(kind):
    parts = [list(rows(kind, seed, count)) for seed, count in ((1, 300), (2, 0), (3, 17))]
    if kind == "r2":
        parts[1] = list(rows(kind, 2, 2))
    merged = Metrics([KINDS[kind]()])
    restore_metric(merged, add_states([metric_state(fed(kind, part)) for part in parts]))
    assert merged[0].get() == pytest.approx(fed(kind, *parts)[0].get(), abs=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("maxloss", "r2")])
def test_what_came_since_an_earlier_state_is_what_its_rows_alone_give(kind):
    first, second = list(rows(kind, 1, 200)), list(rows(kind, 2, 150))
    recent = Metrics([KINDS[kind]()])
    restore_metric(recent, since(metric_state(fed(kind, first, second)), metric_state(fed(kind, first))))
    assert recent[0].get() == pytest.approx(fed(kind, second)[0].get(), abs=1e-9)


@pytest.mark.parametrize("kind", ["accuracy", "logloss", "tailloss", "mae"])
def test_rows_that_were_taken_back_leave_nothing_to_tell_of(kind):
    first, second = list(rows(kind, 1, 20)), list(rows(kind, 2, 150))
    assert since(metric_state(fed(kind, first)), metric_state(fed(kind, second))) is None


def test_labels_that_only_one_shard_has_seen_are_kept():
    first, second = metrics.Accuracy(), metrics.Accuracy()
    first.update("a", "a")
    second.update("b", "c")
    merged = metrics.Accuracy()
    restore_metric(merged, add_states([metric_state(first), metric_state(second)]))
    assert merged.get() == 0.5
    assert merged.cm["b"]["c"] == 1


@pytest.mark.parametrize(
    "metric", [RollingMaxLoss(10), Rolling(metrics.Accuracy, window_size=3)], ids=["ours", "river"]
)
def test_a_metric_of_the_last_rows_is_refused_by_name(metric):
    with pytest.raises(UsageError, match=f"metric {type(metric).__name__} must be one that adds up"):
        require_additive([metric])
