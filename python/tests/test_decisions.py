"""Decisions of language models: the bus, the coordinator, sessions and plans."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from rulec import MessageError, Rules, RulecError, UnknownName
from rulec.agents import (
    Bus,
    Coordinator,
    DecisionMade,
    DecisionRejected,
    DecisionValidated,
    NodeCall,
    NodeExecutionFailed,
    RetryRequest,
    Stop,
    Turn,
)

T = TypeVar("T")
RULES = Rules.from_path(Path(__file__).parents[2] / "rules" / "decisions.rules")
CONTEXT = {"workflows": {"w": {"status": "FAILED", "inputs": {}, "nodes": {"n": {"type": "LLM", "config": {}}}}}}
HTTP = {
    "action_type": "create_node",
    "node_type": "HTTP",
    "node_name": "获取天气",
    "config": {"url": "https://api.weather.com", "method": "GET"},
}


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(coroutine, 60))


def node(id: str, prompt: str) -> dict[str, Any]:
    return {"node_id": id, "type": "LLM", "name": id, "config": {"prompt": prompt}}


def plan(nodes: list[dict[str, Any]], *edges: tuple[str, str]) -> DecisionMade:
    links = [{"source": source, "target": target} for source, target in edges]
    return DecisionMade("create_workflow_plan", {"name": "p", "description": "d", "nodes": nodes, "edges": links}, id="plan")


def respond(text: str) -> DecisionMade:
    return DecisionMade("respond", {"response": text, "intent": "greeting", "confidence": 1}, id=text)


# The tests of the document `decision-payloads`, section 7, written for this package.


def test_create_node_decision_with_valid_payload_should_pass_validation() -> None:
    result = Coordinator(RULES).validate_decision(DecisionMade("create_node", HTTP))
    assert result.is_valid is True
    assert len(result.errors) == 0


def test_create_node_without_required_config_should_fail() -> None:
    result = Coordinator(RULES).validate_decision(DecisionMade("create_node", HTTP | {"config": {}}))
    assert result.is_valid is False
    # The document reads `errors[0]`. Here the errors are sorted by the name of the rule, so `method` comes first.
    assert [error.partition(":")[0] for error in result.errors] == ["$.config.method", "$.config.url"]
    assert isinstance(result, DecisionRejected)
    assert [violation.rule for violation in result.violations] == sorted(violation.rule for violation in result.violations)
    assert "url" in result.errors[1].lower()


@pytest.mark.parametrize(("kind", "rule"), [(None, "required"), ("", "required"), ("nope", "match")])
def test_a_decision_without_a_known_kind_has_a_violation(kind: str | None, rule: str) -> None:
    # What `payload.get("action_type")` returns for a payload of a careless model.
    result = Coordinator(RULES).validate_decision(DecisionMade(kind, {"response": "hello"}))
    assert isinstance(result, DecisionRejected)
    [violation] = result.violations
    assert (violation.rule, violation.path) == (f"general.action_type.{rule}", "$.action_type")


@pytest.mark.parametrize(("kind", "rule"), [(None, "required"), ("", "match"), ("nope", "match")])
def test_the_field_names_the_kind_of_a_payload(kind: str | None, rule: str) -> None:
    judges = RULES.judge_by("action_type")
    payload = {"action_type": kind, "response": "hello", "intent": "greeting", "confidence": 1}
    for judgement in (judges.judge(payload), judges.judge(json.dumps(payload))):
        assert not judgement.is_accepted
        assert [violation.rule for violation in judgement.violations] == [f"general.action_type.{rule}"]
        assert "respond" in judgement.feedback()
    accepted = judges.judge(payload | {"action_type": "respond"})
    assert (accepted.kind, accepted.outcome) == ("respond", "accept")
    with pytest.raises(MessageError):
        judges.judge("[]")
    strict = RULES.judge_by("action_type", inputs={"context": CONTEXT}, options={"sandbox": False}, strict=True)
    assert strict.judge(payload | {"action_type": "respond"}).is_accepted


def test_decision_made_event_should_trigger_validation() -> None:
    async def main() -> None:
        event_bus = Bus()
        event_bus.add_middleware(Coordinator(RULES).as_middleware())
        received = event_bus.subscribe(DecisionValidated)
        payload = {"action_type": "create_node", "node_type": "LLM", "node_name": "a", "config": {"prompt": "p"}}
        await event_bus.publish(DecisionMade("create_node", payload))
        assert isinstance(await anext(received), DecisionValidated)

    run(main())


def test_a_coordinator_judges_with_its_options_and_strictly() -> None:
    node = DecisionMade("create_node", {"action_type": "create_node", "node_type": "LLM", "node_name": "a", "config": {"prompt": "p"}})
    assert Coordinator(RULES).validate_decision(node).is_valid
    limited = Coordinator(RULES, options={"node_type_whitelist": ["HTTP"]})
    assert not limited.validate_decision(node).is_valid
    text = """
        input { context?: { users?: dict<any> } }
        payload pay rank 1 { who: string; require "pay.known" at who: context.users has_key who }
    """
    pay = DecisionMade("pay", {"who": "ann"})
    # The rule cannot be checked without the users, which only a strict check refuses.
    for strict in (False, True):
        assert Coordinator(Rules.from_text(text), strict=strict).validate_decision(pay).is_valid is not strict


def test_a_bus_carries_any_object_through_its_middleware() -> None:
    async def double(event: Any) -> Any:
        await asyncio.sleep(0)
        return event * 2 if isinstance(event, int) else None

    def judge(event: Any) -> Any:
        if event == "broken":
            raise ValueError("no")
        return Stop("too much") if event == 14 else None

    async def main() -> None:
        bus = Bus(middleware={"double": double, "judge": judge})
        everything, numbers = bus.subscribe(), bus.subscribe(int)
        assert bus.subscribers == 2
        event = object()
        assert (await bus.publish(event)).delivered == 2
        assert (await bus.publish(7)).stopped_by == "`judge` stopped the event: too much"
        assert "ValueError: no" in ((await bus.publish("broken")).stopped_by or "")
        assert (await bus.publish(8)).stopped_by is None
        assert await anext(everything) is event and await anext(everything) == 16
        assert await anext(numbers) == 16
        await numbers.close()
        assert bus.subscribers == 1
        assert [event async for event in numbers] == []

    run(main())


def test_a_closed_subscription_ends_a_task_that_waits() -> None:
    async def main() -> None:
        bus = Bus()
        subscription = bus.subscribe()

        async def collect() -> list[Any]:
            return [event async for event in subscription]

        waiting = asyncio.ensure_future(collect())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await asyncio.wait_for(subscription.close(), 10)
        assert await asyncio.wait_for(waiting, 10) == []

    run(main())


def test_full_queues_wait_or_drop() -> None:
    async def main() -> None:
        bus = Bus()
        latest, earliest = bus.subscribe(capacity=1, policy="drop_oldest"), bus.subscribe(capacity=1, policy="drop_newest")
        waiting = bus.subscribe(capacity=2)
        for event in (1, 2):
            published = await bus.publish(event)
        assert (published.delivered, published.dropped) == (2, 2)
        with pytest.raises(RulecError, match="1 events were dropped"):
            await anext(latest)
        assert await anext(latest) == 2 and await anext(earliest) == 1
        third = asyncio.ensure_future(bus.publish(3))
        await asyncio.sleep(0.05)
        assert not third.done()
        assert await anext(waiting) == 1
        await third
        with pytest.raises(RulecError, match="`later` is no policy"):
            bus.subscribe(policy="later")

    run(main())


def test_events_are_data() -> None:
    made = DecisionMade("create_node", HTTP, id="7", confidence=0.5)
    assert made.to_dict() == {"event": "DecisionMadeEvent", "id": "7", "kind": "create_node", "payload": HTTP, "confidence": 0.5}
    failed = NodeExecutionFailed("w", "n", "no line", error_code="E1", execution_context={"tries": 2})
    assert failed.execution_context == {"tries": 2} and failed.to_dict()["error_code"] == "E1"
    with pytest.raises(MessageError):
        DecisionMade("create_node", {"a": object()})


def test_a_failed_node_leads_to_a_recovery_or_to_its_fallback() -> None:
    async def recovery(failure: NodeExecutionFailed) -> dict[str, Any]:
        if failure.reason == "hopeless":
            raise ValueError("no plan")
        return {
            "workflow_id": failure.workflow_id,
            "failed_node_id": failure.node_id,
            "failure_reason": failure.reason,
            "recovery_plan": {"action": "SKIP"},
            "execution_context": {"error": failure.reason},
        }

    async def main() -> None:
        coordinator = Coordinator(RULES, context=CONTEXT, recovery=recovery)
        handled = await coordinator.publish(NodeExecutionFailed("w", "n", "no line"))
        assert [type(one.event).__name__ for one in handled] == ["NodeExecutionFailed", "DecisionValidated"]
        handled = await coordinator.publish(NodeExecutionFailed("w", "n", "hopeless"))
        rejected, instead = handled[1].event, handled[2].event
        assert isinstance(rejected, DecisionRejected) and "ValueError: no plan" in rejected.feedback
        assert isinstance(instead, DecisionValidated) and instead.kind == "replan_workflow"
        assert instead.decision.instead_of == ["error_recovery"]

    run(main())


def test_decisions_run_by_rank_and_questions_suspend_them() -> None:
    said: list[str] = []

    async def say(decision: DecisionValidated) -> str:
        said.append(decision.payload["response"])
        if said[-1] == "bad":
            raise OSError("no voice")
        return said[-1]

    async def main() -> None:
        session = Coordinator(RULES, handlers={"respond": say}).session()
        turn = await session.offer([respond("1"), respond("bad"), DecisionMade("request_clarification", {"question": "which?"})])
        assert turn.done == [] and turn.waiting == 2
        assert turn.question is not None and turn.question.payload["question"] == "which?"
        turn = await session.answer("sales")
        assert [done.result for done in turn.done] == [{"answer": "sales"}, "1", None]
        assert turn.done[2].error == "OSError: no voice" and said == ["1", "bad"]
        with pytest.raises(RulecError, match="nothing was asked"):
            await session.answer("sales")

    run(main())


def test_a_recovery_interrupts_a_decision_that_runs() -> None:
    begun = asyncio.Event()
    cancelled: list[bool] = []

    async def say(decision: DecisionValidated) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def main() -> Turn:
        handlers: dict[str, Any] = {"respond": say, "error_recovery": lambda decision: "recovered"}
        session = Coordinator(RULES, context=CONTEXT, handlers=handlers).session()
        turn = asyncio.ensure_future(session.offer(respond("1")))
        await begun.wait()
        recovery = {"workflow_id": "w", "failed_node_id": "n", "failure_reason": "r", "recovery_plan": {"action": "SKIP"}, "execution_context": {}}
        assert session.send(DecisionMade("error_recovery", recovery))
        result = await turn
        while not cancelled:
            await asyncio.sleep(0.01)
        return result

    turn = run(main())
    assert [made.kind for made in turn.interrupted] == ["respond"] and turn.done[0].result == "recovered"


def test_the_agent_repairs_rejected_decisions() -> None:
    asked: list[int] = []

    async def agent(request: RetryRequest) -> DecisionMade:
        asked.append(request.attempt)
        assert "confidence" in request.rejected.feedback
        return respond("better") if request.attempt == 2 else DecisionMade("respond", {"response": "x", "intent": "greeting", "confidence": "sure"})

    async def main() -> Turn:
        session = Coordinator(RULES, agent=agent, tries=2).session()
        return await session.offer(DecisionMade("respond", {"response": "x", "intent": "greeting", "confidence": "sure"}))

    turn = run(main())
    assert asked == [1, 2] and len(turn.rejected) == 2 and turn.done[0].decision.decision.id == "better"


def test_a_plan_runs_on_workers_and_resumes_where_it_failed() -> None:
    prompts: list[str] = []
    saved: list[dict[str, Any]] = []

    async def llm(call: NodeCall) -> dict[str, Any]:
        await asyncio.sleep(0)
        prompts.append(call.config["prompt"])
        if call.config["prompt"] == "fail" and prompts.count("fail") < 2:
            raise ConnectionError("no line")
        return {"text": call.config["prompt"], "input": call.input}

    async def main() -> None:
        attempts: list[dict[str, Any]] = []
        coordinator = Coordinator(RULES, workers={"LLM": llm}, saving=saved.append, on_attempt=attempts.append)
        turn = await coordinator.session().offer([plan([node("a", "x"), node("b", "fail")], ("a", "b"))])
        report = turn.done[0].report
        assert report is not None and report["status"] == "FAILED" and "no line" in (turn.done[0].error or "")
        assert [attempt["node"] for attempt in attempts] == ["a", "b"] and "no line" in attempts[1]["error"]
        assert (await coordinator.resume(report["workflow_id"]))["status"] == "COMPLETED"
        assert prompts == ["x", "fail", "fail"]
        other = Coordinator(RULES, workers={"LLM": llm})
        assert other.saved("w") is None
        identity = other.restore(saved[0])
        assert (await other.resume(identity))["outputs"]["b"]["text"] == "fail"
        assert prompts == ["x", "fail", "fail", "fail"]
        with pytest.raises(RulecError, match="no workflow `nothing`"):
            await other.resume("nothing")

    run(main())


def test_a_plan_without_a_worker_is_rejected_and_settings_are_checked() -> None:
    async def main() -> Turn:
        return await Coordinator(RULES).session().offer([plan([node("a", "x")])])

    turn = run(main())
    assert "LLM" in turn.rejected[0].feedback
    with pytest.raises(TypeError, match="no setting `tris`; the settings are .*tries"):
        Coordinator(RULES, tris=3)  # type: ignore[call-arg]


def test_decisions_are_arbitrated() -> None:
    order = RULES.arbitrate([("1", "respond"), ("2", "error_recovery"), ("3", "create_node")])
    assert (order["run_now"], order["interrupted"], order["published"]) == ("2", ["3", "1"], True)
    with pytest.raises(UnknownName):
        RULES.arbitrate([("1", "nothing")])


def test_the_bus_of_a_coordinator_and_its_settings() -> None:
    seen: list[Any] = []

    def fallback(rejected: DecisionRejected) -> Any:
        seen.append(rejected.kind)
        return None

    def broken(failure: NodeExecutionFailed) -> Any:
        raise ValueError("no plan")

    async def llm(call: NodeCall) -> dict[str, Any]:
        return {"text": call.config["prompt"], "n": 3}

    async def main() -> None:
        coordinator = Coordinator(
            RULES, context=CONTEXT, middleware={"see": seen.append}, middleware_limit=5, workers={"LLM": llm}, conditions=True,
            loops=2, values={"WHO": "ann"}, node_limit=5, run_limit=20, step_limit=100, byte_limit=10_000, recoveries=2,
            recovery=broken, recovery_limit=5, fallback=fallback,
        )
        inbox = coordinator.bus.subscribe(DecisionValidated)
        test = {"node_id": "b", "type": "CONDITION", "name": "b", "config": {"condition": "n > 2"}}
        turn = await coordinator.session().offer([plan([node("a", "hello ${WHO}"), test], ("a", "b"))])
        report = turn.done[0].report
        assert report is not None and report["outputs"]["a"]["text"] == "hello ann" and report["outputs"]["b"]["result"] is True
        assert (await anext(inbox)).kind == "create_workflow_plan" and isinstance(seen[0], DecisionMade)
        handled = await coordinator.publish(NodeExecutionFailed("w", "n", "no line"))
        assert len(handled) == 2 and seen[-1] == "error_recovery"
        coordinator.replace(Rules.from_text("payload respond rank 1 { response: string not blank }"))
        assert coordinator.validate_decision(DecisionMade("respond", {"response": "x"})).is_valid

    run(main())


def test_the_bus_of_a_coordinator_delivers_results_of_checks() -> None:
    async def main() -> None:
        seen: list[Any] = []
        coordinator = Coordinator(RULES, middleware={"watch": lambda event: seen.append(event)})
        events = coordinator.bus.subscribe()
        await coordinator.session().offer([respond("hello"), respond(" ")])
        validated, rejected = await anext(events), await anext(events)
        assert isinstance(validated, DecisionValidated) and isinstance(rejected, DecisionRejected)
        assert [event.decision.kind for event in (validated, rejected)] == ["respond", "respond"]
        assert all(isinstance(event, DecisionMade) for event in seen) and len(seen) >= 2

    run(main())
