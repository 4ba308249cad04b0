"""An agent whose tool calls are checked by rules before they are executed.

The model is scripted. Its first call has a wrong tool name, the second a wrong amount. It repairs
each call after the guard's feedback.

Run it: ``python examples/guarded_agent.py``
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rulec import Rules, tools
from rulec.guard import Guard

Message = dict[str, Any]
Model = Callable[[list[Message], list[dict[str, Any]]], dict[str, Any]]

DESK = Path(__file__).parent / "desk.rules"


def call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    """Returns a tool call in the format of a chat API."""
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def scripted() -> Model:
    """Returns a model that makes fixed tool calls in order, whatever messages it receives."""
    script: Iterator[dict[str, Any]] = iter(
        [
            call(1, "refnd", order="A-7", amount=20),
            call(2, "refund", order="A-7", amount=900, mood="generous"),
            call(3, "refund", order="A-7", amount=20, mood="generous"),
            call(4, "answer", text="You will have your 20 EUR back by tomorrow."),
        ]
    )

    def model(messages: list[Message], definitions: list[dict[str, Any]]) -> dict[str, Any]:
        return next(script)

    return model


def agent(model: Model, text: str, *, balance: float, steps: int = 10) -> tuple[list[Message], list[dict[str, Any]]]:
    """Lets the model call tools until it answers; returns the messages and the paid refunds."""
    rules = Rules.from_path(DESK)
    guard = Guard(rules, inputs={"context": {"balance": balance}})
    definitions = tools.payloads(rules)
    messages: list[Message] = [{"role": "user", "content": text}]
    paid: list[dict[str, Any]] = []
    for _ in range(steps):
        said = model(messages, definitions)
        messages.append({"role": "assistant", "tool_calls": [said]})
        verdict = guard.check(said)
        messages.append(verdict.message())
        if verdict.arguments is None:
            continue
        if verdict.tool == "answer":
            messages.append({"role": "assistant", "content": verdict.arguments["text"]})
            break
        paid.append(verdict.arguments)
    return messages, paid


def main() -> None:
    messages, paid = agent(scripted(), "I want my money back", balance=100)
    for message in messages:
        print(f"{message['role']:9}", message.get("content") or message["tool_calls"][0]["function"])
    print("paid:", paid)


if __name__ == "__main__":
    main()
