"""What the arrays of a mixture must be before kernels may trust them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.focus.sum_tree import tree_build
from stream_maxloss.machine.lanes import LANES
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.credence import ALL_WRONG, SURE_ROWS, WRONG
from stream_maxloss.mixture.memory import (
    MORE_FERNS,
    MOST_EDGES,
    MOST_ENTRIES,
    MOST_NUMBERS,
    SCALES,
    Memory,
    inputs_of,
    whole_scale,
)
from stream_maxloss.mixture.mixing import KNOTS, STACKS
from stream_maxloss.mixture.reading import COARSE, TAUGHT, UNTAUGHT
from stream_maxloss.mixture.stepping import CLASSES, PART
from stream_maxloss.mixture.usual import seen_length, usual_experts

__all__ = ["check_arrays", "saved_arrays"]

CELLS = 2 * LANES
EXPECTED = {
    "header": ArrayOf("int64", (f.HEADER_LENGTH,), low=0, high=1 << 53),
    "statistics": ArrayOf("float64", ("columns", 6)),
    "place": ArrayOf("int64", ("columns",), low=-1, below="numbers"),
    "edges": ArrayOf("float32", ("numbers", MOST_EDGES)),
    "num_edges": ArrayOf("int64", ("numbers",), low=0, high=MOST_EDGES),
    "test_number": ArrayOf("int32", ("ferns", "depth"), low=0, below=MOST_NUMBERS),
    "test_threshold": ArrayOf("float32", ("ferns", "depth")),
    "group": ArrayOf("int64", ("ferns",), low=-1, high=TAUGHT),
    "raw": ArrayOf("float32", ("planes", "raw_cells", "outputs", CELLS)),
    "bins": ArrayOf("float32", ("planes", "bin_cells", "outputs", CELLS)),
    "leaves": ArrayOf("float32", ("planes", "leaf_cells", "outputs", CELLS)),
    "kept_numbers": ArrayOf("float32", ("slots", "numbers"), finite=False),
    "kept_codes": ArrayOf("uint8", ("slots", "numbers")),
    "kept_leaves": ArrayOf("int32", ("slots", "ferns"), low=0, below="leaves"),
    "kept_length": ArrayOf("int64", ("slots",), low=0, high="entries"),
    "kept_index": ArrayOf("int32", ("slots", "entries"), low=0, below="raw_cells"),
    "kept_value": ArrayOf("float32", ("slots", "entries")),
    "kept_target": ArrayOf("float64", ("slots",)),
    "kept_score": ArrayOf("float32", ("slots", "outputs")),
    "kept_w": ArrayOf("float64", ("slots",), low=0.0),
    "nodes": ArrayOf("float64", ("nodes",), low=0.0),
    "game": ArrayOf("float64", (7,)),
    "generator": ArrayOf("uint64", (4,)),
    "prior": ArrayOf("float64", ("answers",), low=0.0, high=1.0),
    "stack": ArrayOf("float64", (STACKS, "inputs")),
    "spread": ArrayOf("float64", (STACKS, "inputs", "inputs")),
    "table": ArrayOf("float64", (4, KNOTS), low=-1.0),
    "trust": ArrayOf("float64", (4,), low=0.0, high=1.0),
    "scale": ArrayOf("float64", (SCALES,)),
    "seen": ArrayOf("float64", ("labels",)),
}


def saved_arrays(memory: Memory) -> dict[str, NDArray[Any]]:
    """Return copies of what was learned: of the window only rows that are kept, and no type that files do not know."""
    saved = {}
    for name in EXPECTED:
        array = memory[name]
        part = array[: memory.kept] if name.startswith("kept_") else array
        saved[name] = part.astype(np.int32 if array.dtype == np.uint16 else array.dtype)
    return saved


def require(holds: bool, what: str) -> None:
    """Raise ValueError unless something holds."""
    if not holds:
        raise ValueError(f"state must fit the learner: {what}; load it into one with the same parameters")


def check_arrays(state: Mapping[str, Any], fresh: Memory) -> dict[str, NDArray[Any]]:
    """Return copies of the arrays of a state, if a mixture like `fresh` can have them.

    Raises
    ------
    KeyError
        If an array is missing.
    ValueError
        If a shape, an index or a count is not one that this mixture could have.

    """
    level = fresh.level
    state = {**state, "scale": whole_scale(state["scale"])}
    # Models that were saved before there were experts of what is usual go on without them.
    bare = level.planes * LANES + STACKS
    kind = int(fresh["header"][f.KIND])
    if "seen" not in state and np.shape(state["prior"]) == (bare,) and np.ndim(state["raw"]) == 4:
        state = {**state, "seen": np.zeros(seen_length(kind, np.shape(state["raw"])[2]))}
    sizes = check_state(
        state,
        EXPECTED,
        planes=level.planes,
        depth=level.depth,
        leaves=1 << level.depth,
        nodes=len(fresh["nodes"]),
        inputs=inputs_of(level.planes),
    )
    arrays = {name: np.array(state[name], dtype=fresh[name].dtype, order="C") for name in EXPECTED}
    arrays["starts"] = fresh["starts"]
    require(sizes["answers"] in (bare, bare + usual_experts(kind)), f"it has {sizes['answers']} experts and stacks")
    check_sizes(arrays, sizes, fresh)
    check_seen(arrays, sizes)
    check_window(arrays, sizes)
    return arrays


def check_sizes(arrays: dict[str, NDArray[Any]], sizes: Mapping[str, int], fresh: Memory) -> None:
    """Compare the sizes of arrays, and the header, with each other."""
    header = arrays["header"]
    fixed = [f.KIND, f.REPLAYS, f.WINDOW, f.CANDIDATES, f.SAMPLE]
    require(bool((header[fixed] == fresh["header"][fixed]).all()), f"its settings are {header[fixed].tolist()}")
    require(arrays["scale"][PART] == fresh["scale"][PART], f"its objective counts {arrays['scale'][PART]} of the rows")
    columns, room = sizes["columns"], sizes["raw_cells"] - 1
    require(columns & (columns - 1) == 0 < columns and room & (room - 1) == 0 < room <= columns, "its columns")
    require(sizes["numbers"] <= MOST_NUMBERS and sizes["bin_cells"] == sizes["numbers"] * COARSE, "its numbers")
    untaught = sizes["ferns"] - fresh.level.taught
    require(untaught in (fresh.level.untaught, MORE_FERNS * fresh.level.untaught), f"it has {untaught} untaught ferns")
    # Models that were saved before there were wide rows have that many ferns without them.
    is_more = untaught == MORE_FERNS * fresh.level.untaught
    require(
        header[f.WIDE] == 0 or (header[f.WIDE] == 1 and is_more),
        f"it calls its rows wide with {untaught} untaught ferns",
    )
    sure, shares = arrays["scale"][SURE_ROWS], arrays["scale"][[WRONG, ALL_WRONG]]
    is_share = bool((shares >= 0.0).all() and (shares <= (1.0 if sure >= 1.0 else 0.0)).all())
    require(is_share and (sure == 0.0 or sure >= 1.0), "its share of wrong labels")
    shift, depth = int(header[f.SHIFT]), sizes["depth"]
    require(shift <= depth and sizes["leaf_cells"] == sizes["ferns"] << (depth - shift), "its leaves")
    require(8 <= sizes["entries"] <= MOST_ENTRIES, f"its rows have {sizes['entries']} entries")
    require(sizes["outputs"] == 1 or (header[f.KIND] == CLASSES and sizes["outputs"] > 2), "its outputs")
    require(header[f.READY] in (0, 1) and (header[f.READY] == 1 or bool((arrays["group"] < 0).all())), "its ferns")
    # A fern that is not in use still has its tests looked up.
    require(int(arrays["test_number"].max(initial=0)) < max(sizes["numbers"], 1), "a test is of no number")
    # Leaves in a group of other features would be looked up among cells that those do not have.
    require(bool(np.isin(arrays["group"], (-1, UNTAUGHT, TAUGHT)).all()), "a fern is in a group that has none")
    for name in ("raw", "bins", "leaves"):
        require(bool((arrays[name][..., LANES:] >= 0.0).all()), f"sums of squares in {name} are negative")
    require(sizes["numbers"] > 0 or bool((arrays["group"] < 0).all()), "a fern has nothing to test")
    # Ferns are in use from the first on: all untaught ones or none, and as many taught ones as were counted.
    drawn, others, taught = arrays["group"][:untaught], arrays["group"][untaught:], int(header[f.TAUGHT])
    is_ordered = taught <= len(others) and bool((others[:taught] == TAUGHT).all() and (others[taught:] < 0).all())
    require(is_ordered and bool((drawn == UNTAUGHT).all() or (drawn < 0).all()), "its ferns are out of order")
    shares, counts = arrays["table"][::2], arrays["table"][1::2]
    require(bool((shares <= 1.0).all() and (shares[0] >= 0.0).all() and (counts >= 1.0).all()), "its table")


def check_seen(arrays: dict[str, NDArray[Any]], sizes: Mapping[str, int]) -> None:
    """Check what is known of labels regardless of their rows."""
    kind = int(arrays["header"][f.KIND])
    require(sizes["labels"] == seen_length(kind, sizes["outputs"]), "its labels")
    require(kind != CLASSES or bool((arrays["seen"] >= 0.0).all()), "a label came less than never")


def check_window(arrays: dict[str, NDArray[Any]], sizes: Mapping[str, int]) -> None:
    """Check what is kept of rows, and the game that is played over them."""
    header, game = arrays["header"], arrays["game"]
    kept = int(min(header[f.ROWS], header[f.WINDOW]))
    require(sizes["slots"] == kept, f"it keeps {sizes['slots']} of {kept} rows")
    require(bool((arrays["kept_codes"] <= arrays["num_edges"]).all()), "a code is beyond the edges")
    require(not np.isnan(arrays["kept_numbers"]).any(), "a kept number is NaN")
    if header[f.KIND] == CLASSES:
        target = arrays["kept_target"]
        classes = max(2, sizes["outputs"])
        require(bool(((target >= 0) & (target < classes) & (target == np.floor(target))).all()), "a class")
    playing = kept if header[f.REPLAYS] else 0
    require(game[5] == playing and game[0] > 0.0 and game[1] >= 0.0 and 0.0 < game[2] <= 1.0, "its game")
    require(not playing or bool((arrays["nodes"][:playing] > 0.0).all()), "a kept row has no weight")
    require(bool(arrays["generator"].any()), "its generator stands still")
    # Only rows that are kept can be drawn, whatever the inner nodes said.
    arrays["nodes"][playing:] = 0.0
    tree_build(arrays["nodes"], arrays["starts"])
