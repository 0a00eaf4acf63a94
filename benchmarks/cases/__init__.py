"""The cases, one module each.

A case says what is compared (`TITLE`, `INCLUDED`, `AXIS`), at which `points(quick)`, and how: `prepare(system,
settings)` returns the work to repeat, `observe(system, settings)` a fact to note. `conclude(measured)` may turn the
measurements into claims of its own, and `tables(measured)` into further tables. `surroundings(quick)` may be a context
that holds while the case is measured: a folder of files, a broker.
"""

from __future__ import annotations

__all__ = ["NAMES"]

NAMES = (
    "learn_one",
    "batches",
    "sparse",
    "evaluate",
    "sum_tree",
    "replay",
    "growth",
    "ingestion",
    "kafka",
    "command_line",
    "memory",
)
