"""An agent of pydantic-ai whose refunds are checked by rules. A refund of more than 100 EUR waits for a person.

Run it: ``python examples/pydantic_agent.py`` (asks for ``pip install pydantic-ai-slim``)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from rulec import Rules
from rulec.adapters.pydantic_ai import GuardedToolset
from rulec.guard import Guard

RULES = Path(__file__).parent / "approval.rules"


def scripted() -> FunctionModel:
    """A model that gives scripted answers."""
    parts: Iterator[Any] = iter(
        [
            ToolCallPart("refund", {"order": "A-7", "amount": 900}, "call_1"),
            ToolCallPart("erase", {"order": "A-7"}, "call_2"),
            ToolCallPart("refund", {"order": "A-7", "amount": 120}, "call_3"),
            TextPart("Done."),
        ]
    )

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([next(parts)])

    return FunctionModel(answer)


def agent(paid: list[dict[str, Any]]) -> Agent[None, Any]:
    """The agent; ``paid`` receives the refunds that it pays."""

    def refund(order: str, amount: float, currency: str | None = None) -> str:
        """Pays an order back."""
        paid.append({"order": order, "amount": amount, "currency": currency})
        return "paid"

    def erase(order: str) -> str:
        """Erases the record of an order."""
        raise AssertionError("the rules deny this")

    guard = Guard(Rules.from_path(RULES), approval="approval", closed=False)
    tools = GuardedToolset(FunctionToolset([refund, erase]), guard)
    return Agent(scripted(), toolsets=[tools], output_type=[str, DeferredToolRequests])


def main() -> None:
    paid: list[dict[str, Any]] = []
    desk = agent(paid)
    waiting = desk.run_sync("I want my money back")
    [asked] = waiting.output.approvals
    print("a person is asked:", asked.args, waiting.output.metadata[asked.tool_call_id])
    approved = DeferredToolResults(approvals={asked.tool_call_id: True})
    done = desk.run_sync(message_history=waiting.all_messages(), deferred_tool_results=approved)
    print("paid:", paid)
    print("said:", done.output)


if __name__ == "__main__":
    main()
