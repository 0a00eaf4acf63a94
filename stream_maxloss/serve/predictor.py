"""What the model says of rows, as clients get it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa

from stream_maxloss.errors import RowError, UsageError
from stream_maxloss.evaluate import Engine
from stream_maxloss.intake.nested import flatten
from stream_maxloss.rows.dicts import frame_to_dicts
from stream_maxloss.run.certificate import promoted
from stream_maxloss.run.predictions import PredictionRows
from stream_maxloss.run.store import parse_type
from stream_maxloss.serve.bodies import Body
from stream_maxloss.serve.row_answer import RowAnswer, find_row_answer
from stream_maxloss.serve.row_form import RowForm

if TYPE_CHECKING:
    from stream_maxloss.run import Session

__all__ = ["Predictor"]

OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


class Predictor:
    """Predicts, and learns nothing.

    Parameters
    ----------
    session
        The run whose model answers, as it is at that moment.
    form
        What rows look like.

    """

    def __init__(self, session: Session, form: RowForm) -> None:
        self.session = session
        self.form = form
        self._engine: Engine | None = None
        self._plain: tuple[int, bool] | None = None
        self._short: tuple[Any, Any, RowAnswer | None] = (None, None, None)

    @property
    def model(self) -> Any:
        """The model that answers: the certified one where there is one."""
        return promoted(self.session.model)

    def answer(self, data: bytes) -> bytes | None:
        """Return the answer to one JSON row as JSON; None where it takes the way of many.

        Raises
        ------
        UsageError
            If the row is not one.

        """
        model, decode = self.model, self.form.decode_numbers
        short = self._short
        if short[0] is not model or short[1] is not decode:
            plain = self._is_plain()
            found = find_row_answer(model, decode, self.form.fields) if plain else None
            short = (model, decode, found)
            if plain:
                self._short = short
        if short[2] is not None:
            try:
                said = short[2](data)
            except ValueError as error:
                raise UsageError(str(error)) from error
            if said is not None:
                return said
        answer = self.one(data)
        return None if answer is None else orjson.dumps(answer, option=OPTIONS, default=str)

    def one(self, data: bytes) -> dict[str, Any] | None:
        """Return the answer to one JSON row; None where it takes the way of many.

        Raises
        ------
        UsageError
            If the row is not one.

        """
        x = self.form.read_one(data) if self._is_plain() else None
        if x is None:
            return None
        model = self.model
        try:
            if not self.engine.is_classifier:
                return {"prediction": float(model.predict_one(x))}
            shares = shares_of(model, x)
            return describe(label_of(model, x, shares, self.engine.is_native), shares)
        except ValueError as error:
            raise UsageError(str(error)) from error

    def many(self, body: Body) -> tuple[pa.RecordBatch, dict[int, str]]:
        """Return a row of `row`, `prediction`, `probability` for each good row, and the reasons of the others."""
        records, bad = self.read(body)
        kept = [row for row in range(body.rows) if row not in bad] if bad else range(body.rows)
        places = list(kept)
        while True:
            try:
                scored = self.engine.predict(records)
                break
            except RowError as error:
                bad[places[error.row]] = error.reason.replace(f" of row {error.row}", "", 1)
                keep = [row for row in range(records.num_rows) if row != error.row]
                records = records.take(pa.array(keep, pa.int64()))
                del places[error.row]
            except ValueError as error:
                raise UsageError(str(error)) from error
        writer = PredictionRows(self.label_type(), self.engine.is_classifier, False, scored.classes is not None)
        rows = writer.make(0, scored)
        return rows.set_column(0, "row", pa.array(places, pa.int64())), bad

    def read(self, body: Body) -> tuple[pa.RecordBatch, dict[int, str]]:
        """Return the features of a body's good rows as the model gets them, and the reasons of the others."""
        records, bad = self._read_columns(body)
        feed = self.session.feed
        if self.form.schema is None or not feed.intake.plans:
            return records, bad
        places = [row for row in range(body.rows) if row not in bad]
        X, wrong = feed.intake.apply(records, False)
        for row, reason in wrong.items():
            bad[places[row]] = reason
        if wrong:
            X = X.take(pa.array([row for row in range(len(places)) if row not in wrong], pa.int64()))
        return feed.texts.bound(X, False), bad

    def _is_plain(self) -> bool:
        """Return whether each feature is a number or a flag, so that a row is what the model gets; found out once."""
        plans = self.session.feed.intake.plans
        if self.form.schema is None:
            return True
        if self._plain is None or self._plain[0] != len(plans):
            known = bool(plans) and all(
                name in plans and plans[name].kind in ("number", "flag") for name in self.form.features
            )
            self._plain = (len(plans), known)
        return self._plain[1]

    def _read_columns(self, body: Body) -> tuple[pa.RecordBatch, dict[int, str]]:
        form = self.form
        if form.schema is None:
            form = RowForm(form.columns, identity=form.identity)
            schema = form.infer(body) if form.columns.target is None else guess(form, body)
            form.fix(schema)
        bad: dict[int, str] = {}
        if body.records is not None:
            records = form.conform(body.records)
        else:
            records, bad = form.decode(body.payloads)
        records = flatten(records)
        return records.select(form.columns.choose(records.schema.names)), bad

    def explain(self, body: Body, count: int) -> dict[str, Any]:
        """Return the prediction for one row and what it is made of, the strongest reason first.

        Raises
        ------
        UsageError
            If the row is not one, or the model gives no reasons.

        """
        records, bad = self.read(body)
        if bad:
            raise UsageError(next(iter(bad.values())))
        x = next(iter(frame_to_dicts(records)))
        model = self.model
        try:
            found = reasons_of(model, x)
            if found is None:
                raise UsageError(f"{type(model).__name__} gives no reasons; auto and the linear learners do")
            answer = {"prediction": model.predict_one(x)}
        except ValueError as error:
            raise UsageError(str(error)) from error
        return answer | {"reasons": [{"condition": c, "contribution": v} for c, v in found[:count]]}

    @property
    def engine(self) -> Engine:
        """Runs the model over batches; asked for probabilities, whatever the metrics want."""
        model, by_class = self.model, self.session.loop.engine.by_class
        if self._engine is None or self._engine.model is not model or self._engine.by_class != by_class:
            self._engine = Engine(model, labels=not has_shares(model), by_class=by_class)
        return self._engine

    def label_type(self) -> pa.DataType:
        """Return the Arrow type of predictions."""
        if not self.engine.is_classifier:
            return pa.float64()
        if self.session.feed.schema is not None:
            return self.session.feed.label_type(True)
        saved = self.session.row_form().get("label_type")
        return pa.bool_() if saved is None else parse_type(saved)


def reasons_of(model: Any, x: dict[Any, Any]) -> list[tuple[str, float]] | None:
    """Return what adds how much to the score of a row, the largest part first; None where a model cannot say."""
    if hasattr(model, "explain_one"):
        return [(str(reason.condition), float(reason.contribution)) for reason in model.explain_one(x)]
    last = model._last_step if hasattr(model, "_last_step") else model
    learner = getattr(last, "classifier", getattr(last, "regressor", last))
    weights = getattr(learner, "weights", None)
    if not isinstance(weights, dict):
        return None
    for step in list(model.steps.values())[:-1] if hasattr(model, "steps") else []:
        x = step.transform_one(x)
    named = {f"{n}={v}" if isinstance(v, str) else n: 1.0 if isinstance(v, str) else float(v) for n, v in x.items()}
    parts = [(str(name), weights.get(name, 0.0) * value) for name, value in named.items()]
    parts.append(("always", float(getattr(learner, "intercept", 0.0) or 0.0)))
    return sorted(parts, key=lambda part: -abs(part[1]))


def guess(form: RowForm, body: Body) -> pa.Schema:
    """Return what rows look like that come before the first one to learn, and so without a label."""
    from stream_maxloss.run import Columns

    columns = form.columns
    names = (columns.target, columns.weight, columns.slice_by, form.identity, *columns.exclude)
    bare = RowForm(Columns(None))
    schema = bare.infer(body)
    form.columns = Columns(None)
    return pa.schema([field for field in schema if field.name not in names])


def has_shares(model: Any) -> bool:
    """Return whether a classifier gives probabilities."""
    from river import base

    if not isinstance(model, base.Classifier):
        return False
    from stream_maxloss.focus.focused import predicts_probabilities

    return bool(predicts_probabilities(model))


def label_of(model: Any, x: dict[str, Any], shares: dict[Any, float], ours: bool) -> Any:
    """Return the predicted label: of a model of ours the likeliest, and only a tie takes a second look at the row."""
    if ours and shares:
        best = max(shares, key=shares.__getitem__)
        if [*shares.values()].count(shares[best]) == 1:
            return best
    return model.predict_one(x)


def shares_of(model: Any, x: dict[str, Any]) -> dict[Any, float]:
    """Return the probability of each label; nothing where the model only votes."""
    try:
        return dict(model.predict_proba_one(x))
    except NotImplementedError:
        return {}


def describe(label: Any, shares: dict[Any, float]) -> dict[str, Any]:
    """Return an answer as JSON has it: `probability` is that of true for two labels, else of the predicted one.

    Examples
    --------
    >>> from stream_maxloss.serve.predictor import describe
    >>> describe(False, {False: 0.75, True: 0.25})
    {'prediction': False, 'probability': 0.25}
    >>> describe("b", {"a": 0.25, "b": 0.75})
    {'prediction': 'b', 'probability': 0.75, 'probabilities': {'a': 0.25, 'b': 0.75}}

    """
    if label is None or isinstance(label, bool) or not shares:
        found = {"prediction": label}
        return found | {"probability": float(shares.get(True, 0.0))} if shares and label is not None else found
    named = {str(name): float(p) for name, p in shares.items() if p}
    return {"prediction": label, "probability": float(shares.get(label, 0.0)), "probabilities": named}
