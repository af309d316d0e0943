"""Numbers for Prometheus: requests and how long they took, and every study's cases, questions and fits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from quorate.service.hall import Hall
from quorate.storage import listing

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """The numbers of one service."""

    def __init__(self, hall: Hall) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "quorate_requests", "Requests by route and status", ["method", "route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "quorate_request_seconds", "Time to answer", ["route"], buckets=BUCKETS, registry=self.registry
        )
        self.registry.register(Studies(hall))

    def text(self) -> bytes:
        """Everything in the text format of Prometheus."""
        return generate_latest(self.registry)


class Studies(Collector):
    """What the studies come to when somebody looks."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall

    def collect(self) -> Iterator[Metric]:
        """One gauge a figure."""
        cases = GaugeMetricFamily("quorate_cases", "Cases by state", labels=["study", "state"])
        waiting = GaugeMetricFamily("quorate_waiting_cases", "Open cases nobody has time for", labels=["study"])
        fits = GaugeMetricFamily("quorate_fits", "Fits adopted", labels=["study"])
        healthy = GaugeMetricFamily("quorate_healthy", "Whether the fit in force is healthy", labels=["study"])
        events = GaugeMetricFamily("quorate_events", "Events in the journal", labels=["study"])
        for name, live in self._hall.readable().items():
            for state, number in listing.counts(live.stored.db, live.stored.id).items():
                cases.add_metric([name, state], number)
            waiting.add_metric([name], live.desk.waiting)
            fits.add_metric([name], live.study.state.fits)
            healthy.add_metric([name], float(live.study.predictor.health.healthy))
            events.add_metric([name], live.study.state.events)
        unreadable = GaugeMetricFamily(
            "quorate_studies_unreadable", "Studies that cannot be loaded", value=len(self._hall.unreadable)
        )
        listeners = GaugeMetricFamily("quorate_listeners", "Open event streams", value=len(self._hall.hub))
        yield from (cases, waiting, fits, healthy, events, unreadable, listeners)


class Measured:
    """Counts requests and times them; plain ASGI, so that what streams goes on streaming."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, and note how it ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "(none)")
            method = scope["method"] if scope["method"] in KNOWN else "(other)"
            self._metrics.requests.labels(method, route, status).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - started)


KNOWN = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
