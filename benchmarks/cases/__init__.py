"""The cases, one module each.

A case says what is compared (`TITLE`, `INCLUDED`, `AXIS`), at which `points(quick)`, and how: `prepare(system,
settings)` returns the work to repeat, `observe(system, settings)` a fact to note. `conclude(measured)` may turn the
measurements into claims of its own, and `tables(measured)` into further tables. With a `PICTURE` (file and words),
`draw(measured, path)` draws it.
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
    "rare_slices",
    "label_noise",
    "drift",
)
