"""The examples run and print the documented output."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))

import chat_bot
import guarded_agent

from rulec import Rules


def test_the_bot_routes(capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(chat_bot.main())
    hello, refund, often, error = capsys.readouterr().out.splitlines()
    assert "You said: Hello!" in hello and "the gold plan" in refund
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


def test_the_rules_of_the_examples_have_no_warning() -> None:
    for path in EXAMPLES.glob("*.rules"):
        assert Rules.from_path(path).warnings == []
