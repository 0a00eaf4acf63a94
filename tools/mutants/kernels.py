"""The mutants of the learners, the game, the calculators and the losses."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

MUTANTS = (
    Mutant(
        "linear/winnow.py",
        "target * weight * load(row[1], k)",
        "target * load(row[1], k)",
        "linear/test_exactness.py::test_winnow_promotes_by_beta_to_the_power_of_the_sample_weight",
    ),
    Mutant(
        "linear/winnow.py",
        "factor_of(m, target * weight))",
        "factor_of(m, target))",
        "linear/test_exactness.py::test_winnow_promotes_the_constant_feature_too",
    ),
    Mutant(
        "linear/balanced_winnow.py",
        "target * weight * load(row[1], k)",
        "target * load(row[1], k)",
        "linear/test_exactness.py::test_balanced_winnow_moves_both_vectors_by_the_sample_weight",
    ),
    Mutant(
        "linear/additive.py",
        "store(m, NORM, load(m, SCALE) * load(m, SCALE) * whole)",
        "store(m, NORM, whole)",
        "linear/test_exactness.py::test_the_length_of_the_weights_is_true_after_it_was_computed_anew",
    ),
    Mutant(
        "linear/pegasos.py",
        "target * score < 1.0",
        "target * score <= 1.0",
        "linear/test_exactness.py::test_a_row_on_the_margin_only_shrinks_the_weights_of_pegasos",
    ),
    Mutant(
        "linear/margin_pursuit.py",
        "math.sqrt(l2) * (1.0 + steps)",
        "math.sqrt(l2) * steps",
        "linear/test_exactness.py::test_the_papers_step_is_had_with_both_readings_of_its_root",
    ),
    Mutant(
        "linear/sums.py",
        "if columns == 0 and length > SUM_IN_LANES:",
        "if True:",
        "linear/test_exactness.py::test_sparse_rows_with_a_chaotic_step_give_the_same_bits_at_both_speeds",
    ),
    Mutant(
        "linear/logistic.py",
        "weight * rate /",
        "rate /",
        "linear/test_lld.py::test_sample_weights_count_in_full_on_rows_of_any_length",
    ),
    Mutant(
        "linear/logistic.py",
        "0.25 * rate * norm",
        "0.25 * norm",
        "linear/test_lld.py::test_the_step_is_the_implicit_one_on_the_parabola_above_the_loss",
    ),
    Mutant(
        "linear/additive.py",
        "load(m, STEPS) - replayed",
        "load(m, STEPS)",
        "linear/test_estimates.py::test_the_warm_up_ends_after_so_many_arrivals_whatever_is_replayed_between_them",
    ),
    Mutant(
        "linear/hinge.py",
        "1.0 - target * score",
        "0.9 - target * score",
        "focus/test_native.py::test_both_speeds_play_the_reference_game[hinge]",
    ),
    Mutant(
        "linear/perceptron.py",
        "return 1.0 if",
        "return 0.5 if",
        "focus/test_native.py::test_both_speeds_play_the_reference_game[perceptron]",
    ),
    Mutant(
        "linear/logistic.py",
        "difference_loss(shift, margin) *",
        "2.0 *",
        "focus/test_native.py::test_both_speeds_play_the_reference_game[lld]",
    ),
    Mutant(
        "linear/margin_pursuit.py",
        "1.0 - target * score / settings[0]",
        "1.0 - target * score",
        "focus/test_native.py::test_both_speeds_play_the_reference_game[margin-pursuit]",
    ),
    Mutant(
        "linear/pegasos.py",
        "max(0.0, 1.0 - target * score)",
        "max(0.0, 2.0 - target * score)",
        "focus/test_native.py::test_both_speeds_play_the_reference_game[pegasos]",
    ),
    Mutant(
        "metrics/catoni.py",
        "math.log(2.0 / delta)",
        "math.log(1.0 / delta)",
        "linear/test_exactness.py::test_the_scale_of_lemma_6_has_two_over_delta",
    ),
    Mutant(
        "focus/rounds.py",
        "                    keep_copy(t, place, m)",
        "                    step(m, stored_row(t, slot), current(m, stored_row(t, slot)), load(targets, slot), 1.0)\n"
        "                    keep_copy(t, place, m)",
        "focus/test_exactness.py::test_a_snapshot_is_the_learner_before_the_step_of_its_round",
    ),
    Mutant(
        "focus/focused.py",
        "                self._keep(schedule.place())",
        "                learn(x, y)\n                self._keep(schedule.place())",
        "focus/test_exactness.py::test_a_snapshot_of_another_librarys_learner_is_the_one_before_the_step_too",
    ),
    Mutant(
        "focus/rounds.py",
        "if corrects else weight)",
        "if corrects else 1.0)",
        "focus/test_exactness.py::test_a_replay_has_the_sample_weight_of_its_row",
    ),
    Mutant(
        "focus/focused.py",
        "            learn(x, y, **keywords)\n",
        "            learn(x, y)\n",
        "focus/test_policy.py::test_regressors_and_learners_of_river_take_policies",
    ),
    Mutant(
        "focus/admission.py",
        "0.99 * outliers",
        "outliers",
        "focus/test_exactness.py::test_the_bound_on_a_bad_sub_sample_is_the_papers",
    ),
    Mutant(
        "focus/admission.py",
        "math.exp(-0.1 * rate",
        "math.exp(-0.2 * rate",
        "focus/test_exactness.py::test_the_bound_on_a_bad_sub_sample_is_the_papers",
    ),
    Mutant(
        "focus/admission.py",
        "next_below(generator, counts[SEEN] + 1)",
        "next_below(generator, counts[SEEN] + 2)",
        "focus/test_exactness.py::test_a_reservoir_of_one_takes_its_second_row_every_other_time",
    ),
    Mutant(
        "focus/slack.py",
        "math.sqrt(2.0 * slack.budget",
        "math.sqrt(0.5 * slack.budget",
        "focus/test_exactness.py::test_slack_steps_by_the_root_of_twice_the_budget_over_the_rounds",
    ),
    Mutant(
        "focus/slack.py",
        "math.sqrt((book[BUDGET] - 1.0) / others)",
        "math.sqrt(book[BUDGET] / others)",
        "focus/test_exactness.py::test_slack_under_l2_is_the_projection_also_where_a_row_is_forgiven_altogether",
    ),
    Mutant(
        "focus/player.py",
        "nodes[starts[-1] - 1] / others, SMALLEST",
        "1.0, SMALLEST",
        "focus/test_exactness.py::test_a_new_row_has_the_mean_weight_of_the_others",
    ),
    Mutant(
        "focus/kernels.py",
        "1.0 if one >= 0.0 else -1.0",
        "1.0 if one > 0.0 else -1.0",
        "focus/test_exactness.py::test_a_tie_among_the_snapshots_says_true",
    ),
    Mutant(
        "focus/player.py",
        "game[B] *= tree_rescale(nodes, starts)",
        "tree_rescale(nodes, starts)",
        "focus/test_exactness.py",
        equivalent="B is folded into the leaves before they pass the limit; below it all are at the floor, and equal",
    ),
    Mutant(
        "focus/player.py",
        "eta * loss / probability",
        "eta * loss",
        "focus/test_policy.py::test_weights_are_those_of_the_dense_game",
    ),
    Mutant(
        "focus/player.py", "0.5 / size", "1.0 / size", "focus/test_policy.py::test_weights_are_those_of_the_dense_game"
    ),
    Mutant(
        "focus/policy.py",
        "settings[0] * rows - 1.0",
        "settings[0] * rows",
        "focus/test_policy.py::test_the_cap_is_the_projection_in_relative_entropy",
    ),
    Mutant(
        "focus/policy.py",
        "often ** -settings[1]",
        "often ** -0.5",
        "focus/test_policy.py::test_a_step_is_shortened_by_how_much_too_often_its_row_is_drawn",
    ),
    Mutant(
        "focus/policy.py",
        "settings[0] * loss\n",
        "loss\n",
        "focus/test_policy.py::test_a_loss_counts_as_far_as_bayes_believes_the_label",
    ),
    Mutant(
        "focus/policy.py",
        "draws_evenly = True",
        "draws_evenly = False",
        "focus/test_policy.py::test_uniform_replay_is_what_gamma_one_is",
    ),
    Mutant(
        "focus/slices.py",
        "chance = gamma * part +",
        "chance = gamma +",
        "focus/test_slices.py::test_weights_and_chances_are_those_of_the_dense_game",
    ),
    Mutant(
        "focus/slices.py",
        "weights[:known].sum() / known if known > 0 else 1.0",
        "1.0",
        "focus/test_slices.py::test_a_slice_that_is_new_has_the_mean_weight_of_the_others",
    ),
    Mutant(
        "focus/slices.py",
        "left / weights[chosen] * rows",
        "left * rows",
        "focus/test_slices.py::test_rows_are_drawn_as_often_as_their_weights_say",
    ),
    Mutant(
        "focus/slices.py",
        "        if end > start:\n            order[free]",
        "        if end >= start:\n            order[free]",
        "focus/test_slices.py::test_a_roster_knows_the_rows_of_every_slice_whatever_comes_and_goes",
    ),
    Mutant(
        "focus/slack.py",
        "(1.0 - slack) * loss if book[KIND] == HARD",
        "loss if book[KIND] == HARD",
        "focus/test_slack.py::test_hard_slack_forgives_the_rows_whose_losses_add_up_to_most",
    ),
    Mutant(
        "focus/slack.py",
        "values[slot] > values[heap[0]]",
        "values[slot] < values[heap[0]]",
        "focus/test_slack.py::test_hard_slack_forgives_the_rows_whose_losses_add_up_to_most",
    ),
    Mutant(
        "focus/rounds.py",
        "if not is_hard or",
        "if True or",
        "focus/test_focused.py::test_a_row_that_hard_slack_forgives_is_replayed_and_not_learned[native]",
    ),
    Mutant("focus/theorems.py", "384.0", "192.0", "focus/test_bounds.py"),
    Mutant("focus/theorems.py", "80.0 / 3.0", "40.0 / 3.0", "focus/test_bounds.py"),
    Mutant("leverage/margin_pursuit.py", "inside**3 / 6.0", "inside**3 / 3.0", "leverage/test_margin_pursuit.py"),
    Mutant("losses.py", "away * away * away / 6.0", "away * away * away / 3.0", "test_losses.py"),
)
