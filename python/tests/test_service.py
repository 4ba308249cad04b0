"""The agent service of the examples, under 10,000 messages with a reload in between."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))

import support_service
from support_service import Context, Message, Service

MESSAGES = 10_000
TEXTS = ["Hello!", "I want my money back", "What are your opening hours?", "Who are you?"]


def test_it_answers(capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(support_service.main())
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith('{"time"')]
    assert lines[:3] == ["You wrote: Hello!", "Paid 20 EUR.", "(flow hours)"]


def test_ten_thousand_messages(tmp_path: Path) -> None:
    rules, log = tmp_path / "support.rules", tmp_path / "decisions.jsonl"
    shutil.copy(support_service.RULES, rules)

    async def serve(service: Service, first: int, count: int) -> list[str]:
        texts = [text.replace("opening ", "") for text in TEXTS] if first else TEXTS
        messages = [Message(texts[n % 4], Context(f"user {n}", message_count=n % 60)) for n in range(first, first + count)]
        return await asyncio.gather(*(service.answer(message) for message in messages))

    async def main() -> None:
        service = Service(rules, log)
        watch = await service.start()
        good = rules.read_text()
        assert await service.answer(Message("What are your hours?", Context("zoe"))) == "You wrote: What are your hours?"
        answers = await serve(service, 0, MESSAGES // 2)
        refused = watch.changed()
        rules.write_text(good + "\ndefault ->")  # A broken version is refused.
        assert (await asyncio.wait_for(refused, 30)).refused == 1
        loaded = watch.changed()
        # The router, the flows and the guard follow the file.
        changes = {'["opening hours"]': '["hours"]', "message_count > 50": "message_count > 55", "amount > 100": "amount > 10"}
        for old, new in changes.items():
            assert old in good
            good = good.replace(old, new)
        rules.write_text(good)
        assert (await asyncio.wait_for(loaded, 30)).error is None
        answers += await serve(service, MESSAGES // 2, MESSAGES // 2)
        counts = Counter(answer if not answer.startswith("You wrote") else "chat" for answer in answers)
        flows = counts.pop("(flow hours)")
        agree = "A colleague must agree: more than 100."
        assert flows == MESSAGES // 4 and set(counts) == {"chat", "Paid 20 EUR.", agree, "A colleague takes over."}
        assert counts["Paid 20 EUR."] > 1000 and counts[agree] > 1000
        assert len(service.paid) == counts["Paid 20 EUR."] and sum(counts.values()) + flows == MESSAGES
        stats = service.router.stats()["messages"]
        assert stats["handled"] == MESSAGES - flows + 1 and stats["failed"] == 0
        closed = await service.stop()
        assert closed["written"] + closed["dropped"] == MESSAGES - flows + 1 and closed["failed"] == 0
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert len(lines) == closed["written"] and {line["handler"] for line in lines} == {"chat", "refund", "person"}
        assert len({line["generation"] for line in lines}) == 2

    asyncio.run(asyncio.wait_for(main(), 240))


def test_a_user_who_sends_too_much_waits(tmp_path: Path) -> None:
    async def main() -> None:
        service = Service(log=tmp_path / "log.jsonl", per_user=5)
        answers = [await service.answer(Message("Hello!", Context("ann"))) for _ in range(7)]
        assert answers.count("Please wait a moment.") == 2
        assert await service.answer(Message("Hello!", Context("bob"))) == "You wrote: Hello!"
        await service.stop()

    asyncio.run(asyncio.wait_for(main(), 60))
