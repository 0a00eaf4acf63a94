"""The Open Inference Protocol, version 2: health, metadata and inference, as KServe, Seldon and Triton speak it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa

import stream_maxloss
from stream_maxloss.errors import UsageError
from stream_maxloss.serve.bodies import Body
from stream_maxloss.serve.http.application import Route
from stream_maxloss.serve.http.exchange import Answer, ProblemError, Request
from stream_maxloss.serve.log import Kind
from stream_maxloss.serve.tokens import Right

if TYPE_CHECKING:
    from stream_maxloss.serve.service import Service

__all__ = ["inference_routes", "read_tensors"]

TYPES: dict[str, pa.DataType] = {"BOOL": pa.bool_(), "BYTES": pa.string(), "FP32": pa.float32(), "FP64": pa.float64()}
TYPES |= {f"INT{bits}": getattr(pa, f"int{bits}")() for bits in (8, 16, 32, 64)}
TYPES |= {f"UINT{bits}": getattr(pa, f"uint{bits}")() for bits in (8, 16, 32, 64)}


class Inference:
    """Handlers of the protocol.

    Parameters
    ----------
    service
        What answers.

    """

    def __init__(self, service: Service) -> None:
        self.service = service

    async def live(self, request: Request) -> Answer:
        """Report that the process answers."""
        return Answer.json({"live": True})

    async def ready(self, request: Request) -> Answer:
        """Report whether the log was replayed and the model answers."""
        ready = self.service.learner.ready
        return Answer.json({"ready": ready}, 200 if ready else 503)

    async def server(self, request: Request) -> Answer:
        """Describe the server."""
        return Answer.json({"name": "maxloss", "version": stream_maxloss.__version__, "extensions": []})

    async def metadata(self, request: Request) -> Answer:
        """Describe the model."""
        self._require(request)
        form, predictor = self.service.form, self.service.predictor
        fields = [] if form.schema is None else [form.schema.field(name) for name in form.features]
        inputs = [{"name": field.name, "datatype": datatype_of(field.type), "shape": [-1]} for field in fields]
        outputs = [{"name": "prediction", "datatype": datatype_of(predictor.label_type()), "shape": [-1]}]
        if predictor.engine.is_classifier:
            outputs.append({"name": "probability", "datatype": "FP64", "shape": [-1]})
        model = {"name": self.service.name, "versions": [self._version()], "platform": "stream-maxloss"}
        return Answer.json({**model, "inputs": inputs, "outputs": outputs})

    async def model_ready(self, request: Request) -> Answer:
        """Report whether the model answers."""
        self._require(request)
        ready = self.service.learner.ready
        return Answer.json({"name": self.service.name, "ready": ready}, 200 if ready else 503)

    async def infer(self, request: Request) -> Answer:
        """Predict the rows of some tensors."""
        self._require(request)
        try:
            asked = orjson.loads(request.body)
        except orjson.JSONDecodeError as error:
            raise UsageError(f"the body must be JSON, got {len(request.body)} bytes that are not: {error}") from error
        if not isinstance(asked, dict):
            raise UsageError(f"the body must be an object with inputs, got {type(asked).__name__}")
        records = read_tensors(asked.get("inputs"), self.service.form.features)
        if records.num_rows > self.service.limits.body_rows:
            raise ProblemError(413, f"a request must have at most {self.service.limits.body_rows:,} rows")
        rows, bad = self.service.predictor.many(Body(Kind.ARROW, b"", records=records))
        if bad:
            row, reason = next(iter(bad.items()))
            raise UsageError(f"row {row}: {reason}")
        found: dict[str, Any] = {"model_name": self.service.name, "model_version": self._version()}
        if isinstance(asked.get("id"), str):
            found["id"] = asked["id"]
        outputs = [tensor_of(rows, name) for name in ("prediction", "probability") if name in rows.schema.names]
        wanted = wanted_outputs(asked.get("outputs"))
        kept = [output for output in outputs if wanted is None or output["name"] in wanted]
        return Answer.json({**found, "outputs": kept})

    def _version(self) -> str:
        return str(self.service.tail.session.learned)

    def _require(self, request: Request) -> None:
        if request.words.get("name") != self.service.name:
            raise ProblemError(404, f"the model is called {self.service.name!r}, got {request.words['name'][:100]!r}")


def read_tensors(inputs: Any, features: list[str]) -> pa.RecordBatch:
    """Return rows from tensors: one for each feature, or one matrix with a column for each.

    Raises
    ------
    UsageError
        If they are not that.

    Examples
    --------
    >>> from stream_maxloss.serve.http.inference import read_tensors
    >>> tensor = {"name": "x", "shape": [2, 2], "datatype": "FP64", "data": [1, 2, 3, 4]}
    >>> read_tensors([tensor], ["a", "b"]).to_pylist()
    [{'a': 1.0, 'b': 2.0}, {'a': 3.0, 'b': 4.0}]

    """
    if not isinstance(inputs, list) or not inputs or len(inputs) > 100_000:
        raise UsageError(f"inputs must be a list of tensors, got {inputs!r:.200}")
    columns = [read_tensor(tensor) for tensor in inputs]
    name, shape, values = columns[0]
    if len(columns) == 1 and len(shape) == 2 and shape[1] == len(features) and name not in features:
        return pa.RecordBatch.from_arrays(
            [values.take(pa.array(range(i, len(values), shape[1]))) for i in range(shape[1])], names=features
        )
    rows = shape[0]
    for name, shape, _ in columns:
        if prod(shape[1:]) != 1 or shape[0] != rows:
            raise UsageError(f"input {name!r} must have the shape [{rows}] or [{rows}, 1], got {shape}")
    names = [name for name, _, _ in columns]
    if len(set(names)) < len(names):
        raise UsageError(f"inputs must have different names, got {names[:20]}")
    return pa.RecordBatch.from_arrays([values for _, _, values in columns], names=names)


def read_tensor(tensor: Any) -> tuple[str, list[int], pa.Array]:
    """Return name, shape and values of a tensor."""
    if not isinstance(tensor, dict) or not isinstance(tensor.get("name"), str):
        raise UsageError(f"a tensor must have a name, got {tensor!r:.200}")
    name, shape, kind = tensor["name"], tensor.get("shape"), tensor.get("datatype")
    sizes = isinstance(shape, list) and shape and all(type(n) is int and 0 <= n < 1 << 31 for n in shape)
    if not isinstance(shape, list) or not sizes:
        raise UsageError(f"the shape of {name!r:.100} must be a list of sizes, got {shape!r:.200}")
    if not isinstance(kind, str) or kind not in TYPES:
        raise UsageError(f"the datatype of {name!r:.100} must be one of {', '.join(TYPES)}, got {kind!r:.100}")
    data = flat(tensor.get("data"))
    if data is None or len(data) != prod(shape):
        raise UsageError(f"the data of {name!r:.100} must be a list of {prod(shape)} values, as its shape says")
    try:
        values = pa.array(data, TYPES[kind])
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise UsageError(f"the data of {name!r:.100} must be {kind}: {' '.join(str(error).split())[:200]}") from error
    return name, shape, values


def flat(data: Any, depth: int = 0) -> list[Any] | None:
    """Return a list without its inner lists; None for what is none, or too deep."""
    if not isinstance(data, list) or depth > 8:
        return None
    if not any(isinstance(value, list) for value in data):
        return data
    parts = [flat(value, depth + 1) for value in data]
    return None if any(part is None for part in parts) else [value for part in parts for value in part or ()]


def wanted_outputs(outputs: Any) -> set[str] | None:
    """Return the names of the outputs that were asked for; None for all."""
    if outputs is None:
        return None
    if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
        raise UsageError(f"outputs must be a list of objects with names, got {outputs!r:.200}")
    return {str(output.get("name")) for output in outputs}


def tensor_of(rows: pa.RecordBatch, name: str) -> dict[str, Any]:
    """Return a column as a tensor."""
    column = rows.column(name)
    return {"name": name, "shape": [len(column)], "datatype": datatype_of(column.type), "data": column.to_pylist()}


def datatype_of(kind: pa.DataType) -> str:
    """Return what the protocol calls a type."""
    return next((name for name, known in TYPES.items() if kind.equals(known)), "BYTES")


def inference_routes(service: Service) -> list[Route]:
    """Return the routes of the protocol."""
    found = Inference(service)
    routes = [
        Route("GET", "/v2/health/live", found.live, Right.NONE, "Whether the process answers."),
        Route("GET", "/v2/health/ready", found.ready, Right.NONE, "Whether the model answers."),
        Route("GET", "/v2", found.server, Right.READ, "What this server is."),
    ]
    for prefix in ("/v2/models/{name}", "/v2/models/{name}/versions/{version}"):
        routes += [
            Route("GET", prefix, found.metadata, Right.READ, "What the model takes and gives."),
            Route("GET", f"{prefix}/ready", found.model_ready, Right.READ, "Whether the model answers."),
            Route("POST", f"{prefix}/infer", found.infer, Right.READ, "Predict rows given as tensors."),
        ]
    return routes
