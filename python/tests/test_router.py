"""Routers: async handlers, and all possible outcomes of a handler."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
import time
import weakref
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from rulec import (
    DecisionLog,
    Finished,
    LiveRules,
    MessageError,
    Outcome,
    Policy,
    Request,
    Router,
    RouterError,
    RulecError,
    Rules,
)

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


def test_one_handler_may_take_all_other_targets() -> None:
    async def other(request: Request) -> str:
        return f"{request.handler} of the others"

    async def answers(policies: dict[str, Policy]) -> list[Any]:
        router = Router(Rules.from_text(RULES), {"chat": chat}, otherwise=other, policies=policies)
        texts = ["files", "hi", "run"]
        return [await router.route({"text": text}, permissions=["execute"]) for text in texts]

    # With a policy, the router runs on tokio; without one, the caller itself awaits the handler.
    for policies in [{}, {"files": Policy(time_limit=10)}]:
        outcomes = run(answers(policies))
        assert [outcome.reply for outcome in outcomes] == ["files of the others", "hello, hi", "admin of the others"]
    with pytest.raises(RouterError, match="`otherwise` is no function, but a <class 'int'>"):
        Router(Rules.from_text(RULES), {}, otherwise=7)  # type: ignore[arg-type]


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


def test_an_outcome_says_what_is_wrong_with_the_message() -> None:
    rules = Rules.from_text("input { text: string }\ndefault -> chat")

    def chat(request: Request) -> str:
        time.sleep(0.002)
        return "hello"

    async def work() -> Outcome:
        return await Router(rules, {"chat": chat}).route({"txt": "x"})

    outcome = run(work())
    assert [(breach["path"], breach["hint"]) for breach in outcome.breaches] == [("text", "the message has `txt`: did you mean `text`?")]
    # A handler that blocks the loop sleeps at least this long.
    assert outcome.elapsed_us >= 2000 and outcome.to_dict()["elapsed_us"] == outcome.elapsed_us


class Listing:
    def __repr__(self) -> str:
        return "<a listing>"


@pytest.mark.parametrize("policies", [{}, {"chat": Policy(time_limit=10)}], ids=["own loop", "tokio"])
def test_a_reply_is_passed_through_as_an_object(policies: dict[str, Policy]) -> None:
    reply = Listing()

    async def words() -> AsyncIterator[str]:
        for word in ("hello", "you"):
            yield word

    async def work() -> None:
        listed = Router(Rules.from_text(RULES), HANDLERS | {"chat": lambda request: reply}, policies=policies)
        outcome = await listed.route({"text": "x"})
        assert outcome.kind == "handled" and outcome.reply is reply
        assert outcome.to_dict()["result"] == {"handled": "<a listing>"}
        streaming = Router(Rules.from_text(RULES), HANDLERS | {"chat": lambda request: words()}, policies=policies)
        assert [word async for word in (await streaming.route({"text": "x"})).reply] == ["hello", "you"]

    run(work())


def test_route_is_a_coroutine() -> None:
    async def work() -> None:
        serving = router()
        coroutine = serving.route({"text": "x"})
        assert asyncio.iscoroutine(coroutine)
        assert (await asyncio.create_task(coroutine)).reply == "hello, x"
        if sys.version_info >= (3, 11):
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(serving.route({"text": str(n)})) for n in range(3)]
            assert [task.result().reply for task in tasks] == ["hello, 0", "hello, 1", "hello, 2"]

    run(work())


def test_a_handler_that_raises_cancelled_error_has_failed() -> None:
    async def chat(request: Request) -> None:
        raise asyncio.CancelledError("somebody else")

    async def work() -> None:
        if sys.version_info >= (3, 11):
            assert (await router(chat=chat).route({"text": "x"})).kind == "failed"

    run(work())


def test_each_message_is_counted_once(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def slow(request: Request) -> None:
        begun.set()
        await asyncio.sleep(60)

    def broken(request: Request) -> None:
        raise ValueError("no")

    async def work() -> None:
        log = DecisionLog(tmp_path / "log.jsonl")
        serving = Router(Rules.from_text(RULES), {"files": slow, "chat": chat, "admin": broken}, log=log)
        await serving.route({"text": "x"})
        await serving.route({"text": "run"}, permissions=["execute"])
        await serving.route({"text": "run"})
        waiting = asyncio.create_task(serving.route({"text": "my files"}))
        await begun.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        stats = serving.stats()
        assert stats["latency_bounds_us"][:2] == [100, 250]
        assert len(stats["messages"]["latency"]["counts"]) == len(stats["latency_bounds_us"]) + 1
        counts = {"handled": 1, "failed": 1, "refused": 1, "cancelled": 1}
        assert {name: count for name, count in stats["messages"].items() if name in counts} == counts
        calls = {handler["handler"]: handler["counts"] for handler in stats["handlers"]}
        assert calls["files"]["cancelled"] == 1 and calls["chat"]["handled"] == 1 and calls["admin"]["failed"] == 1
        assert (await log.close())["written"] == 4
        results = [json.loads(line)["result"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
        assert results == ["handled", "failed", "refused", "cancelled"]

    run(work())


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
    assert outcome.tried == [{"handler": "chat", "attempts": 3, "result": "failed", "error": "OSError: down"}]
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

    async def may(message: dict[str, Any]) -> list[str]:
        return ["execute"]

    class May:
        async def __call__(self, message: dict[str, Any]) -> list[str]:
            return ["execute"]

    function: Any
    for function in (may, May()):
        with pytest.raises(RouterError, match="`permissions` is an async function; .* give a plain function"):
            Router(rules, HANDLERS, permissions=function)
        with pytest.raises(RouterError, match="`error_scope` is an async function"):
            Router(rules, HANDLERS, error_scope=function)
    with pytest.raises(RouterError, match="`permissions` is no function, but a <class 'list'>"):
        Router(rules, HANDLERS, permissions=["execute"])  # type: ignore[arg-type]
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


def test_a_message_that_cannot_be_read() -> None:
    async def work() -> None:
        with pytest.raises(MessageError):
            await router().route({"text": object()})

    run(work())


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


def test_a_log_that_calls_a_function() -> None:
    lines: list[str] = []

    def refuse(line: str) -> None:
        raise OSError("full")

    async def work() -> None:
        log, full = DecisionLog(lines.append, message=False), DecisionLog(refuse)
        for target in (log, full):
            assert (await Router(Rules.from_text(RULES), HANDLERS, log=target).route({"text": "x"})).reply == "hello, x"
        assert (await log.flush())["written"] == 1
        assert await log.close() == {"written": 1, "dropped": 0, "failed": 0, "last_error": None}
        assert (await full.close())["last_error"] == "OSError: full"
        assert full.stats()["failed"] == 1

    run(work())
    assert json.loads(lines[0])["route"] == "default" and "message" not in json.loads(lines[0])


def test_rules_in_the_shadow_are_promoted_and_rolled_back() -> None:
    async def work() -> None:
        serving = router()
        first = serving.generations()["in_force"]
        second = serving.shadow(Rules.from_text("default -> files(limit: 1)"))
        assert (await serving.route({"text": "x"})).handler == "chat"
        stats = serving.shadow_stats()
        assert stats is not None and (stats["messages"], stats["different"]) == (1, 1)
        with pytest.raises(RouterError, match="not in the shadow"):
            serving.promote(second + 1)
        serving.promote(second)
        assert (await serving.route({"text": "x"})).handler == "files"
        assert serving.generations() == {"in_force": second, "shadow": None, "previous": [first]}
        serving.roll_back(first)
        assert (await serving.route({"text": "x"})).handler == "chat" and serving.shadow_stats() is None
        serving.shadow(Rules.from_text("default -> chat"))
        assert serving.end_shadow() is not None and serving.end_shadow() is None
        with pytest.raises(RouterError, match="no rules are in the shadow"):
            serving.promote(second)

    run(work())


def test_live_rules_are_edited_while_they_serve(tmp_path: Path) -> None:
    async def work() -> None:
        live = LiveRules.from_text("default -> chat")
        serving = Router(live, {"chat": chat, "files": files})
        live.insert('route files when text contains "files" -> files(limit: 2)')
        assert (await serving.route({"text": "files"})).reply["limit"] == 2
        assert serving.rules.generation == live.generation
        with pytest.raises(RulecError, match="nobody"):
            live.insert('route other when text contains "other" -> nobody')
        path = tmp_path / "desk.rules"
        path.write_text("default -> files(limit: 3)")
        watch = await serving.watch(path)
        assert (await serving.route({"text": "x"})).reply["limit"] == 3
        path.write_text("default -> nobody")
        status = await asyncio.wait_for(watch.changed(), 20)
        assert status.refused == 1 and "nobody" in (status.error or "")
        assert watch.status == status
        assert (await serving.route({"text": "x"})).reply["limit"] == 3

    run(work())


def test_earlier_rules_are_kept() -> None:
    for keep in (0, 1, 2):
        router = Router(Rules.from_text("default -> a"), {}, otherwise=print, keep=keep)
        first = router.rules.generation
        generations = [router.swap(Rules.from_text(f"default -> {target}")) for target in "bc"]
        assert router.generations()["previous"] == [generations[0], first][:keep]


def test_a_router_that_is_closed_while_a_file_is_loaded_does_not_watch_it(tmp_path: Path) -> None:
    file = tmp_path / "first.rules"
    # Many routes, so that the file is still loaded when the router is closed.
    file.write_text("\n".join(f"route r{at} when n == {at} -> b" for at in range(2000)))

    async def main() -> None:
        router = Router(Rules.from_text("default -> a"), {}, otherwise=print)
        pending = router.watch(file)
        await router.close()
        with pytest.raises(RouterError, match="the router was closed before the file was loaded"):
            await pending
        # A closed router may watch again.
        assert (await router.watch(file)).status.error is None

    run(main())


def test_a_router_follows_a_file_until_it_is_closed(tmp_path: Path) -> None:
    first, second = tmp_path / "first.rules", tmp_path / "second.rules"

    async def until(router: Router, target: str) -> None:
        while (await router.route({})).handler != target:
            await asyncio.sleep(0.02)

    async def main() -> None:
        router = Router(Rules.from_text("default -> a"), {}, otherwise=lambda request: request.handler)
        first.write_text("default -> b")
        second.write_text("default -> d")
        await router.watch(first)
        gc.collect()
        first.write_text("default -> c")
        await until(router, "c")
        # Another file replaces the first one, which then changes nothing.
        watch = await router.watch(second)
        first.write_text("default -> x")
        second.write_text("default -> e")
        await until(router, "e")
        watch.check()
        watch.close()
        with pytest.raises(RulecError, match="no longer watched"):
            await watch.changed()
        third = await router.watch(first)
        await router.close()
        with pytest.raises(RulecError, match="no longer watched"):
            await third.changed()
        first.write_text("default -> y")
        await asyncio.sleep(0.3)
        assert (await router.route({})).handler == "x" and third.status.loaded == 1

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


class Bot:
    """A bot whose methods are the functions of its own router."""

    def __init__(self, policies: dict[str, Policy] | None = None) -> None:
        self.collect = False
        functions: Any = {"permissions": self.allow, "error_scope": self.scope, "after": self.after}
        if policies is None:
            functions = {}
        rules = Rules.from_text('route a when text == "a" -> a\ndefault -> other')
        self.router = Router(
            rules, {"a": self.answer}, otherwise=self.answer, before=self.before, policies=policies, **functions
        )

    async def answer(self, request: Request) -> str:
        if self.collect:
            await asyncio.sleep(0)
            gc.collect()
        return request.handler

    def before(self, message: Any) -> Any:
        return message

    def after(self, finished: Finished) -> None:
        return None

    def allow(self, message: Any) -> list[str]:
        return ["all"]

    def scope(self, message: Any) -> str:
        return "one"


@pytest.mark.parametrize("policies", [None, {"a": Policy(time_limit=30)}])
def test_a_router_whose_functions_refer_to_it_is_freed(policies: dict[str, Policy] | None) -> None:
    """Regression test: the collector did not see the functions of a router, so the cycle was never freed."""
    bot = Bot(policies)
    # A collection frees nothing of a router that is in use.
    gc.collect()
    assert asyncio.run(bot_replies(bot.router)) == ["a", "other"]
    freed = weakref.ref(bot)
    del bot
    gc.collect()
    assert freed() is None


async def bot_replies(router: Router) -> list[Any]:
    return [(await router.route({"text": text})).reply for text in ("a", "b")]


def test_a_message_keeps_the_functions_of_its_router() -> None:
    """A router that nothing else refers to still finishes the message that it routes."""

    async def main() -> tuple[Any, bool]:
        bot = Bot({"a": Policy(time_limit=30)})
        bot.collect = True
        freed = weakref.ref(bot)
        pending: Any = bot.router._begin({"text": "a"}, None)
        del bot
        gc.collect()
        reply = (await pending).reply
        del pending
        await asyncio.sleep(0)
        gc.collect()
        return reply, freed() is None

    assert asyncio.run(main()) == ("a", True)
