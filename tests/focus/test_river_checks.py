"""Every check of River, over both focused estimators around many learners; none skipped."""

from __future__ import annotations

import pytest
from river import checks, linear_model, multiclass, naive_bayes, preprocessing, tree

from stream_maxloss.focus import ClassQuota, FocusedClassifier, FocusedRegressor, Reservoir, Slack, SubSample
from stream_maxloss.linear import LLD, AbsoluteOGD, BalancedWinnow, HingeOGD, Perceptron, Scaler

settings = {"window": 60, "replays": 2}

ESTIMATORS = {
    "logistic": FocusedClassifier(linear_model.LogisticRegression(), **settings),
    "logistic-seeded": FocusedClassifier(linear_model.LogisticRegression(), seed=3, **settings),
    "hoeffding": FocusedClassifier(tree.HoeffdingTreeClassifier(grace_period=20), **settings),
    "pipeline": FocusedClassifier(preprocessing.StandardScaler() | linear_model.LogisticRegression(), **settings),
    "one-vs-rest": FocusedClassifier(multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), **settings),
    "bayes": FocusedClassifier(naive_bayes.GaussianNB(), **settings),
    "zero-one": FocusedClassifier(linear_model.PAClassifier(), loss="zero-one", **settings),
    "average": FocusedClassifier(linear_model.LogisticRegression(), output="average", snapshots=3, **settings),
    "majority": FocusedClassifier(
        linear_model.LogisticRegression(), output="majority", snapshots=3, span="window", **settings
    ),
    "robust": FocusedClassifier(
        linear_model.LogisticRegression(), slack=Slack(2.0, "l2"), admission=SubSample(rate=0.5), **settings
    ),
    "tracking": FocusedClassifier(
        linear_model.LogisticRegression(), slack=1.0, share=0.01, admission=ClassQuota(), **settings
    ),
    "nested": FocusedClassifier(FocusedClassifier(linear_model.LogisticRegression(), **settings), **settings),
    "ours": FocusedClassifier(HingeOGD(), **settings),
    "ours-average": FocusedClassifier(HingeOGD(averaged=True), output="average", snapshots=3, slack=1.0, **settings),
    "ours-majority": FocusedClassifier(Perceptron(), output="majority", snapshots=3, share=0.01, **settings),
    "ours-multiplicative": FocusedClassifier(BalancedWinnow(), admission="quota", **settings),
    "ours-scaled-inside": FocusedClassifier(Scaler() | LLD(), **settings),
    "ours-one-vs-rest": FocusedClassifier(multiclass.OneVsRestClassifier(HingeOGD()), **settings),
    "ours-regressor": FocusedRegressor(AbsoluteOGD(), output="average", snapshots=3, **settings),
    "regressor": FocusedRegressor(preprocessing.StandardScaler() | linear_model.LinearRegression(), **settings),
    "tree-regressor": FocusedRegressor(tree.HoeffdingTreeRegressor(grace_period=20), **settings),
    "robust-regressor": FocusedRegressor(
        preprocessing.StandardScaler() | linear_model.LinearRegression(),
        scale=5.0,
        output="average",
        admission=Reservoir(),
        slack=1.0,
        **settings,
    ),
}


def cases():
    for name, estimator in ESTIMATORS.items():
        assert not estimator._unit_test_skips()
        for number, check in enumerate(checks.yield_checks(estimator)):
            yield pytest.param(estimator, check, id=f"{name}-{number}-{check.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(cases()))
def test_river_check(estimator, check):
    check(estimator.clone())


@pytest.mark.parametrize("cls", [FocusedClassifier, FocusedRegressor])
def test_mini_batch_checks_are_among_them(cls):
    for parameters in cls._unit_test_params():
        names = {check.__name__ for check in checks.yield_checks(cls(**parameters))}
        assert {"check_learn_many_matches_learn_one", "check_predict_many_matches_predict_one"} <= names
        for check in checks.yield_checks(cls(**parameters)):
            check(cls(**parameters))
