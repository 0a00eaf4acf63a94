"""Codes of what a focused learner plays, and the table by which its kernels find the arrays of the game."""

from __future__ import annotations

from stream_maxloss.focus.native_window import WINDOW_TABLE

__all__ = ["CHUNK"]

# Which loss the game sees.
SURROGATE, ZERO_ONE, PROBABILITY, ABSOLUTE_ERROR = range(4)
# How snapshots are put together.
LAST, AVERAGE, MAJORITY = range(3)
# What `setup` holds.
REPLAYS, LOSS, OUTPUT, SCALE, LOW, HIGH = range(6)
# What is known of the targets of a regressor.
SEEN, MEAN, SQUARES = range(3)
# Draws that are made ahead of the rounds that play them.
CHUNK = 64
# Places in the table behind those of the window: the copies of the learner and the length of one, and where else;
# last the slices of the rows that come.
COPIES, COPY, ARRIVED, REPLAYED, SETUP, SPREAD, DRAWN, POINTS, ALONE, CODES = range(WINDOW_TABLE, WINDOW_TABLE + 10)
