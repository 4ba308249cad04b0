"""A chat bot that routes messages by rules. A message's text and its customer select the handler.

Run it: ``python examples/chat_bot.py``
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from rulec import Policy, Request, Router, Rules

DESK = Path(__file__).parent / "desk.rules"


async def refund_desk(request: Request) -> str:
    return f"The refund desk of the {request.args['plan']} plan is at your service."


async def technician(request: Request) -> str:
    await asyncio.sleep(60)
    return "Have you tried to turn it off and on again?"


async def small_talk(request: Request) -> str:
    return f"You wrote: {request.text}"


def escalation(request: Request) -> str:
    return f"A colleague will call you about your {request.args['why']}."


def bot() -> Router:
    """Returns the router. The technician is slow, so the small talk takes over after 0.1 s."""
    handlers = {"refund_desk": refund_desk, "technician": technician, "small_talk": small_talk, "escalation": escalation}
    policies = {"technician": Policy(time_limit=0.1, fallbacks=["small_talk"])}
    return Router(Rules.from_path(DESK), handlers, policies=policies)


MESSAGES: list[dict[str, Any]] = [
    {"text": "Hello!"},
    {"text": "I want my money back", "customer": {"plan": "gold", "refunds": 1}},
    {"text": "Refund, please", "customer": {"plan": "gold", "refunds": 9}},
    {"text": "It says: error 7"},
]


async def main() -> None:
    serving = bot()
    for message in MESSAGES:
        outcome = await serving.route(message)
        by = outcome.fallback or outcome.handler
        print(f"{message['text']:24} -> {outcome.route} ({by}): {outcome.reply}")


if __name__ == "__main__":
    asyncio.run(main())
