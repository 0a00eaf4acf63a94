"""Checkpoints: a learner and where it stood in its sources, written in one atomic step."""

from __future__ import annotations

from stream_maxloss.checkpoint.content import Content, Origin, join_state, split_state
from stream_maxloss.checkpoint.damage import CheckpointWarning
from stream_maxloss.checkpoint.description import build, describe, register, register_value
from stream_maxloss.checkpoint.reader import FileReport, Report
from stream_maxloss.checkpoint.registry import load, load_metadata, put_model, save, take_model
from stream_maxloss.checkpoint.store import CheckpointStore

__all__ = [
    "CheckpointStore",
    "CheckpointWarning",
    "Content",
    "FileReport",
    "Origin",
    "Report",
    "build",
    "describe",
    "join_state",
    "load",
    "load_metadata",
    "put_model",
    "register",
    "register_value",
    "save",
    "split_state",
    "take_model",
]
