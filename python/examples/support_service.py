"""An agent service: routes, a guard, flows, limits, live reload and a decision log, in one file.

``python support_service.py`` serves three messages. The model is scripted, so it needs no network.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections import deque
from pathlib import Path
from typing import Any

from rulec import DecisionLog, Flows, LiveRules, Outcome, Policy, Request, Router, Rules, Watch, models
from rulec.guard import Guard

RULES = Path(__file__).with_name("support.rules")


@dataclasses.dataclass
class Context:
    user: str
    message_count: int = 0


@dataclasses.dataclass
class Message:
    """What the service receives; ``models.check`` compares it with the rules when the service starts."""

    text: str
    ctx: Context


def model(text: str, tries: int) -> dict[str, Any]:
    """Replaces a language model: its first amount is too high, and it repairs it."""
    return {"name": "refund", "arguments": json.dumps({"order": "A-7", "amount": 9000 if tries == 0 else 20})}


class Service:
    def __init__(self, rules: Path = RULES, log: Path | Any = print, *, most_at_once: int = 100, per_user: int = 20) -> None:
        models.check(Rules.from_path(rules), Message)
        self.log = DecisionLog(log, message=False)
        self.router = Router(
            LiveRules.from_path(rules),
            {"refund": self.refund, "chat": self.chat, "person": lambda request: "A colleague takes over."},
            policies={"refund": Policy(time_limit=10.0, fallbacks=["person"])},
            log=self.log,
        )
        # Both use the rules of the router, which come from the file.
        self.guard = Guard(self.router, approval="approval")
        self.flows = Flows(self.router)
        self.path, self.per_user = rules, per_user
        self.room = asyncio.Semaphore(most_at_once)
        self.recent: dict[str, deque[float]] = {}
        self.paid: list[dict[str, Any]] = []

    async def start(self) -> Watch:
        """Follows the file of the rules: a version that does not compile is refused."""
        return await self.router.watch(self.path)

    async def stop(self) -> dict[str, Any]:
        await self.router.close()
        return await self.log.close()

    async def answer(self, message: Message) -> str:
        """Answers a message: by a flow, if its words start one, and otherwise by a handler."""
        if not self.allows(message.ctx.user):
            return "Please wait a moment."
        hit = self.flows.find(message.text)
        if hit is not None:
            return f"(flow {hit.id})"
        async with self.room:
            outcome: Outcome = await self.router.route(message)
        return str(outcome.reply) if outcome.error is None else f"Sorry: {outcome.kind}"

    def allows(self, user: str) -> bool:
        """Whether a user has sent fewer than ``per_user`` messages in the last second."""
        now = asyncio.get_running_loop().time()
        times = self.recent.setdefault(user, deque())
        while times and times[0] < now - 1:
            times.popleft()
        times.append(now)
        return len(times) <= self.per_user

    async def chat(self, request: Request) -> str:
        await asyncio.sleep(0)
        return f"You wrote: {request.text}"

    async def refund(self, request: Request) -> str:
        """Lets the model propose a refund, which the rules check, correct and approve."""
        tries = iter(range(1, 4))
        verdict = self.guard.repair(model(request.text, 0), lambda rejected: model(request.text, next(tries)))
        if not verdict.ok or verdict.arguments is None:
            return "I cannot do that."
        if verdict.approval == "ask":
            return f"A colleague must agree: {verdict.reason}."
        self.paid.append(verdict.arguments)
        return f"Paid {verdict.arguments['amount']} {verdict.arguments['currency']}."


async def main() -> None:
    service = Service()
    await service.start()
    for text in ("Hello!", "I want my money back", "What are your opening hours?"):
        print(await service.answer(Message(text, Context("ann"))))
    print(await service.stop())


if __name__ == "__main__":
    asyncio.run(main())
