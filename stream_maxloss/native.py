"""What a learner of your own is made of: its equation as plain functions, a base class, and the rest follows.

An additive linear rule is a `Rule`: `linear_model(rule, settings)` is then the model of a `NativeClassifier` or a
`NativeRegressor`. A learner with more than one score a row, or with a state of its own, is a `Program`:
`LinearModel(program, settings)`. Either way it learns dicts and frames with the same bits, takes rows scaled inside a
kernel, can be focused, and is checkpointed once its class is registered (`stream_maxloss.checkpoint.register`, or the
entry point group `stream_maxloss.learners` of your package).

The functions may use `math`, the names below and whatever is marked with `kernel_function`; they are compiled when a
learner first needs them.
"""

from __future__ import annotations

from stream_maxloss.linear.additive import Rule, count
from stream_maxloss.linear.classifier import LinearClassifier as NativeClassifier
from stream_maxloss.linear.memory import FIRST, FOURTH, SECOND, STEPS, THIRD
from stream_maxloss.linear.model import LinearModel, linear_model
from stream_maxloss.linear.program import Program
from stream_maxloss.linear.regressor import LinearRegressor as NativeRegressor
from stream_maxloss.linear.sums import add, dot, vector_at
from stream_maxloss.machine.compiled import inner as kernel_function
from stream_maxloss.machine.pointers import load, store

__all__ = [
    "FIRST",
    "FOURTH",
    "SECOND",
    "STEPS",
    "THIRD",
    "LinearModel",
    "NativeClassifier",
    "NativeRegressor",
    "Program",
    "Rule",
    "add",
    "count",
    "dot",
    "kernel_function",
    "linear_model",
    "load",
    "store",
    "vector_at",
]
