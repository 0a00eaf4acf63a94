"""`--slice-by` with `--set focus.policy=slices`: the column of slices reaches the game, however labels come."""

from __future__ import annotations

import pytest

from stream_maxloss import checkpoint

WORDS = ["--target", "fraud", "--model", "HingeOGD", "--window", "50", "--replays", "2", "--set", "focus.policy=slices"]


def shares(directory):
    return checkpoint.load(directory)["FocusedClassifier"].slice_weights()


@pytest.mark.parametrize("extra", [[], ["--delay", "20"]], ids=["at once", "delayed"])
def test_the_game_has_a_weight_for_each_value_of_the_column(maxloss, day, tmp_path, extra):
    done = maxloss("tail", day, *WORDS, "--slice-by", "kind", "--checkpoint", "state", *extra)
    assert done.code == 0, done.err
    assert shares(tmp_path / "state").keys() == {"rare", "usual"}


def test_rows_whose_labels_come_later_have_their_slice_too(maxloss, tmp_path, rows_of):
    lines = [row.rsplit(",", 1) for row in rows_of(300)[1:]]
    (tmp_path / "rows.csv").write_text(
        "\n".join(["id,a,b,c,kind,importance", *(f"{k},{row}" for k, (row, _) in enumerate(lines))]) + "\n"
    )
    (tmp_path / "labels.csv").write_text(
        "\n".join(["id,fraud", *(f"{k},{label}" for k, (_, label) in enumerate(lines))]) + "\n"
    )
    words = ["tail", "rows.csv", "--labels", "labels.csv", "--key", "id", "--slice-by", "kind", *WORDS]
    done = maxloss(*words, "--checkpoint", "state")
    assert done.code == 0, done.err
    assert shares(tmp_path / "state").keys() == {"rare", "usual"}


def test_without_a_column_of_slices_the_command_says_which_option_is_missing(maxloss, day):
    done = maxloss("tail", day, *WORDS)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "got none; add --slice-by COLUMN" in done.err
