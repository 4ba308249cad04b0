"""A LangChain agent whose refunds are checked by rules. A refund of more than 100 EUR waits for a person.

Run it: ``python examples/langchain_agent.py`` (asks for ``pip install langchain``)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from rulec import Rules
from rulec.adapters.langchain import GuardMiddleware
from rulec.guard import Guard

RULES = Path(__file__).parent / "approval.rules"


class Scripted(GenericFakeChatModel):
    """A model that gives scripted answers, and takes any tools."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def call(number: int, name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[ToolCall(name=name, args=args, id=f"call_{number}")])


def scripted() -> Scripted:
    calls = [call(1, "refund", order="A-7", amount=900), call(2, "erase", order="A-7"), call(3, "refund", order="A-7", amount=120)]
    return Scripted(messages=iter([*calls, AIMessage("Done.")]))


def agent(paid: list[dict[str, Any]]) -> Any:
    """The agent; ``paid`` receives the refunds that it pays."""

    @tool
    def refund(order: str, amount: float, currency: str = "?") -> str:
        """Pays an order back."""
        paid.append({"order": order, "amount": amount, "currency": currency})
        return "paid"

    @tool
    def erase(order: str) -> str:
        """Erases the record of an order."""
        raise AssertionError("the rules deny this")

    guard = Guard(Rules.from_path(RULES), approval="approval", closed=False)
    return create_agent(scripted(), [refund, erase], middleware=[GuardMiddleware(guard)], checkpointer=InMemorySaver())


def main() -> None:
    paid: list[dict[str, Any]] = []
    graph, thread = agent(paid), {"configurable": {"thread_id": "1"}}
    state = graph.invoke({"messages": [("user", "I want my money back")]}, thread)
    print("a person is asked:", state["__interrupt__"][0].value["action_requests"][0])
    state = graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
    for message in state["messages"]:
        print(f"{message.type:6}", message.content or message.tool_calls[0]["args"])
    print("paid:", paid)


if __name__ == "__main__":
    main()
