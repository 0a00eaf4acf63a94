"""Where the time of each hot path goes, piece by piece: `python -m benchmarks.profile [section ...]`.

Each piece is measured alone, over and over; the least time counts, so that a busy machine disturbs little. Pieces run
with warm caches, so their sum is less than the whole that they are part of.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.cases.replay import FEATURES, REPLAYS, WINDOW, Idle
from benchmarks.data import BATCH, as_batches, as_dicts, dense_rows, sparse_rows

__all__ = ["SECTIONS", "main"]

REPEATS = 25
ROUNDS = 100_000

Pieces = Iterator[tuple[str, float]]


def cost(work: Callable[[], Any], units: int = 1, least: float = 0.002) -> float:
    """Return nanoseconds of processor time per unit: the least of some repeats that take a few milliseconds each."""
    work()
    started = time.process_time()
    work()
    times = max(1, round(least / max(time.process_time() - started, 1e-6)))
    best = float("inf")
    for _ in range(REPEATS):
        started = time.process_time()
        for _ in range(times):
            work()
        best = min(best, time.process_time() - started)
    return 1e9 * best / (times * units)


def learn_one(features: int) -> Pieces:
    """Pieces of predicting and learning one dict."""
    from river import linear_model

    from stream_maxloss.linear import Perceptron

    stream = as_dicts(*dense_rows(max(100, 4000 // features), features))
    ours, peer = Perceptron(), linear_model.Perceptron()
    for x, y in stream:
        ours.predict_one(x)
        ours.learn_one(x, y)
        peer.learn_one(x, y)
    model = ours._model

    def each(call: Callable[[Any, Any], Any]) -> Callable[[], None]:
        def work() -> None:
            for x, y in stream:
                call(x, y)

        return work

    rows = len(stream)
    yield "loop and an empty Python call", cost(each(lambda x, y: None), rows)
    yield (
        "kernel that reads the dict and scores",
        cost(each(lambda x, y: model.kernels.score_row(model.shortcut, x)), rows),
    )
    yield "predict_one", cost(each(lambda x, y: ours.predict_one(x)), rows)
    yield "learn_one", cost(each(ours.learn_one), rows)
    yield "River's predict_one", cost(each(lambda x, y: peer.predict_one(x)), rows)
    yield "River's learn_one", cost(each(peer.learn_one), rows)


def learn_many(features: int) -> Pieces:
    """Pieces of learning a record batch, by the row."""
    from benchmarks.cases.batches import prepare_scikit_learn
    from stream_maxloss.labels import signs_of
    from stream_maxloss.linear import Perceptron
    from stream_maxloss.linear.batch_checks import Labelled, row_weights
    from stream_maxloss.linear.batches import learn_columns
    from stream_maxloss.rows.frame import open_numbers

    X, y = dense_rows(BATCH, features)
    [(batch, labels)] = as_batches(X, y)
    ours = Perceptron()
    ours.learn_many(batch, labels)
    known, columns = ours._model.features, np.asfortranarray(X)
    numbers, labelled = open_numbers(batch, known, True), Labelled(signs_of(labels), np.ones(BATCH), np.empty(BATCH))
    if numbers is None:
        raise TypeError("the batch must hold numbers only")
    yield "labels", cost(lambda: signs_of(labels), BATCH)
    yield "sample weights", cost(lambda: row_weights(1.0, BATCH), BATCH)
    yield "schema, names and addresses", cost(lambda: open_numbers(batch, known, True), BATCH)
    yield "kernel: tiles, scores, steps", cost(lambda: learn_columns(ours._model, numbers, labelled), BATCH)
    yield "learn_many", cost(lambda: ours.learn_many(batch, labels), BATCH)
    yield "reading the values once (their sum)", cost(columns.sum, BATCH)
    yield "scikit-learn's partial_fit", cost(prepare_scikit_learn(X, y), BATCH)


def batch_rows(features: int) -> Pieces:
    """What a value costs by the rows of its batch: a column costs something once, however many rows it has."""
    from stream_maxloss.linear import Perceptron
    from stream_maxloss.rows.frame import open_numbers

    X, y = dense_rows(BATCH, features)
    for rows in (256, 1024, 4096, BATCH):
        (batch, labels), *_ = as_batches(X[:rows], y[:rows], rows)
        ours = Perceptron()
        ours.learn_many(batch, labels)
        known = ours._model.features
        once = cost(lambda batch=batch, known=known: open_numbers(batch, known, True), features)  # type: ignore[misc]
        yield f"{rows} rows: address of a column, once a batch", once
        learn = cost(lambda ours=ours, batch=batch, y=labels: ours.learn_many(batch, y), rows * features)  # type: ignore[misc]
        yield f"{rows} rows: learn_many, by the value", learn


def sparse() -> Pieces:
    """Pieces of learning sparse rows, by the row."""
    from benchmarks.cases.sparse import as_map_batch, prepare
    from stream_maxloss.linear import Perceptron
    from stream_maxloss.linear.batches import score_rows
    from stream_maxloss.rows import read_frame

    X, y, _ = sparse_rows()
    batch, ours = as_map_batch(X), Perceptron()
    ours.learn_many(batch, y)
    known = ours._model.features
    stretches = list(read_frame(batch, known, learn=True))

    def score() -> None:
        for rows in stretches:
            score_rows(ours._model, rows)

    yield "map, names and checks", cost(lambda: list(read_frame(batch, known, learn=True)), len(y))
    yield "kernel: scores", cost(score, len(y))
    yield "learn_many", cost(lambda: ours.learn_many(batch, y), len(y))
    yield "scikit-learn's partial_fit", cost(prepare("scikit-learn", {}), len(y))


def replay() -> Pieces:
    """Pieces of a replay over our own learner."""
    from benchmarks.profile_loops import draw_slots, find_slots, score_slots, set_slots, update_slots
    from stream_maxloss.focus import FocusedClassifier
    from stream_maxloss.linear import HingeOGD

    [(batch, labels)] = as_batches(*dense_rows(BATCH, FEATURES))
    part, part_labels = batch.slice(0, 2048), labels.slice(0, 2048)

    def learner(replays: int) -> Any:
        model = FocusedClassifier(HingeOGD(), window=WINDOW, replays=replays, seed=1)
        model.learn_many(batch, labels)
        return model

    focused, bare = learner(REPLAYS), learner(0)
    whole = cost(lambda: focused.learn_many(part, part_labels), 2048)
    arrival = cost(lambda: bare.learn_many(part, part_labels), 2048)
    game, window = focused._native._arrays(), focused._native.window.arrays
    tree = (game.nodes, game.starts)
    memory = focused._native.model.memory
    yield "draw a slot and its probability", cost(lambda: draw_slots(*tree, game.game, game.generator, ROUNDS), ROUNDS)
    yield "of which down the tree", cost(lambda: find_slots(*tree, game.generator, ROUNDS), ROUNDS)
    yield "fetch and score a row", cost(lambda: score_slots(memory, window.matrix, game.generator, ROUNDS), ROUNDS)
    yield "raise its weight", cost(lambda: update_slots(*tree, game.game, game.generator, ROUNDS), ROUNDS)
    yield "of which up the tree", cost(lambda: set_slots(*tree, WINDOW, game.generator, ROUNDS), ROUNDS)
    yield "an arrival without replays", arrival
    yield f"a replay, arrivals left out ({REPLAYS} an arrival)", (whole - arrival) / REPLAYS
    yield "a replay, arrivals included", whole / REPLAYS


def foreign() -> Pieces:
    """Pieces of a replay around another library's model."""
    from stream_maxloss.focus import FocusedClassifier
    from stream_maxloss.focus.game import replay_entry_point
    from stream_maxloss.focus.player import player_draw
    from stream_maxloss.focus.policy import Exponential

    stream = as_dicts(*dense_rows(200, FEATURES))
    many, rows = 50, len(stream)

    def passing(replays: int) -> tuple[Any, Callable[[], None]]:
        model = FocusedClassifier(Idle(), window=WINDOW, replays=replays, seed=1)

        def work() -> None:
            for x, y in stream:
                model.learn_one(x, y)

        return model, work

    model, work = passing(many)
    whole, arrival = cost(work, rows), cost(passing(0)[1], rows)
    player, idle, (x, y) = model._game.player, Idle(), stream[0]
    tree = (player.tree.nodes, player.tree.starts, player.game, player.generator)
    finish, handle = replay_entry_point(Exponential.raised), model._game.handle
    yield "crossing: draw", cost(lambda: player_draw(*tree))
    yield "crossing: finish a round and draw", cost(lambda: finish(handle, 0, 1e-4, 0.5, True))
    yield "loss of a row, the model's call included", cost(lambda: model._loss_of(x, y, {}))
    yield "the model's two calls", cost(lambda: (idle.predict_proba_one(x), idle.learn_one(x, y)))
    yield "a replay, arrivals left out", (whole - arrival) / many


def tree(slots: int) -> Pieces:
    """Pieces of a draw and an update of a tree of this size."""
    from benchmarks.profile_loops import find_slots, set_slots
    from stream_maxloss.focus.sum_tree import SumTree
    from stream_maxloss.random import make_generator

    weights, generator = SumTree(slots), make_generator(1)
    weights.set_many(np.arange(slots), np.random.default_rng(1).random(slots))
    arrays = (weights.nodes, weights.starts)
    yield "down the tree", cost(lambda: find_slots(*arrays, generator, ROUNDS), ROUNDS)
    yield "up the tree", cost(lambda: set_slots(*arrays, slots, generator, ROUNDS), ROUNDS)


SECTIONS: dict[str, Callable[[], Pieces]] = {
    "learn_one-5": lambda: learn_one(5),
    "learn_one-20": lambda: learn_one(20),
    "learn_many-5": lambda: learn_many(5),
    "learn_many-20": lambda: learn_many(20),
    "learn_many-500": lambda: learn_many(500),
    "batch_rows-20": lambda: batch_rows(20),
    "batch_rows-100": lambda: batch_rows(100),
    "batch_rows-1000": lambda: batch_rows(1000),
    "batch_rows-2000": lambda: batch_rows(2000),
    "sparse": sparse,
    "replay": replay,
    "foreign": foreign,
    "tree-1000": lambda: tree(1_000),
    "tree-100000": lambda: tree(100_000),
    "tree-1000000": lambda: tree(1_000_000),
}


def main(arguments: list[str]) -> None:
    """Print the pieces of the sections asked for, or of all."""
    unknown = [name for name in arguments if name not in SECTIONS]
    if unknown:
        raise SystemExit(f"section must be one of {', '.join(SECTIONS)}, got {unknown[0]!r}; leave it out for all")
    for name in arguments or SECTIONS:
        sys.stdout.write(f"{name}\n")
        for piece, nanoseconds in SECTIONS[name]():
            sys.stdout.write(f"  {piece:<48} {nanoseconds:10.2f} ns\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
