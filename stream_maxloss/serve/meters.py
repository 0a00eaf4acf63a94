"""What Prometheus scrapes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Progress
    from stream_maxloss.serve.service import Service

__all__ = ["Meters"]

BUCKETS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Meters:
    """The numbers of one service, in a registry of its own.

    Examples
    --------
    >>> from stream_maxloss.serve.meters import Meters
    >>> meters = Meters()
    >>> meters.answered("/predict", 200, 0.001)
    >>> b'maxloss_requests_total{path="/predict",status="2xx"} 1.0' in meters.text()
    True

    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("maxloss_requests", "Requests answered.", ["path", "status"], registry=self.registry)
        self._seconds = Histogram(
            "maxloss_request_seconds", "Time to the answer.", ["path"], registry=self.registry, buckets=BUCKETS
        )
        self._slices = Histogram(
            "maxloss_slice_seconds", "How long learning kept readers waiting.", registry=self.registry, buckets=BUCKETS
        )
        self._rows = Gauge("maxloss_rows", "Rows, by what became of them.", ["state"], registry=self.registry)
        self._plain = {
            name: Gauge(f"maxloss_{name}", text, registry=self.registry)
            for name, text in {
                "queue_rows": "Rows that wait to be learned.",
                "log_bytes": "Size of the write-ahead log.",
                "log_syncs": "Groups that were forced to the disk.",
                "lag": "What is known to be left of the source.",
                "rate": "Rows a second since the last report.",
                "checkpoint_age_seconds": "Since the last checkpoint.",
                "model_bytes": "Memory of what was learned.",
                "waiting_rows": "Rows that wait for their labels.",
                "ready": "1 if requests are answered.",
            }.items()
        }
        self._scores = Gauge("maxloss_score", "Metrics.", ["metric", "over"], registry=self.registry)
        self._drift = Gauge(
            "maxloss_drift",
            "A metric since the last report, less that over all rows.",
            ["metric"],
            registry=self.registry,
        )
        self._alerts = Gauge("maxloss_alerts", "Conditions of --alert that hold.", registry=self.registry)
        self._worst = Gauge("maxloss_worst_slice", "The worst slice's metric.", ["slice"], registry=self.registry)
        self._labels = Gauge(
            "maxloss_labels", "Late labels, by what became of them.", ["state"], registry=self.registry
        )
        self._known: dict[tuple[str, str], Any] = {}

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        family = f"{status // 100}xx"
        pair = self._known.get((path, family))
        if pair is None:  # finding a child by its labels costs more than counting
            pair = self._known[path, family] = (self._requests.labels(path, family), self._seconds.labels(path))
        pair[0].inc()
        pair[1].observe(seconds)

    def took_slice(self, rows: int, seconds: float) -> None:
        """Count a slice of learning."""
        self._slices.observe(seconds)

    def show(self, service: Service, progress: Progress) -> None:
        """Take over how a service stands."""
        learner = service.learner
        for state, rows in {"seen": progress.rows, "learned": progress.learned, "bad": progress.bad}.items():
            self._rows.labels(state).set(rows)
        for name, score in progress.scores.items():
            for over in ("total", "since_last", "baseline"):
                self._scores.labels(name, over).set(getattr(score, over))
            fresh = progress.recent_rate > 0.0  # else the last report is this one, and nothing has drifted
            self._drift.labels(name).set(score.since_last - score.total if fresh else 0.0)
        self._alerts.set(len(progress.alerts))
        self._worst.clear()
        if progress.worst is not None:
            self._worst.labels(str(progress.worst[0])[:100]).set(progress.worst[2])
        size = getattr(service.tail.model, "memory_bytes", 0)
        waiting = service.waiting
        for name, count in {} if waiting is None else waiting.counts.items():
            self._labels.labels(name).set(count)
        values = {
            "log_bytes": service.log.journal.bytes,
            "log_syncs": learner.synced,
            "lag": progress.lag or 0,
            "rate": progress.recent_rate,
            "model_bytes": size if isinstance(size, int) else 0,
            "waiting_rows": 0 if waiting is None else len(waiting),
        }
        for name, value in values.items():
            self._plain[name].set(value)
        self.refresh(service)

    def refresh(self, service: Service) -> None:
        """Take over what changes from moment to moment."""
        learner = service.learner
        self._plain["queue_rows"].set(learner.queued_rows)
        self._plain["checkpoint_age_seconds"].set(time.time() - learner.saved_at)
        self._plain["ready"].set(learner.ready)

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self.registry)
