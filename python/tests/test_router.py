"""Routers: async handlers, and all possible outcomes of a handler."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from rulec import Finished, MessageError, Outcome, Policy, Request, Router, RouterError, Rules

T = TypeVar("T")

RULES = """
handler files(limit: int)
handler chat()
handler admin() requires permission "execute"
route files when text contains "files" -> files(limit: n ?? 20) { kind: "list" }
route admin when text contains "run" -> admin
default -> chat
"""


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(coroutine, 30))


async def files(request: Request) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"limit": request.args["limit"], "meta": request.metadata, "route": request.route, "try": request.attempt}


async def chat(request: Request) -> str:
    return f"hello, {request.text}"


def admin(request: Request) -> str:
    return "done"


HANDLERS: dict[str, Any] = {"files": files, "chat": chat, "admin": admin}


def router(**replaced: Any) -> Router:
    return Router(Rules.from_text(RULES), HANDLERS | replaced)


def test_handlers_answer() -> None:
    async def work() -> list[Outcome]:
        serving = router()
        messages: list[dict[str, Any]] = [{"text": "my files", "n": 3}, {"text": "you"}]
        return [await serving.route(message) for message in messages]

    listed, chatted = run(work())
    assert listed.kind == "handled" and listed.error is None and listed.exception is None
    assert listed.reply == {"limit": 3, "meta": {"kind": "list"}, "route": "files", "try": 1}
    assert chatted.reply == "hello, you" and chatted.route == "default" and chatted.handler == "chat"


def test_the_handler_runs_on_the_callers_loop_and_sees_its_message() -> None:
    seen: list[Any] = []

    async def chat(request: Request) -> None:
        seen.append((request.message, asyncio.get_running_loop(), threading.get_ident()))

    message = {"text": "x"}

    async def work() -> asyncio.AbstractEventLoop:
        await router(chat=chat).route(message)
        return asyncio.get_running_loop()

    loop = run(work())
    assert seen[0][0] is message and seen[0][1] is loop and seen[0][2] == threading.get_ident()


def test_an_exception_is_an_outcome() -> None:
    async def chat(request: Request) -> None:
        raise ValueError("nothing to say")

    async def work() -> Outcome:
        return await router(chat=chat).route({"text": "x"})

    outcome = run(work())
    assert outcome.kind == "failed" and outcome.reply is None
    assert outcome.error is not None and "ValueError: nothing to say" in outcome.error
    assert isinstance(outcome.exception, ValueError) and outcome.exception.__traceback__ is not None
    assert json.loads(outcome.to_json()) == outcome.to_dict()


def test_a_reply_that_json_has_no_form_for_is_a_failure() -> None:
    async def work() -> Outcome:
        return await router(chat=lambda request: object()).route({"text": "x"})

    assert run(work()).kind == "failed"


def test_a_handler_that_takes_too_long_is_cancelled() -> None:
    cancelled: list[str] = []

    async def chat(request: Request) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append("chat")
            raise

    async def work() -> Outcome:
        serving = Router(Rules.from_text(RULES), HANDLERS | {"chat": chat}, policies={"chat": Policy(time_limit=0.05)})
        outcome = await serving.route({"text": "x"})
        while not cancelled:
            await asyncio.sleep(0.01)
        return outcome

    assert run(work()).kind == "timed_out"


def test_who_waits_no_longer_cancels_the_handler() -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def chat(request: Request) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    async def work() -> None:
        serving = router(chat=chat)
        waiting = asyncio.ensure_future(serving.route({"text": "x"}))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        waiting.cancel()
        while not cancelled.is_set():
            await asyncio.sleep(0.01)

    run(work())


def test_retries_and_fallbacks() -> None:
    attempts: list[int] = []

    async def chat(request: Request) -> str:
        attempts.append(request.attempt)
        raise OSError("down")

    async def work() -> tuple[Outcome, Any]:
        policy = Policy(retries=(2, 0.001), fallbacks=["files"])
        serving = Router(Rules.from_text(RULES), HANDLERS | {"chat": chat, "files": lambda _: "instead"}, policies={"chat": policy})
        return await serving.route({"text": "x"}), serving.stats()

    outcome, stats = run(work())
    assert outcome.reply == "instead" and outcome.fallback == "files" and attempts == [1, 2, 3]
    assert stats["messages"]["handled"] == 1


def test_permissions(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda what: told.append(type(what.exc_value).__name__))

    async def work() -> list[Outcome]:
        serving = Router(Rules.from_text(RULES), HANDLERS, permissions=lambda message: message.get("may", []))
        broken = Router(Rules.from_text(RULES), HANDLERS, permissions=lambda message: message["none"])
        return [
            await serving.route({"text": "run"}),
            await serving.route({"text": "run", "may": ["execute"]}),
            await serving.route({"text": "run"}, permissions=["execute"]),
            await serving.route({"text": "run", "may": ["execute"]}, permissions=[]),
            await broken.route({"text": "run"}),
        ]

    assert [outcome.kind for outcome in run(work())] == ["refused", "handled", "handled", "refused", "refused"]
    assert told == ["KeyError"]


def test_what_cannot_be_built() -> None:
    rules = Rules.from_text(RULES)
    with pytest.raises(RouterError, match="`admin`, which has no handler"):
        Router(rules, {"files": files, "chat": chat})
    with pytest.raises(RouterError, match="falls back to `nobody`"):
        Router(rules, HANDLERS, policies={"chat": Policy(fallbacks=["nobody"])})
    with pytest.raises(RouterError, match="-1"):
        Policy(time_limit=-1)
    assert "no route leads" in Router(rules, HANDLERS | {"spare": chat}).warnings[0]


def test_rules_are_swapped_while_serving() -> None:
    async def work() -> tuple[int, list[str | None]]:
        serving = router()
        names = [(await serving.route({"text": "x"})).handler]
        generation = serving.swap(Rules.from_text("default -> files(limit: 1)"))
        names.append((await serving.route({"text": "x"})).handler)
        with pytest.raises(RouterError, match="`nobody`"):
            serving.swap(Rules.from_text("default -> nobody"))
        names.append((await serving.route({"text": "x"})).handler)
        return generation, names

    generation, names = run(work())
    assert generation > 0 and names == ["chat", "files", "files"]


def test_many_at_once_on_several_loops() -> None:
    serving = router()

    async def work(start: int) -> list[Any]:
        outcomes = await asyncio.gather(*(serving.route({"text": "my files", "n": n}) for n in range(start, start + 200)))
        return [outcome.reply["limit"] for outcome in outcomes]

    answers: dict[int, list[Any]] = {}
    threads = [threading.Thread(target=lambda n=n: answers.update({n: run(work(n))})) for n in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {start: list(range(start, start + 200)) for start in (0, 1000, 2000)}


def test_the_log(tmp_path: Path) -> None:
    async def work() -> None:
        serving = Router(Rules.from_text(RULES), HANDLERS, log=tmp_path / "log.jsonl")
        await serving.route({"text": "x"})
        await serving.close()

    run(work())
    [line] = (tmp_path / "log.jsonl").read_text().splitlines()
    assert json.loads(line)["result"] == "handled"


def test_a_message_that_is_none_and_no_loop() -> None:
    async def work() -> None:
        with pytest.raises(MessageError):
            await router().route({"text": object()})

    run(work())
    with pytest.raises(RuntimeError, match="running event loop"):
        router().route({"text": "x"})


ERRORS = """
route recovery when ctx.last_error_type == "TimeoutError" and (ctx.error_counts["TimeoutError"] ?? 0) > 1
  -> recover(error: ctx.last_error)
default -> chat
"""


def test_rules_read_the_failures_of_handlers() -> None:
    async def broken(request: Request) -> str:
        if request.text == "fine":
            return "ok"
        raise TimeoutError("too slow")

    async def recover(request: Request) -> Any:
        return request.args["error"]

    async def main() -> None:
        handlers = {"chat": broken, "recover": recover}
        router = Router(Rules.from_text(ERRORS), handlers, error_scope=lambda message: message["ctx"]["user"])
        for _ in range(2):
            assert (await router.route({"text": "no", "ctx": {"user": "a"}})).kind == "failed"
        assert (await router.route({"text": "fine", "ctx": {"user": "b"}})).reply == "ok"
        outcome = await router.route({"text": "fine", "ctx": {"user": "a"}})
        assert outcome.reply == {"type": "TimeoutError", "handler": "chat", "route": "default", "count": 2}
        assert (await router.route({"text": "fine", "ctx": {"user": "a"}})).reply == "ok"

    run(main())


def test_hooks_see_the_message_and_the_outcome(tmp_path: Path) -> None:
    seen: list[Any] = []

    async def before(message: dict[str, Any]) -> dict[str, Any] | None:
        if message["text"] == "refuse":
            raise ValueError("not today")
        return {"text": "changed"} if message["text"] == "change" else None

    def after(finished: Finished) -> Any:
        seen.append((finished.message, finished.outcome.kind))
        return {"said": finished.outcome.reply} if finished.outcome.kind == "handled" else None

    async def main() -> None:
        log = tmp_path / "log.jsonl"
        router = Router(
            Rules.from_text("default -> chat"), {"chat": chat}, before=before, after=after, log=log, log_analysis=True
        )
        assert (await router.route({"text": "change"})).reply == {"said": "hello, changed"}
        assert (await router.route({"text": "call me at 15:30"})).reply == {"said": "hello, call me at 15:30"}
        assert (await router.route({"text": "refuse"})).kind == "invalid"
        await router.close()
        assert seen == [
            ({"text": "changed"}, "handled"),
            ({"text": "call me at 15:30"}, "handled"),
            ({"text": "refuse"}, "invalid"),
        ]
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert lines[1]["analysis"]["entities"][0]["value"] == "15:30"

    run(main())
