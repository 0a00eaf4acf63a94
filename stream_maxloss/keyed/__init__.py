"""A model for each key, in bounded memory: those that are idle lie in files, and come back to the bit."""

from __future__ import annotations

from stream_maxloss.checkpoint.description import register
from stream_maxloss.keyed.classifier import KeyedClassifier
from stream_maxloss.keyed.keyed import Keyed
from stream_maxloss.keyed.keys import SHARDS, key_text, shard_of
from stream_maxloss.keyed.regressor import KeyedRegressor

__all__ = ["SHARDS", "Keyed", "KeyedClassifier", "KeyedRegressor", "key_text", "shard_of"]

register(KeyedClassifier, parts=["classifier"])
register(KeyedRegressor, parts=["regressor"])
