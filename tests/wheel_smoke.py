"""Run against the installed wheel, without pytest or any development extra: import everything, learn something."""

from __future__ import annotations

import importlib
import pkgutil

import pyarrow as pa
from river import metrics

import stream_maxloss
import stream_maxloss_connectors
from stream_maxloss import evaluate, focus, linear

# What comes with an extra: modules that are built on it do not import without it, and the command says so.
OF_EXTRAS = {"httpx", "msgspec", "onnx", "prometheus_client", "uvicorn"}


def import_everything() -> int:
    """Import every module of both packages that needs no extra, and return how many there are."""
    count = 0
    for package in (stream_maxloss, stream_maxloss_connectors):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if module.name.endswith("__main__"):
                continue
            try:
                importlib.import_module(module.name)
                count += 1
            except ModuleNotFoundError as error:
                if error.name not in OF_EXTRAS:
                    raise
    return count


def learn_something() -> float:
    """Learn a stream of Arrow batches with a focused learner and return its accuracy."""
    batch = pa.table({"x": [1.0, -1.0, 2.0, -2.0] * 500, "label": [True, False, True, False] * 500})
    model = linear.Scaler() | focus.FocusedClassifier(linear.HingeOGD(), window=100, seed=1)
    *_, last = evaluate.progressive([batch], model, metrics.Accuracy(), target="label")
    return last.values["Accuracy"]


if __name__ == "__main__":
    modules = import_everything()
    accuracy = learn_something()
    if accuracy < 0.99:
        raise SystemExit(f"the installed wheel learned badly: accuracy {accuracy}")
    print(f"{modules} modules import, accuracy {accuracy:.4f}")  # noqa: T201
