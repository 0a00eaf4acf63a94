"""Fits of a linear classifier to a whole table or a model's retained window."""

from __future__ import annotations

from stream_maxloss.leverage.batch_perceptron import BatchPerceptron, perceptron_bound
from stream_maxloss.leverage.lld import LLD
from stream_maxloss.leverage.llm import LLM
from stream_maxloss.leverage.log_boost import LogBoost
from stream_maxloss.leverage.margin_losses import (
    epsilon_of_mu,
    log_loss,
    logistic_difference,
    logistic_mixture,
    mu_of_epsilon,
    normalised_difference,
    normalised_mixture,
)
from stream_maxloss.leverage.margin_pursuit import MarginPursuit
from stream_maxloss.leverage.rademacher import (
    generalisation_bound,
    linear_complexity,
    lipschitz_constant,
    loss_ceiling,
)
from stream_maxloss.leverage.separator import Inseparability, LinearSeparator, shortest_separator
from stream_maxloss.leverage.templates import Parallel, Sequential, TemplateSet

__all__ = [
    "LLD",
    "LLM",
    "BatchPerceptron",
    "Inseparability",
    "LinearSeparator",
    "LogBoost",
    "MarginPursuit",
    "Parallel",
    "Sequential",
    "TemplateSet",
    "epsilon_of_mu",
    "generalisation_bound",
    "linear_complexity",
    "lipschitz_constant",
    "log_loss",
    "logistic_difference",
    "logistic_mixture",
    "loss_ceiling",
    "mu_of_epsilon",
    "normalised_difference",
    "normalised_mixture",
    "perceptron_bound",
    "shortest_separator",
]
