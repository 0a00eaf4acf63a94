"""The arrays of a mixture: making them, and making room."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.focus.sum_tree import tree_layout
from stream_maxloss.machine.covariance import FOUR
from stream_maxloss.machine.lanes import LANES
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.credence import FIRST_BORDER
from stream_maxloss.mixture.experts import Level, rates_of, shares_of
from stream_maxloss.mixture.lookup import LOOKUP, lookup_of
from stream_maxloss.mixture.mixing import CUT, FIRST_ROWS, FIRST_VARIANCE, KNOTS, STACKS
from stream_maxloss.mixture.reading import ABSENT, COARSE, GROUPS
from stream_maxloss.mixture.stepping import CLASSES
from stream_maxloss.mixture.usual import INPUTS, seen_length, usual_experts
from stream_maxloss.random import make_generator

__all__ = ["MOST_EDGES", "MOST_NUMBERS", "SCALES", "Memory", "inputs_of", "whole_scale"]

Arrays = dict[str, NDArray[Any]]

MOST_NUMBERS = 256
MOST_EDGES = 63
# Entries of a kept row; a longer one is replayed without the rest.
MOST_ENTRIES = 512
# Cells of one plane: 64 bytes each, so 64 MiB for the raw columns and as much for the leaves.
MOST_CELLS = 1 << 20
# Cells of the leaves of wide rows: ten classes then have room for nine tests of each fern, in 144 MiB.
WIDE_CELLS = 9 << 18
# Rows of more numbers than these that are not zero, images for one, are wide: so many times the untaught ferns.
MANY_NUMBERS = 128
MORE_FERNS = 6
# The variance that the weights of what came of late start with, in stacks.
INPUT_VARIANCE = 0.02
# Half of the replays are drawn evenly, half by the game (S0, section 2).
GAMMA = 0.5
# Numbers that are known of targets and labels, and how many there were before labels were doubted.
SCALES, OLD_SCALES = 11, 8


def zeros(*shape: int) -> NDArray[np.float32]:
    """Return zeros that begin at a cache line, so that a cell is one."""
    count = math.prod(shape)
    room = np.zeros(count + 16, dtype=np.float32)
    first = -room.ctypes.data % 64 // 4
    return room[first : first + count].reshape(shape)


def power_of_two(count: int) -> int:
    """Return the smallest power of two that is at least `count`."""
    return 1 << max(count - 1, 0).bit_length()


def inputs_of(planes: int) -> int:
    """Return the inputs of a stack: experts, a constant and what came of late, and zeros up to a multiple of four."""
    return -(-(planes * LANES + 1 + INPUTS) // FOUR) * FOUR


def resized(array: NDArray[Any], axis: int, length: int, fill: float = 0.0) -> NDArray[Any]:
    """Return an array with one axis longer, filled up; cells begin at a cache line again."""
    shape = list(array.shape)
    shape[axis] = length
    grown: NDArray[Any] = zeros(*shape) if array.ndim == 4 else np.full(shape, fill, dtype=array.dtype)
    kept = min(length, array.shape[axis])
    part = (*(slice(None),) * axis, slice(kept))
    grown[part] = array[part]
    return grown


def whole_scale(scale: Any) -> Any:
    """Return what is known of targets with the places that models did not have that were saved long ago: zeros."""
    known = np.asarray(scale)
    return np.append(known, np.zeros(SCALES - OLD_SCALES)) if known.shape == (OLD_SCALES,) else scale


class Memory:
    """All arrays of a mixture, and the table of their addresses that kernels take.

    Parameters
    ----------
    level
        How much is computed.
    window
        Rows that are kept.
    kind
        What is predicted, from `stepping`.
    seed
        Seed of all draws.

    """

    def __init__(self, level: Level, window: int, kind: int, seed: int | None) -> None:
        self.level = level
        # Entries of a row at hand; a longer one than are kept of it still has to be read whole.
        self.longest = 0
        self.arrays: Arrays = first_arrays(level, window, kind, seed)
        self.table = np.empty(0, dtype=np.int64)
        # What the table points to must live as long as it does.
        self.given_arrays: dict[str, NDArray[Any] | None] = {}
        self.rows_at_hand: object = None
        self.settle()

    def __getstate__(self) -> dict[str, Any]:
        return {"level": self.level, "arrays": {name: self.arrays[name] for name in f.LEARNED}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.level = state["level"]
        self.longest = 0
        self.given_arrays = {}
        self.take({name: array.copy() for name, array in state["arrays"].items()})

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def take(self, arrays: Arrays) -> None:
        """Take over what was learned."""
        for name in ("raw", "bins", "leaves"):
            cells = zeros(*arrays[name].shape)
            cells[:] = arrays[name]
            arrays[name] = cells
        self.arrays = arrays | {"scale": whole_scale(arrays["scale"])}
        self.settle()

    def settle(self) -> None:
        """Make room for the row at hand, and the table; to be called when an array was replaced."""
        arrays = self.arrays
        planes, outputs = arrays["raw"].shape[0], arrays["raw"].shape[2]
        experts = planes * LANES
        numbers, ferns = len(arrays["num_edges"]), len(arrays["group"])
        arrays["adaptive"], arrays["constant"], arrays["mask"] = rates_of(planes, self.is_wide)
        arrays["numbers"] = np.full(numbers, ABSENT, dtype=np.float32)
        arrays["codes"] = np.zeros(numbers, dtype=np.uint8)
        # A kept row has two bytes for each fern; leaves are merged in whole registers.
        arrays["leaf"] = np.zeros(ferns, dtype=np.uint16)
        room = 1 + max(self.longest, arrays["kept_index"].shape[1], numbers, ferns)
        arrays["index"] = np.zeros((len(GROUPS), room), dtype=np.int64)
        arrays["value"] = np.ones((len(GROUPS), room), dtype=np.float32)
        arrays["active"] = np.zeros(len(GROUPS), dtype=np.int64)
        arrays["score"] = zeros(planes, outputs, LANES)
        arrays["gradient"] = zeros(outputs, LANES)
        arrays["chance"] = np.zeros((LANES, outputs))
        arrays["answer"] = np.zeros((len(arrays["prior"]) + 4, outputs))
        first, trust, arrays["rates"] = shares_of(planes, len(arrays["prior"]) - experts - STACKS)
        arrays["parts"] = 1.0 / np.append(first, trust)
        arrays["given"] = np.zeros((outputs + 2, inputs_of(planes)))
        arrays["out"] = np.zeros(outputs + 2)
        arrays |= lookup_of(arrays, self.untaught)
        self.table = f.table_of(arrays)
        self.rows_at_hand = None

    def look_up_anew(self) -> None:
        """Follow edges and tests of untaught ferns that have changed."""
        self.arrays |= lookup_of(self.arrays, self.untaught)
        for name in LOOKUP:
            f.aim(self.table, name, self.arrays[name])

    def take_rows(self, rows: object, **arrays: NDArray[Any] | None) -> None:
        """Let the next calls be about these rows.

        Parameters
        ----------
        rows
            Whatever tells one from another; it is kept in `rows_at_hand` until an array moves.
        arrays
            By the names of `fields.GIVEN_ROWS`; None for a matrix's missing `indptr`.

        """
        for name, array in arrays.items():
            if array is None:
                self.table[f.FIELDS[name]] = 0
            else:
                f.aim(self.table, name, array)
        self.given_arrays.update(arrays)
        self.rows_at_hand = rows

    def let_go(self) -> None:
        """Hold the rows of the last call no longer."""
        self.given_arrays.clear()
        self.rows_at_hand = None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values()) + self.table.nbytes

    @property
    def rows(self) -> int:
        """Rows learned."""
        return self.arrays["header"].item(f.ROWS)

    @property
    def kept(self) -> int:
        """Rows kept."""
        return min(self.rows, int(self.arrays["header"][f.WINDOW]))

    @property
    def room(self) -> int:
        """The number of rows up to which the window has room."""
        slots = len(self.arrays["kept_w"])
        return sys.maxsize if slots == self.arrays["header"][f.WINDOW] else slots

    @property
    def is_wide(self) -> bool:
        """Whether rows are wide, with more and deeper untaught ferns, and experts that see nothing else."""
        return bool(self.arrays["header"][f.WIDE])

    @property
    def outputs(self) -> int:
        """Scores per expert: 1 for two classes and for numbers, else one a class."""
        return self.arrays["raw"].shape[2]

    def make_room(self, columns: int, entries: int, rows: int) -> None:
        """Make room for so many columns, entries of a row, and rows to come."""
        arrays = self.arrays
        is_settled = True
        if columns > len(arrays["place"]):
            length = power_of_two(columns)
            arrays["place"] = resized(arrays["place"], 0, length, -1)
            arrays["statistics"] = resized(arrays["statistics"], 0, length)
            is_settled = False
        cells = 1 + min(len(arrays["place"]), power_of_two(MOST_CELLS // self.outputs + 1) // 2)
        if cells > arrays["raw"].shape[1]:
            arrays["raw"] = resized(arrays["raw"], 1, cells)
            is_settled = False
        if min(entries, MOST_ENTRIES) > arrays["kept_index"].shape[1]:
            length = min(power_of_two(entries), MOST_ENTRIES)
            arrays["kept_index"] = resized(arrays["kept_index"], 1, length)
            arrays["kept_value"] = resized(arrays["kept_value"], 1, length)
            is_settled = False
        needed = min(self.rows + rows, int(arrays["header"][f.WINDOW]))
        if needed > len(arrays["kept_w"]):
            length = min(power_of_two(needed), int(arrays["header"][f.WINDOW]))
            for name in f.LEARNED:
                if name.startswith("kept_"):
                    arrays[name] = resized(arrays[name], 0, length)
            is_settled = False
        if entries > self.longest:
            self.longest = power_of_two(entries)
            is_settled = False
        if not is_settled:
            self.settle()

    @property
    def untaught(self) -> int:
        """Places for untaught ferns; those for taught ones follow."""
        return len(self.arrays["group"]) - self.level.taught

    def add_ferns(self) -> None:
        """Make room for six times the untaught ferns, before the first is drawn: for wide rows."""
        arrays = self.arrays
        ferns = self.level.untaught * MORE_FERNS + self.level.taught
        for name, fill in (("test_number", 0.0), ("test_threshold", 0.0), ("group", -1.0)):
            arrays[name] = resized(arrays[name], 0, ferns, fill)
        arrays["leaves"] = resized(arrays["leaves"], 1, ferns << (self.level.depth - int(arrays["header"][f.SHIFT])))
        arrays["kept_leaves"] = resized(arrays["kept_leaves"], 1, ferns)
        arrays["header"][f.WIDE] = 1
        self._fold(self.outputs)
        self.settle()

    def add_numbers(self, count: int) -> None:
        """Make room for so many numbers more."""
        arrays = self.arrays
        length = len(arrays["num_edges"]) + count
        arrays["num_edges"] = resized(arrays["num_edges"], 0, length)
        arrays["edges"] = resized(arrays["edges"], 0, length)
        arrays["bins"] = resized(arrays["bins"], 1, length * COARSE)
        arrays["kept_codes"] = resized(arrays["kept_codes"], 1, length)
        arrays["kept_numbers"] = resized(arrays["kept_numbers"], 1, length, float(ABSENT))
        self.settle()

    def add_outputs(self, classes: int) -> None:
        """Make room for so many classes.

        Two classes share one score s; as -s/2 and s/2 they are two of several. Where the leaves would take more than
        their room, the last test of every fern is dropped, and the weights of two leaves become their mean.
        """
        arrays = self.arrays
        before = self.outputs
        for name in ("raw", "bins", "leaves"):
            cells = arrays[name]
            grown = resized(cells, 2, classes)
            if before == 1:
                grown[:, :, 0, :LANES] = -0.5 * cells[:, :, 0, :LANES]
                grown[:, :, 1, :LANES] = 0.5 * cells[:, :, 0, :LANES]
                grown[:, :, 1, LANES:] = cells[:, :, 0, LANES:]
            arrays[name] = grown
        arrays["seen"] = resized(arrays["seen"], 0, classes)
        scores = arrays["kept_score"]
        arrays["kept_score"] = resized(scores, 1, classes, math.log(1e-6))
        if before == 1:
            p = 1.0 / (1.0 + np.exp(-scores[:, 0].astype(np.float64)))
            arrays["kept_score"][:, 0], arrays["kept_score"][:, 1] = np.log(1.0 - p), np.log(p)
        self._fold(classes)
        self.settle()

    def _fold(self, classes: int) -> None:
        arrays = self.arrays
        room = WIDE_CELLS if self.is_wide else MOST_CELLS
        while arrays["leaves"].shape[1] * classes > room and arrays["leaves"].shape[1] > len(arrays["group"]):
            pairs = arrays["leaves"]
            folded = zeros(pairs.shape[0], pairs.shape[1] // 2, *pairs.shape[2:])
            folded[:] = 0.5 * (pairs[:, ::2] + pairs[:, 1::2])
            arrays["leaves"] = folded
            arrays["header"][f.SHIFT] += 1
        room = arrays["raw"].shape[1] - 1
        while room * classes > MOST_CELLS and room > 1:
            room //= 2
            arrays["raw"] = resized(arrays["raw"], 1, 1 + room)
            # The columns beyond share the cells of the first ones from now on.
            kept = arrays["kept_index"]
            kept[:] = np.where(kept > 0, 1 + ((kept - 1) & (room - 1)), 0)


def first_arrays(level: Level, window: int, kind: int, seed: int | None) -> Arrays:
    """Return the arrays of a mixture that has learned nothing."""
    planes, ferns, depth = level.planes, level.untaught + level.taught, level.depth
    experts = planes * LANES
    header = np.zeros(f.HEADER_LENGTH, dtype=np.int64)
    header[[f.KIND, f.REPLAYS, f.WINDOW]] = kind, level.replays, window
    header[[f.CANDIDATES, f.SAMPLE]] = 30, 4000
    starts = tree_layout(window)
    game = np.zeros(7)
    game[0], game[2] = 1.0, GAMMA
    table = np.zeros((4, KNOTS))
    table[0] = 1.0 / (1.0 + np.exp(-np.linspace(-CUT, CUT, KNOTS)))
    table[1], table[3] = 2.0, FIRST_ROWS
    stack, spread = np.zeros((STACKS, inputs_of(planes))), np.zeros((STACKS, inputs_of(planes), inputs_of(planes)))
    stack[:, :experts] = 1.0 / experts
    inputs = np.arange(experts + 1)
    spread[:, inputs, inputs] = FIRST_VARIANCE
    if kind != CLASSES:
        inputs = experts + 1 + np.arange(INPUTS)
        spread[:, inputs, inputs] = INPUT_VARIANCE
    prior, trust, _ = shares_of(planes, usual_experts(kind))
    return {
        "header": header,
        "statistics": np.zeros((1, 6)),
        "place": np.full(1, -1, dtype=np.int64),
        "edges": np.zeros((0, MOST_EDGES), dtype=np.float32),
        "num_edges": np.zeros(0, dtype=np.int64),
        "test_number": np.zeros((ferns, depth), dtype=np.uint16),
        "test_threshold": np.zeros((ferns, depth), dtype=np.float32),
        "group": np.full(ferns, -1, dtype=np.int64),
        "raw": zeros(planes, 2, 1, 2 * LANES),
        "bins": zeros(planes, 0, 1, 2 * LANES),
        "leaves": zeros(planes, ferns << depth, 1, 2 * LANES),
        "kept_numbers": np.zeros((0, 0), dtype=np.float32),
        "kept_codes": np.zeros((0, 0), dtype=np.uint8),
        "kept_leaves": np.zeros((0, ferns), dtype=np.uint16),
        "kept_length": np.zeros(0, dtype=np.int64),
        "kept_index": np.zeros((0, 8), dtype=np.int32),
        "kept_value": np.zeros((0, 8), dtype=np.float32),
        "kept_target": np.zeros(0),
        "kept_score": np.zeros((0, 1), dtype=np.float32),
        "kept_w": np.zeros(0),
        "nodes": np.zeros(int(starts[-1])),
        "starts": starts,
        "game": game,
        "generator": make_generator(seed),
        "prior": prior,
        "stack": stack,
        "spread": spread,
        "table": table,
        "trust": trust,
        # One unit of loss to begin with; all rows count, and of hard ones those that are missed.
        "scale": np.array([0.0, 0.0, 0.0, 1.0, 0.5, 1.0, 0.5, 1.0, 0.0, FIRST_BORDER, 0.0]),
        "seen": np.zeros(seen_length(kind, 1)),
    }
