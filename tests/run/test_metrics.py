from __future__ import annotations

import pytest
from river import metrics

from stream_maxloss.errors import UsageError
from stream_maxloss.linear import AbsoluteOGD, HingeOGD
from stream_maxloss.run import make_metrics
from stream_maxloss.run.metrics import metric_names, metric_texts


def test_names_may_be_separated_by_commas_and_have_arguments():
    made = make_metrics(["accuracy,tailloss:alpha=0.1", "Recall"], HingeOGD())
    assert metric_names(made) == ["Accuracy", "TailLoss", "Recall"]
    assert made.data[1].alpha == 0.1


def test_what_suits_the_model_is_the_default():
    assert metric_names(make_metrics(None, HingeOGD())) == ["Accuracy", "TailLoss"]
    assert metric_names(make_metrics((), AbsoluteOGD())) == ["MAE"]


def test_metrics_of_river_are_taken_as_they_are_and_not_changed():
    mine = metrics.Accuracy() + metrics.FBeta(beta=2.0)
    made = make_metrics(mine, HingeOGD())
    made.update(True, True)
    assert metric_names(made) == metric_texts(mine) == ["Accuracy", "FBeta"]
    assert made.data[1].beta == 2.0
    assert made.data[0].get() == 1.0
    assert mine.data[0].cm.n_samples == 0


def test_twins_have_names_of_their_own():
    made = make_metrics(["tailloss:alpha=0.1", "tailloss:alpha=0.2"], HingeOGD())
    assert metric_names(made) == ["TailLoss", "TailLoss 2"]


MISTAKES = {
    "unknown": (["acuracy"], "metric must name a metric, got 'acuracy'; did you mean 'Accuracy'"),
    "unknown argument": (["tailloss:alpah=1"], "did you mean 'alpha'"),
    "no number": (["tailloss:alpha=nan"], "metric tailloss:alpha=nan: "),
    "of regressors": (["mae"], "metric MAE cannot score this model; a classifier takes"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_has_its_remedy(case):
    texts, message = MISTAKES[case]
    with pytest.raises(UsageError, match=message):
        make_metrics(texts, HingeOGD())
