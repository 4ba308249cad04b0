"""Guards and tools: the tools that a model may call, and the answers to its calls."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from types import SimpleNamespace
from typing import Any

import pydantic
import pytest

from rulec import MessageError, Rules, tools
from rulec.guard import Guard, Verdict

RULES = """
input { text?: string  total?: number  context?: { balance: number } }
## Pays money back.
payload refund rank 1 fallback ask {
  order: string not blank
  amount: number in 0..=500
  currency: string default "EUR"
  require "refund.balance" at amount: amount <= context.balance else "the account holds less than that"
}
## Asks the user.
payload ask rank 2 {
  question: string not blank
  closed
}
choice size { default branch small  branch large { total >= 100 } }
flow status "says where an order is" intent ["where is my parcel"] -> "status"
flow refund_flow "gives money back" intent ["my money back"] -> "refund"
"""


@pytest.fixture(scope="module")
def rules() -> Rules:
    return Rules.from_text(RULES)


ARGUMENTS = {"order": "A-7", "amount": 20, "currency": "EUR"}


@pytest.mark.parametrize(
    "call",
    [
        {"name": "refund", "arguments": ARGUMENTS},
        {"id": "1", "type": "function", "function": {"name": "refund", "arguments": json.dumps(ARGUMENTS)}},
        {"id": "1", "type": "tool_use", "name": "refund", "input": ARGUMENTS},
        {"id": "1", "type": "tool_call", "name": "refund", "args": ARGUMENTS},
        SimpleNamespace(id="1", function=SimpleNamespace(name="refund", arguments=json.dumps(ARGUMENTS))),
    ],
)
def test_calls_in_every_form(rules: Rules, call: Any) -> None:
    verdict = Guard(rules).check(call)
    assert verdict.ok and verdict.arguments == ARGUMENTS and verdict.tool == "refund"


class Refund(pydantic.BaseModel):
    order: str
    amount: float


@dataclasses.dataclass
class Ask:
    question: str


def test_models_and_dataclasses(rules: Rules) -> None:
    guard = Guard(rules, inputs={"context": {"balance": 100}})
    verdict = guard.check(Refund(order="A", amount=20), tool="refund")
    assert verdict.ok and verdict.arguments == {"order": "A", "amount": 20, "currency": "EUR"}
    assert "was missing and was given its default" in verdict.feedback
    verdict = guard.check(Refund(order="A", amount=200), tool="refund")
    assert not verdict.ok and verdict.arguments is None and verdict.fallback == "ask"
    assert "the account holds less than that" in verdict.feedback and verdict.message()["content"] == verdict.feedback
    assert guard.check(Ask("why?"), tool="ask").arguments == {"question": "why?"}


def test_what_a_model_gets_wrong_is_feedback(rules: Rules) -> None:
    guard = Guard(rules, tools={"pay_back": "refund"})
    unknown = guard.check({"name": "refnd", "arguments": {}})
    assert not unknown.ok and "There is no tool `refnd`" in unknown.feedback and "`pay_back`" in unknown.feedback
    torn = guard.check({"name": "refund", "arguments": '{"order": '})
    assert not torn.ok and "not a JSON object" in torn.feedback and torn.judgement is None
    listed = guard.check({"name": "refund", "arguments": "[1]"})
    assert not listed.ok
    empty = guard.check({"name": "pay_back"})
    assert not empty.ok and empty.judgement is not None and len(empty.judgement.violations) >= 2
    with pytest.raises(MessageError, match="`name`"):
        guard.check({"arguments": {}})


def test_a_call_is_repaired(rules: Rules) -> None:
    guard = Guard(rules)
    told: list[str] = []
    answers = iter([{"name": "refund", "arguments": {"order": "A", "amount": 600}}, {"name": "refund", "arguments": ARGUMENTS}])

    def ask(verdict: Verdict) -> Any:
        told.append(verdict.feedback)
        return next(answers)

    verdict = guard.repair({"name": "refund", "arguments": {"order": " ", "amount": 9}}, ask)
    assert verdict.ok and verdict.attempts == 3 and len(told) == 2 and "`order`" in told[0]

    async def never(verdict: Verdict) -> Any:
        return {"name": "refund", "arguments": {}}

    given_up = asyncio.run(guard.repair_async({"name": "refund", "arguments": {}}, never, tries=2))
    assert not given_up.ok and given_up.attempts == 3
    assert guard.repair({"name": "x"}, lambda verdict: None).attempts == 1


def test_definitions(rules: Rules) -> None:
    names = [tool["function"]["name"] for tool in tools.definitions(rules)]
    assert names == ["refund", "ask", "size", "flow_executor"]
    refund = tools.payloads(rules)[0]["function"]
    assert refund["description"] == "Pays money back." and "order" in refund["parameters"]["required"]
    assert "$schema" not in refund["parameters"]
    named = tools.definitions(rules, style="anthropic")
    assert named[0]["input_schema"] == refund["parameters"] and set(named[0]) == {"name", "description", "input_schema"}
    assert tools.definitions(Rules.from_text("default -> h")) == []


def test_judgements(rules: Rules) -> None:
    judge = rules.judge("refund", inputs={"context": {"balance": 100}})
    judgement = judge.judge({"order": "A", "amount": 7})
    assert (judgement.outcome, judgement.is_accepted, judgement.is_valid) == ("accept_corrected", True, False)
    assert judgement.corrected == {"order": "A", "amount": 7, "currency": "EUR"}
    [violation] = judgement.violations
    assert violation.path == "$.currency" and violation.rule and violation.repair and judgement.remaining == []
    assert judge.schema()["title"] == "refund" and json.loads(judgement.to_json()) == judgement.to_dict()
    with pytest.raises(Exception, match="must be"):
        rules.judge("refund", inputs={"context": 3})
