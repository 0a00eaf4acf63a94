"""How far the label of a kept row can be believed: rows that are probably mislabelled are not replayed.

The mixture gives the label of each row a probability p_i before any expert learns it, and that is kept with the row. No
replay moves it, only a lesson whose new fern finds many rows like it: it is the opinion of a twin that has not learned
the row, for which Mindermann et al. (2022) train a second model.

If a share epsilon of all labels is replaced by one of the other C - 1 classes, a row that is surely of another class
still gets p_i = e = epsilon / (C - 1) from whoever predicts well, and by Bayes' rule its label is true with probability

    b_i = (1 - epsilon) (p_i - e) / ((1 - epsilon - e) p_i),    within [0, 1],

one minus the alpha_i of Krause and Singer (2004, Figure 1), whose p is that of the true label where this is that of the
label that came. But where classes overlap, rows are unlikely and right: of the rows that the mixture gets wrong, m of
all, only a share rho = epsilon / m, at most 1, is explained by wrong labels, and so far only they are doubted:

    c_i = 1 - rho (1 - b_i).

The game sees the loss c_i loss_i, a row enters it with c_i of the mean weight, and experts take c_i of a step when they
replay it. With c_i < 1/2 the label is more likely wrong than right, and the row is left alone.

epsilon is how often the mixture errs where it is surest, on a fifth of the rows. It counts as far as it is certain:
with r of the last n <= 5,000 sure rows wrong,

    epsilon = r - 2 sqrt(r (1 - r) / n),    at least 0,

so that where labels are clean it goes to 0, every c_i to 1, and the game is what it is without.

References
----------
Nir Krause and Yoram Singer. Leveraging the margin more carefully. ICML 2004.

Sören Mindermann et al. Prioritized training on points that are learnable, worth learning, and not yet learnt. ICML
2022.

"""

from __future__ import annotations

import math

import numpy as np

from stream_maxloss.machine.compiled import inner, unfolded
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.stepping import CLASSES

__all__ = ["ALL_WRONG", "FIRST_BORDER", "SURE_ROWS", "WRONG", "credence", "observe_label"]

# Places in SCALE: sure rows and one more, which counts as right, or 0 where nobody counts them; the share of them that
# was wrong; the log-odds from which on the mixture is sure; and the share of all rows that was wrong.
SURE_ROWS, WRONG, BORDER, ALL_WRONG = 7, 8, 9, 10
# Rows that are remembered, of the sure ones and of all.
MEMORY = 5000.0
# The log-odds at first, a probability of 95 %: the misses of a model that knows nothing yet are not wrong labels.
FIRST_BORDER = 3.0
# The share of the rows that are sure, and how far the border moves towards them: up at each sure row, down at others.
SURE = 0.2
PACE = 0.02
# Deviations by which the share of wrong labels must be above nothing.
DEVIATIONS = 2.0
MOST = 0.45
LEAST = 1e-6


@unfolded
def observe_label(table: f.Table, target: float) -> None:
    """Take the label of the row at hand, which was just answered, into the share of wrong ones."""
    scale, out = f.reals_1(table, f.SCALE), f.reals_1(table, f.OUT)
    if scale[SURE_ROWS] == 0.0:
        return
    outputs = table[f.SCORE, 2]
    if outputs == 1:
        top = max(out[0], 1.0 - out[0])
        said = out[0] if target == 1.0 else 1.0 - out[0]
    else:
        said = out[np.int64(target)]
        top = said
        for c in range(outputs):
            top = max(top, out[c])
    is_wrong = 1.0 if said < top - LEAST else 0.0
    rows = np.float64(f.integers_1(table, f.HEADER)[f.ROWS])
    scale[ALL_WRONG] += (is_wrong - scale[ALL_WRONG]) / min(rows + 1.0, MEMORY)
    top = min(max(top, LEAST), 1.0 - LEAST)
    if math.log(top / (1.0 - top)) < scale[BORDER]:
        scale[BORDER] -= PACE * SURE
        return
    scale[BORDER] += PACE * (1.0 - SURE)
    scale[SURE_ROWS] = min(scale[SURE_ROWS] + 1.0, MEMORY)
    scale[WRONG] += (is_wrong - scale[WRONG]) / scale[SURE_ROWS]


@inner
def credence(table: f.Table, slot: int) -> float:
    """Return how far the label of a kept row is believed, c_i, and 0 if it is more likely wrong than right."""
    scale = f.reals_1(table, f.SCALE)
    wrong, rows = scale[WRONG], scale[SURE_ROWS]
    if wrong == 0.0 or f.integers_1(table, f.HEADER)[f.KIND] != CLASSES:
        return 1.0
    epsilon = min(wrong - DEVIATIONS * math.sqrt(wrong * (1.0 - wrong) / rows), MOST)
    if not epsilon > 0.0:
        return 1.0
    p = max(kept_chance(table, slot), LEAST)
    other = epsilon / (max(table[f.KEPT_SCORE, 2], 2) - 1)
    true = min(max((1.0 - epsilon) * (p - other) / ((1.0 - epsilon - other) * p), 0.0), 1.0)
    explained = min(epsilon / max(scale[ALL_WRONG], LEAST), 1.0)
    believed = 1.0 - explained * (1.0 - true)
    return believed if believed >= 0.5 else 0.0


@unfolded
def kept_chance(table: f.Table, slot: int) -> float:
    """Return the probability of a kept row's label by the log-odds that are kept with it."""
    scores, target = f.floats_2(table, f.KEPT_SCORE)[slot], np.int64(f.reals_1(table, f.KEPT_TARGET)[slot])
    if scores.shape[0] == 1:
        return 1.0 / (1.0 + math.exp(np.float64(-scores[0] if target == 1 else scores[0])))
    total = 0.0
    for c in range(scores.shape[0]):
        total += math.exp(np.float64(scores[c] - scores[target]))
    return 1.0 / total
