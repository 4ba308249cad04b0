"""The adapters with the real frameworks: models are scripted, and nothing uses the network."""

from __future__ import annotations

import ast
import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from rulec import RulecError, Rules, UnknownName
from rulec.guard import Guard

EXAMPLES = Path(__file__).parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))

RULES = Rules.from_path(EXAMPLES / "approval.rules")
# The most lines of an adapter, without docstrings.
LONGEST = 60
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_who_approves_a_call() -> None:
    guard = Guard(RULES, approval="approval", closed=False)
    large = guard.check({"name": "refund", "arguments": {"order": "A", "amount": 120}})
    assert (large.ok, large.approval, large.reason) == (True, "ask", "more than 100 EUR")
    assert guard.check({"name": "refund", "arguments": {"order": "A", "amount": 20}}).approval == "allow"
    wrong = guard.check({"name": "refund", "arguments": {"order": "A", "amount": 900}})
    assert (wrong.ok, wrong.approval) == (False, "allow")
    denied = guard.check({"name": "erase", "arguments": "{}"})
    assert (denied.ok, denied.approval, denied.arguments) == (False, "deny", None)
    assert denied.feedback.splitlines()[0] == "The call of `erase` is denied: records are kept for ten years."
    other = guard.check({"name": "look", "arguments": '{"page": 2}'})
    assert other.ok and other.arguments == {"page": 2} and other.judgement is None
    assert "not a JSON object" in guard.check({"name": "look", "arguments": "[1]"}).feedback
    assert "not a JSON object" in guard.check({"name": "look", "arguments": "{"}).feedback
    assert "There is no tool `look`" in Guard(RULES, approval="approval").check({"name": "look"}).feedback


def test_an_approval_has_three_answers() -> None:
    silent = Guard(Rules.from_text('table approval { route a when tool == "x" -> allow }'), approval="approval", closed=False)
    assert silent.check({"name": "x"}).approval == "allow" and silent.check({"name": "y"}).approval == "ask"
    choice = Rules.from_text("choice approval { default branch allow  branch ask { args.n > 3 and limit < 5 } }")
    asked = Guard(choice, approval="approval", closed=False, inputs={"limit": 2})
    assert [asked.check({"name": "x", "args": {"n": n}}).approval for n in (3, 4)] == ["allow", "ask"]
    wrong = Guard(Rules.from_text("table approval { default -> later }"), approval="approval", closed=False)
    with pytest.raises(RulecError, match="`approval` answers `later`"):
        wrong.check({"name": "x"})
    with pytest.raises(UnknownName, match="did you mean `approval`"):
        Guard(RULES, approval="aproval")


def test_edges_of_langgraph() -> None:
    pytest.importorskip("langgraph")
    from langgraph.graph import END

    from rulec.adapters.langgraph import edge

    rules = Rules.from_text(
        """
        router next(output) { when output.n as int > 3 -> a, b  otherwise -> c }
        choice size { default branch small  branch large { output.n as int > 3 } }
        flow hello keyword exact ["hello"] -> "greeting"
        route much when output.n as int > 9 -> desk
        """
    )
    state = {"output": {"n": 4}, "messages": [object()]}
    keep = lambda state: {"output": state["output"]}  # noqa: E731
    assert edge(rules, "next", message=keep)(state) == ["a", "b"] and edge(rules, "next")({}) == ["c"]
    assert edge(rules, "size", message=keep)(state) == ["large"]
    assert edge(rules, "flows")({"text": "hello"}) == ["greeting"]
    assert edge(rules)({"output": {"n": 10}}) == ["desk"] and edge(rules, message=keep)(state) == [END]
    with pytest.raises(UnknownName):
        edge(rules, "nxt")


def test_langchain(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("langchain")
    import langchain_agent

    langchain_agent.main()
    printed = capsys.readouterr().out
    assert "a person is asked: {'name': 'refund'" in printed and "more than 100 EUR" in printed
    assert "`amount` must be a number from 0 to 500" in printed and "`erase` is denied" in printed
    assert "paid: [{'order': 'A-7', 'amount': 120.0, 'currency': 'EUR'}]" in printed


@pytest.mark.parametrize(
    ("answer", "paid", "words"),
    [
        ({"type": "reject"}, [], "A person refused the call of `refund`."),
        ({"type": "reject", "message": "too much"}, [], "too much"),
        ({"type": "edit", "edited_action": {"name": "refund", "args": {"order": "B", "amount": 5}}}, [5.0], "paid"),
        ({"type": "edit", "edited_action": {"name": "refund", "args": {"order": "B", "amount": 501}}}, [], "from 0 to 500"),
        ({"type": "edit", "edited_action": {"name": "erase", "args": {"order": "B"}}}, [], "`erase` is denied"),
    ],
)
def test_a_person_answers_in_langchain(answer: dict[str, Any], paid: list[float], words: str) -> None:
    pytest.importorskip("langchain")
    import langchain_agent
    from langgraph.types import Command

    async def run() -> None:
        found: list[dict[str, Any]] = []
        graph, thread = langchain_agent.agent(found), {"configurable": {"thread_id": "1"}}
        await graph.ainvoke({"messages": [("user", "money")]}, thread)
        state = await graph.ainvoke(Command(resume={"decisions": [answer]}), thread)
        assert [one["amount"] for one in found] == paid and words in state["messages"][-2].content

    asyncio.run(run())


def test_openai_agents(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("agents")
    import openai_agent

    asyncio.run(openai_agent.main())
    printed = capsys.readouterr().out
    assert "refused: the text has a secret" in printed
    assert "a person is asked: refund" in printed and '"amount": 120' in printed
    assert "'amount': 20, 'currency': 'EUR'}, {'order': 'A-8', 'amount': 120" in printed and "said: Done." in printed


def test_guardrails_of_openai_agents() -> None:
    pytest.importorskip("agents")
    from agents import ToolInputGuardrailData, function_tool
    from agents.tool_context import ToolContext

    from rulec.adapters.openai_agents import guarded, input_guardrail

    @function_tool
    def refund(order: str, amount: float) -> str:
        """Pays an order back."""
        return "paid"

    [tool] = guarded(Guard(RULES, approval="approval"), [refund])
    assert refund.needs_approval is False and tool.tool_input_guardrails is not None
    [check] = tool.tool_input_guardrails

    def behaviour(arguments: str) -> Any:
        context = ToolContext(context=None, tool_name="refund", tool_call_id="1", tool_arguments=arguments)
        data = ToolInputGuardrailData(context=context, agent=None)  # type: ignore[arg-type]
        return asyncio.run(check.run(data)).behavior

    assert behaviour('{"order": "A", "amount": 2, "currency": "USD"}') == {"type": "allow"}
    corrected = behaviour('{"order": "A", "amount": 2}')
    assert corrected["type"] == "reject_content" and '"currency": "EUR"' in corrected["message"]
    assert "`amount` must be" in behaviour('{"order": "A", "amount": 900, "currency": "EUR"}')["message"]
    assert "not a JSON object" in behaviour("{")["message"]
    inputs = input_guardrail(RULES, "requests")
    parts = [{"role": "user", "content": [{"type": "input_text", "text": "my Password"}]}]
    stopped = [asyncio.run(inputs.run(None, given, None)).output.tripwire_triggered for given in ("hello", parts)]  # type: ignore[arg-type]
    assert stopped == [False, True]


def test_pydantic_ai(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pydantic_ai")
    import pydantic_agent

    pydantic_agent.main()
    printed = capsys.readouterr().out
    assert "a person is asked: {'order': 'A-7', 'amount': 120} {'reason': 'more than 100 EUR'}" in printed
    assert "paid: [{'order': 'A-7', 'amount': 120.0, 'currency': 'EUR'}]" in printed and "said: Done." in printed


def test_a_model_of_pydantic_ai_hears_why() -> None:
    pytest.importorskip("pydantic_ai")
    import pydantic_agent

    paid: list[dict[str, Any]] = []
    heard = str(pydantic_agent.agent(paid).run_sync("money").all_messages())
    assert "`amount` must be a number from 0 to 500" in heard and "`erase` is denied" in heard and paid == []


def test_an_adapter_is_short_and_imports_only_its_framework() -> None:
    for path in (Path(__file__).parent.parent / "rulec" / "adapters").glob("*.py"):
        text = path.read_text()
        docstrings = [ast.get_docstring(node, clean=False) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED)]
        assert len(text.splitlines()) - sum(len(docstring.splitlines()) for docstring in docstrings) <= LONGEST, path
    import subprocess

    code = "import rulec.adapters, rulec.guard, sys; assert not {'langgraph', 'langchain', 'agents', 'pydantic_ai'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent.parent)
