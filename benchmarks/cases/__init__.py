"""The cases, one module each.

A case says what is compared (`TITLE`, `INCLUDED`, `AXIS`), at which `points(quick)`, and how: `prepare(system,
settings)` returns the work to repeat, `observe(system, settings)` a fact to note. `conclude(measured)` may turn the
measurements into claims of its own. Three more are optional:

- `tables(measured)` returns a list, in the order of the page, of tables (a list of headers and a list of rows, all
  text) and of plain strings, which are Markdown.
- `plot(measured, folder)` draws files into the folder and returns a title and the file's name for each.
- `surroundings(quick)` is a context that holds while the case is measured: a folder of files, a broker.
"""

from __future__ import annotations

__all__ = ["NAMES"]

NAMES = (
    "learn_one",
    "batches",
    "hinge_batches",
    "sparse",
    "evaluate",
    "sum_tree",
    "replay",
    "growth",
    "auto",
    "ingestion",
    "kafka",
    "command_line",
    "cold_start",
    "scale",
    "serve",
    "memory",
    "quality",
    "rare_slices",
    "label_noise",
    "drift",
)
