"""Workflows whose nodes are Python functions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from rulec import Rules, RulecError, UnknownName
from rulec.workflows import NodeCall, Workflow, WorkflowError

T = TypeVar("T")
RULES = Rules.from_text("""
router verdict(output) { when output.approved -> next[0]  otherwise -> next[1] }
router again(output) { when output.rounds == 2 -> next[1]  otherwise -> next[0] loopback }

workflow review {
  passthrough session
  node draft write -> readers
  node readers parallel -> editor, checker
  node editor say { word: "YES" } -> ballot
  node checker say { word: "NO" } -> ballot
  node ballot vote { threshold: 0.5 } -> published, shelved by verdict
  node published write
  node shelved write
}

workflow rounds {
  node draft write -> check
  node check count -> draft, done by again
  node done write
}
""")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(coroutine, 60))


async def write(call: NodeCall) -> Any:
    await asyncio.sleep(0)
    return call.input


def say(node: dict[str, Any]) -> Callable[[NodeCall], Any]:
    word = node["config"]["word"]
    return lambda call: {node["id"]: word}


def count(call: NodeCall) -> dict[str, Any]:
    call.memory = (call.memory or 0) + 1
    return {"rounds": call.memory}


def test_a_workflow_of_rules_runs() -> None:
    async def main() -> dict[str, Any]:
        workflow = Workflow.from_rules(RULES, "review", workers={"write": write, "vote": "vote"}, factories={"say": say})
        assert workflow.findings == []
        return await workflow.run({"session": 7})

    report = run(main())
    assert report["complete"] and report["executed"] == ["draft", "editor", "checker", "ballot", "published"]
    published = report["outputs"]["published"]
    assert published["yes_votes"] == 1 and published["session"] == 7


def test_a_loop_keeps_its_memory_and_resumes() -> None:
    async def main() -> None:
        workflow = Workflow.from_rules(RULES, "rounds", workers={"write": write, "count": count})
        started = workflow.begin({})
        assert started.next_node == "draft"
        assert await started.step() and await started.step()
        saved = json.loads(json.dumps(started.save()))
        assert started.report["executed"] == ["draft", "check"]
        report = await workflow.resume(saved).to_end()
        assert report["executed"] == ["draft", "check", "draft", "check", "done"]
        assert (await started.to_end())["outputs"]["done"] == {"rounds": 2}
        with pytest.raises(WorkflowError, match="has ended"):
            await started.step()
        other = Workflow("draft", [{"id": "draft", "type": "write"}], workers={"write": write})
        with pytest.raises(WorkflowError, match="another graph"):
            other.resume(saved)

    run(main())


def test_a_failed_node_is_reported_and_runs_again() -> None:
    tries: list[str] = []

    async def flaky(call: NodeCall) -> str:
        tries.append(call.node)
        if len(tries) == 1:
            raise ConnectionError("no line")
        return "ok"

    async def main() -> None:
        started = Workflow("a", [{"id": "a", "type": "flaky"}], workers={"flaky": flaky}).begin(None)
        await started.step()
        [failure] = started.report["failures"]
        assert failure["node"] == "a" and "ConnectionError: no line" in failure["message"]
        assert started.retry_failed() == 1
        assert (await started.to_end())["outputs"] == {"a": "ok"}

    run(main())


def test_a_slow_node_is_cancelled_at_its_limit() -> None:
    cancelled: list[bool] = []

    async def slow(call: NodeCall) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def main() -> dict[str, Any]:
        nodes = [{"id": "a", "type": "slow", "time_limit_ms": 50}]
        report = await Workflow("a", nodes, workers={"slow": slow}).run(None)
        while not cancelled:
            await asyncio.sleep(0.01)
        return report

    assert run(main())["failures"][0]["kind"] == "time_limit"


def test_inputs_are_merged() -> None:
    nodes: list[dict[str, Any]] = [
        {"id": "start", "next": ["a", "b"], "parallel": True},
        {"id": "a", "next": ["join"]},
        {"id": "b", "next": ["join"]},
        {"id": "join"},
    ]
    processors: dict[str, Any] = {"a": lambda call: {"x": 1}, "b": lambda call: {"x": 2}, "join": lambda call: call.input}

    def total(node: str, inputs: list[Any]) -> Any:
        return {node: sum(value["x"] for _, value in inputs)}

    async def main() -> list[Any]:
        answers = []
        for merge in ("latest", "append", "by_node", total):
            report = await Workflow("start", nodes, processors=processors, merge=merge).run({})
            answers.append(report["outputs"]["join"])
        one = await Workflow("start", nodes, processors=processors, merges={"join": total}).run({})
        return [*answers, one["outputs"]["join"]]

    assert run(main()) == [{"x": 2}, {"x": [1, 2]}, {"a": {"x": 1}, "b": {"x": 2}}, {"join": 3}, {"join": 3}]


def test_routers_of_rules_and_what_cannot_be_built() -> None:
    nodes: list[dict[str, Any]] = [
        {"id": "a", "type": "echo", "next": ["b", "c"]},
        {"id": "b", "type": "echo"},
        {"id": "c", "type": "echo"},
    ]

    async def main() -> list[str]:
        workflow = Workflow("a", nodes, rules=RULES, routers={"a": "verdict"}, workers={"echo": "echo"})
        report = await workflow.run({"approved": False})
        return list(report["executed"])

    assert run(main()) == ["a", "c"]
    # A router may call a function of Python.
    scored = Rules.from_text(
        """
        extern fn score(text: string) -> int
        router by_score(output) { when score(output.text as string) > 3 -> next[0]  otherwise -> next[1] }
        """,
        functions={"score": len},
    )
    workflow = Workflow("a", nodes, rules=scored, routers={"a": "by_score"}, workers={"echo": "echo"})

    async def executed(text: str) -> list[str]:
        return list((await workflow.run({"text": text}))["executed"])

    assert (run(executed("a long text")), run(executed("a"))) == (["a", "b"], ["a", "c"])
    with pytest.raises(UnknownName, match="verdikt"):
        Workflow("a", nodes, rules=RULES, routers={"a": "verdikt"}, workers={"echo": "echo"})
    with pytest.raises(WorkflowError, match="give `rules`, too"):
        Workflow("a", nodes, routers={"a": "verdict"}, workers={"echo": "echo"})
    with pytest.raises(WorkflowError, match="kind `echo` is not registered"):
        Workflow("a", nodes)
    with pytest.raises(WorkflowError, match="no built-in processor"):
        Workflow("a", nodes, workers={"echo": "ecko"})
    with pytest.raises(WorkflowError, match="no merge strategy"):
        Workflow("a", nodes, workers={"echo": "echo"}, merge="last")
    with pytest.raises(TypeError, match="no argument `worker`"):
        Workflow("a", nodes, worker={})  # type: ignore[call-arg]
    with pytest.raises(UnknownName, match="no workflow `revue`"):
        Workflow.from_rules(RULES, "revue")


def test_workflows_are_drawn() -> None:
    assert RULES.draw("review").startswith("%% review\nflowchart TD\n")
    assert RULES.draw("review", format="dot").startswith("digraph")
    assert "<svg" in RULES.draw("review", format="svg")
    for name, format in (("revue", "mermaid"), ("review", "png")):
        with pytest.raises(RulecError):
            RULES.draw(name, format=format)


def test_the_built_in_loop_ends_by_its_rounds() -> None:
    rules = Rules.from_text("router rounds(output) { when output.should_exit -> next[1]  otherwise -> next[0] loopback }")
    nodes: list[dict[str, Any]] = [
        {"id": "draft", "type": "echo", "next": ["again"]},
        {"id": "again", "type": "loop", "config": {"max_rounds": 2}, "next": ["draft", "done"]},
        {"id": "done", "type": "echo"},
    ]

    async def main() -> dict[str, Any]:
        workers = {"echo": "echo", "loop": "loop"}
        return await Workflow("draft", nodes, rules=rules, routers={"again": "rounds"}, workers=workers).run({"score": 7})

    report = run(main())
    assert report["executed"].count("draft") == 2 and report["outputs"]["done"]["exit_reason"] == "max_rounds_reached"


def test_a_failed_node_is_a_record_of_the_package(caplog: pytest.LogCaptureFixture) -> None:
    def fail(call: NodeCall) -> None:
        raise ValueError("no line")

    async def main() -> None:
        await Workflow("a", [{"id": "a", "type": "fail"}], workers={"fail": fail}).run({})
        while not caplog.records:
            await asyncio.sleep(0.01)

    run(main())
    assert {record.name for record in caplog.records} == {"rulec.workflow"}
    assert "no line" in caplog.text
