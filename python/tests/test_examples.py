"""The examples run and print the documented output."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))

import chat_bot
import guarded_agent

from rulec import Request, Router, Rules


def test_the_bot_routes(capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(chat_bot.main())
    hello, refund, often, error = capsys.readouterr().out.splitlines()
    assert "You wrote: Hello!" in hello and "the gold plan" in refund
    assert "A colleague" in often and "broken (small_talk)" in error


def test_the_agent_repairs_its_calls() -> None:
    messages, paid = guarded_agent.agent(guarded_agent.scripted(), "money", balance=100)
    assert paid == [{"order": "A-7", "amount": 20, "currency": "EUR"}]
    told = [message["content"] for message in messages if message["role"] == "tool"]
    assert "There is no tool `refnd`" in told[0] and "the amount" in told[1]
    assert messages[-1]["content"].startswith("You will have")


def test_the_graph_goes_where_the_rules_say() -> None:
    pytest.importorskip("langgraph")
    import graph_agent

    state = graph_agent.graph(guarded_agent.scripted(), balance=100).invoke({"messages": [], "output": {}, "paid": []})
    assert state["paid"] == [{"order": "A-7", "amount": 20, "currency": "EUR"}]
    assert state["messages"][-1]["content"].startswith("You will have")


def test_a_router_is_measured() -> None:
    pytest.importorskip("opentelemetry.sdk")
    import telemetry
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()

    def broken(request: Request) -> None:
        raise ValueError("no")

    async def main() -> None:
        router = Router(Rules.from_text("route a when n > 3 -> ok\ndefault -> broken"), {"ok": print, "broken": broken})
        telemetry.measure(router, MeterProvider([reader]).get_meter("rulec"))
        for n in (1, 5, 6):
            await router.route({"n": n})
        points = points_of(reader)
        counted = {(point.attributes["route"], point.attributes["result"]): point.value for point in points["rulec.messages"]}
        assert counted == {("a", "handled"): 2, ("default", "failed"): 1}
        buckets = {point.attributes["le"]: point.value for point in points["rulec.latency.bucket"]}
        assert buckets["+Inf"] == 3 and len(buckets) == len(router.stats()["latency_bounds_us"]) + 1

    asyncio.run(asyncio.wait_for(main(), 30))


def points_of(reader: Any) -> dict[str, Any]:
    data = reader.get_metrics_data()
    metrics = [metric for resource in data.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics]
    return {metric.name: metric.data.data_points for metric in metrics}


def test_reports_go_to_the_handler_of_opentelemetry() -> None:
    logging_handler = pytest.importorskip("opentelemetry.instrumentation.logging.handler")
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs import export

    exporter: Any = vars(export)["InMemoryLogRecordExporter"]()
    provider = LoggerProvider()
    provider.add_log_record_processor(export.SimpleLogRecordProcessor(exporter))
    handler = logging_handler.LoggingHandler(logger_provider=provider)
    logging.getLogger("rulec").addHandler(handler)
    try:
        Router(Rules.from_text("default -> a"), {"a": print, "b": print})
        for _ in range(1000):
            if exporter.get_finished_logs():
                break
            time.sleep(0.01)
    finally:
        logging.getLogger("rulec").removeHandler(handler)
    [found] = exporter.get_finished_logs()
    assert found.log_record.body == "no route leads to the handler `b`"


def test_the_rules_of_the_examples_have_no_warning() -> None:
    for path in EXAMPLES.glob("*.rules"):
        assert Rules.from_path(path).warnings == []
