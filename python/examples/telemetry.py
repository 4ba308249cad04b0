"""Counts, latencies and reports of a router for OpenTelemetry, with the SDK from PyPI.

``python telemetry.py`` routes three messages and prints what an exporter would send. It needs
``pip install opentelemetry-sdk``, and no network.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader

from rulec import Request, Router, Rules

RESULTS = ("handled", "failed", "timed_out", "panicked", "refused", "circuit_open", "no_route", "invalid", "cancelled")


def messages_of(router: Router) -> Callable[[CallbackOptions], Iterable[Observation]]:
    """Returns a callback that observes the number of messages by route and result."""

    def observe(options: CallbackOptions) -> Iterable[Observation]:
        for row in router.stats()["routes"]:
            for result in RESULTS:
                if count := row["counts"][result]:
                    yield Observation(count, {"table": row["table"], "route": row["route"] or "", "result": result})

    return observe


def latencies_of(router: Router) -> Callable[[CallbackOptions], Iterable[Observation]]:
    """Returns a callback that observes a cumulative histogram: the messages up to each latency in microseconds."""

    def observe(options: CallbackOptions) -> Iterable[Observation]:
        stats, total = router.stats(), 0
        for bound, count in zip([*stats["latency_bounds_us"], "+Inf"], stats["messages"]["latency"]["counts"]):
            total += count
            yield Observation(total, {"le": str(bound)})

    return observe


def measure(router: Router, meter: Meter) -> None:
    """Registers the counters of a router."""
    meter.create_observable_counter("rulec.messages", [messages_of(router)], unit="{message}")
    meter.create_observable_counter("rulec.latency.bucket", [latencies_of(router)], unit="{message}")


async def main() -> None:
    # With opentelemetry-instrumentation-logging, its handler exports the reports of `rulec` instead.
    logging.basicConfig()
    provider = MeterProvider([PeriodicExportingMetricReader(ConsoleMetricExporter())])

    async def chat(request: Request) -> str:
        return f"You wrote: {request.text}"

    router = Router(Rules.from_text("default -> chat"), {"chat": chat})
    measure(router, provider.get_meter("rulec"))
    for text in ("Hello", "Is anyone there?", "Bye"):
        await router.route({"text": text})
    provider.shutdown()


if __name__ == "__main__":
    asyncio.run(main())
