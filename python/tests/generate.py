"""Random messages whose fields may be missing, null or of a wrong type, and rules for them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

RULES = """
route urgent priority 10
  when text contains word any ["urgent", "asap"] ignoring case and ctx.user.level >= 3
  -> urgent_desk(level: ctx.user.level, tags: ctx.tags ?? []) { queue: 1 }
route tagged when ctx.tags contains "red" and not (n > 50) -> tag_desk(n: n)
route admin when ctx.user.role == "admin" -> admin_desk(name: ctx.user.name ?? "nobody")
route float when n in 10..20 or ctx.score > 0.5 -> score_desk(score: ctx.score)
route long when len(text) > 40 -> goto texts
route flag when ctx.flag -> flag_desk
default -> chat(n: n)
table texts {
  route greeting when text starts_with "hello" -> greeter(text: text)
  route negated when not (text contains "the") -> odd_desk
}
"""

WORDS = ["hello", "urgent", "ASAP", "the", "parcel", "文件", "é", "a\nb", 'say "hi"', "🚀", "\u2028"]


def _text(random: random.Random) -> str:
    return " ".join(random.choice(WORDS) for _ in range(random.randrange(12)))


def _scalar(random: random.Random) -> Any:
    """Returns a value of a random type."""
    kinds: list[Any] = [None, True, False, 0, -0.0, -1, 15, 2**53 + 1, 2**63, 2**70, 1e300, 0.1, "", "7", "admin", [], {}, [1, "red"], {"x": None}]
    return random.choice(kinds)


def _maybe(random: random.Random, value: Any) -> Any:
    """Returns the value, or sometimes one of another type."""
    return _scalar(random) if random.random() < 0.15 else value


def message(random: random.Random) -> dict[str, Any]:
    user = {"level": random.randrange(6), "role": random.choice(["admin", "user"]), "name": _text(random)}
    ctx = {
        "user": _maybe(random, {key: _maybe(random, value) for key, value in user.items() if random.random() < 0.8}),
        "tags": _maybe(random, random.choices(["red", "blue", None, 3], k=random.randrange(4))),
        "score": _maybe(random, random.random()),
        "flag": _maybe(random, random.random() < 0.5),
        "unread": _scalar(random),
    }
    fields = {
        "text": _maybe(random, _text(random)),
        "n": _maybe(random, random.choice([random.randrange(100), random.uniform(0, 60)])),
        "ctx": _maybe(random, {key: value for key, value in ctx.items() if random.random() < 0.8}),
    }
    return {key: value for key, value in fields.items() if random.random() < 0.9}


def messages(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Returns ``count`` random messages; the same seed gives the same messages."""
    source = random.Random(seed)
    return (message(source) for _ in range(count))
