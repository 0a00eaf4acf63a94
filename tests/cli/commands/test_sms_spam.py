"""Real messages, with no option but the target."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[4] / "shared" / "data"
DATA = Path(os.environ.get("STREAM_MAXLOSS_DATA", SHARED))


def f1_of(model, rows) -> float:
    from river import evaluate, metrics

    return float(evaluate.progressive_val_score(rows, model, metrics.F1()).get())


@pytest.mark.slow
@pytest.mark.data
def test_spam_is_told_as_well_as_by_words_in_river(maxloss):
    path = DATA / "sms_spam" / "sms_spam_text.parquet"
    if not path.exists():
        pytest.skip(f"no real data: {path} is absent; set STREAM_MAXLOSS_DATA to its folder")
    import pyarrow.parquet as pq
    from river import feature_extraction, linear_model, naive_bayes

    done = maxloss("tail", path, "--target", "label", "--metric", "F1", "-o", "jsonl")
    assert done.code == 0, done.err
    ours = json.loads(done.out.splitlines()[-1])["metric"]["F1"]["total"]
    rows = [({"text": row["text"]}, bool(row["label"])) for row in pq.read_table(path).to_pylist()]
    assert ours >= 0.90
    assert ours >= f1_of(feature_extraction.BagOfWords(on="text") | linear_model.LogisticRegression(), rows)
    assert ours >= f1_of(feature_extraction.BagOfWords(on="text") | naive_bayes.MultinomialNB(), rows)
