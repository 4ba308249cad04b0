"""Rules that are edited or reloaded while they decide."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from rulec import CompileError, Edit, Flows, LiveRules, MessageError, Router, RulecError, Rules, UnknownName, WatchedRules
from rulec.flows import FlowChat, HttpClient
from rulec.guard import Guard
from rulec.history import MemoryStore

TEXT = """list words = ["refund"]
route money when text contains any words -> billing
table support { route help when text contains "help" -> helper  default -> chat }
default -> chat
"""


def test_edits_take_effect_at_once() -> None:
    rules = LiveRules.from_text(TEXT)
    first = rules.generation
    assert rules.insert('route hello priority 5 when text contains "hello" -> greeter') > first
    assert rules.decide({"text": "hello, a refund"}).target == "greeter"
    rules.replace('list words = ["chargeback"]')
    assert rules.decide({"text": "a chargeback"}).target == "billing"
    rules.remove("hello")
    assert rules.decide({"text": "hello"}).target == "chat"
    assert rules.contains("money")
    assert not rules.contains("hello")
    assert "chargeback" in dict(rules.texts)["<text>"]


def test_edits_of_one_call_are_seen_together() -> None:
    rules = LiveRules.from_text(TEXT)
    edits = [Edit.remove("money"), Edit.insert('route any_a when text contains "a" -> anyone', table="support")]
    rules.edit(edits)
    assert rules.decide({"text": "a refund"}).target == "chat"
    assert rules.decide({"text": "a refund"}, entry="support").target == "anyone"
    assert edits[0] == Edit.remove("money") != edits[1]


def test_a_refused_edit_changes_nothing() -> None:
    rules = LiveRules.from_text(TEXT)
    with pytest.raises(CompileError, match="nothing"):
        rules.edit([Edit.remove("money"), Edit.insert("route x when nothing(text) -> y")])
    assert rules.decide({"text": "a refund"}).target == "billing"
    with pytest.raises(UnknownName, match="mony"):
        rules.remove("mony")
    with pytest.raises(RulecError):
        rules.insert("route a when x == 1 -> y route b when x == 2 -> z")


def test_a_snapshot_does_not_change() -> None:
    rules = LiveRules.from_text(TEXT)
    rules.insert('route hello priority 5 when text contains "hello" -> greeter')
    snapshot = rules.snapshot()
    rules.remove("hello")
    assert snapshot.decide({"text": "hello"}).target == "greeter"
    assert rules.decide_json(json.dumps({"text": "hello"})).target == "chat"
    assert rules.explain({"text": "hello"}).chosen == "default"


def test_a_snapshot_keeps_its_functions() -> None:
    text = "extern fn score(x: string) -> int\nroute long when score(text) > 3 -> h\ndefault -> d"
    rules = LiveRules.from_text(text, functions={"score": len})
    assert pickle.loads(pickle.dumps(rules.snapshot())).decide({"text": "abcd"}).target == "h"


def test_the_log_is_complete_when_python_ends(tmp_path: Path) -> None:
    (tmp_path / "support.rules").write_text("default -> chat")
    program = """
import sys
from rulec import WatchedRules
rules = WatchedRules(sys.argv[1], log=sys.argv[2])
for n in range(1000):
    rules.decide({"text": str(n)})
"""
    for run in range(1, 6):
        log = tmp_path / f"{run}.jsonl"
        subprocess.run([sys.executable, "-c", program, tmp_path / "support.rules", log], check=True)
        assert len(log.read_text().splitlines()) == 1000


def test_threads_decide_while_rules_change() -> None:
    rules = LiveRules.from_text(TEXT)
    targets: set[str | None] = set()
    stop = threading.Event()

    def decide() -> None:
        while not stop.is_set():
            targets.add(rules.decide({"text": "hello"}).target)

    threads = [threading.Thread(target=decide) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        rules.insert('route hello priority 5 when text contains "hello" -> greeter')
        rules.remove("hello")
    stop.set()
    for thread in threads:
        thread.join()
    assert targets <= {"chat", "greeter"}
    assert "chat" in targets


def test_watched_rules_keep_the_last_good_version(tmp_path: Path) -> None:
    file, log = tmp_path / "support.rules", tmp_path / "decisions.jsonl"
    file.write_text("default -> first")
    rules = WatchedRules(file, log=log)
    assert rules.decide({"text": "x"}).target == "first"

    async def replace(text: str) -> None:
        change = rules.changed()
        file.write_text(text)
        await asyncio.wait_for(change, 20)

    async def watch() -> None:
        await replace("default -> second")
        assert rules.decide({"text": "x"}).target == "second"
        await replace("default -> ")

    asyncio.run(watch())
    assert rules.decide({"text": "x"}).target == "second"
    assert (rules.status.loaded, rules.status.refused) == (2, 1)
    assert rules.status.error is not None
    assert rules.stats()["messages"]["decided"] == 3


def test_rules_that_change_are_compiled_as_rules_are(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "desk").mkdir()
    (tmp_path / "shared" / "words.rules").write_text('list words = ["refund"]')
    file = tmp_path / "desk" / "desk.rules"
    file.write_text('import "../shared/words.rules"\nroute money when text contains any words -> billing\ndefault -> chat')
    with pytest.raises(CompileError):
        LiveRules.from_path(file)
    with pytest.raises(RulecError):
        WatchedRules(file)
    message = {"text": "a refund"}
    for tier, index in [("auto", "always"), ("vm", "never"), ("jit", "auto"), ("reference", "auto")]:
        live = LiveRules.from_path(file, root=tmp_path, tier=tier, index=index)
        watched = WatchedRules(file, root=tmp_path, tier=tier, index=index)
        text = LiveRules.from_text('import "w.rules"\nroute money when text contains any words -> billing', tier=tier, index=index,
                                   imports={"w.rules": 'list words = ["refund"]'})
        assert live.decide(message).target == watched.decide(message).target == text.decide(message).target == "billing"

    async def main() -> None:
        router = Router(Rules.from_text("default -> chat"), {}, otherwise=lambda request: request.handler)
        with pytest.raises(RulecError, match="fast"):
            await router.watch(file, root=tmp_path, tier="fast")
        with pytest.raises(RulecError):
            await router.watch(file)
        await router.watch(file, root=tmp_path, tier="vm", index="always")
        assert (await router.route(message)).handler == "billing"
        await router.close()

    asyncio.run(asyncio.wait_for(main(), 60))
    with pytest.raises(RulecError, match="fast"):
        LiveRules.from_text("default -> chat", tier="fast")
    with pytest.raises(RulecError, match="sometimes"):
        WatchedRules(file, root=tmp_path, index="sometimes")
    with pytest.raises(RulecError, match="from_path"):
        LiveRules.from_text("desk.rules")


def test_a_file_that_cannot_be_loaded_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(RulecError, match="support.rules"):
        WatchedRules(tmp_path / "support.rules")


def test_each_call_waits_for_the_next_change(tmp_path: Path) -> None:
    file = tmp_path / "support.rules"
    file.write_text("default -> first")
    rules = WatchedRules(file)

    async def main() -> None:
        start = rules.status
        waiting = rules.changed(), rules.changed()
        file.write_text("default -> ")
        refused, also_refused = await asyncio.gather(*waiting)
        assert refused == also_refused == rules.status and refused.refused == 1
        # The refusal is over: a call reports the next change, or a change since a known status.
        change = rules.changed()
        file.write_text("default -> second")
        assert (await change).error is None
        rules.check()
        assert await rules.changed(since=refused) == await rules.changed(since=start) == rules.status

    asyncio.run(asyncio.wait_for(main(), 30))


DESK = """
payload refund rank 1 { amount: number in 0..=500 }
table approval { route large when args.amount > 100 -> ask  default -> allow }
flow tool run { endpoint: { url: "http://localhost:9/run", method: "POST", body: { flow: "{flow_id}" } } }
flow hours keyword contains ["opening hours"] -> "hours"
default -> chat
"""
CHANGED = DESK.replace("0..=500", "0..=50").replace("> 100", "> 10").replace("opening hours", "hours")


def test_guards_and_flows_use_the_rules_in_force(tmp_path: Path) -> None:
    file, client = tmp_path / "desk.rules", HttpClient(allow=["localhost:9"], retries=0)
    file.write_text(DESK)

    def objects(rules: Any) -> tuple[Guard, Flows, FlowChat]:
        return Guard(rules, approval="approval"), Flows(rules, client=client), FlowChat(rules, client=client)

    async def answers(guard: Guard, flows: Flows, chat: FlowChat) -> list[Any]:
        verdicts = [guard.check({"name": "refund", "arguments": {"amount": amount}}) for amount in (20, 200)]
        found = flows.find("your hours?")
        asked = await chat.query("your hours?")
        return [(verdict.ok, verdict.approval) for verdict in verdicts] + [found and found.id, asked.flow]

    async def main() -> None:
        live, watched = LiveRules.from_text(DESK), WatchedRules(file)
        router = Router(LiveRules.from_text(DESK), {"chat": print})
        followers = [objects(rules) for rules in (Rules.from_text(DESK), live, watched, router)]
        for follower in followers:
            assert await answers(*follower) == [(True, "allow"), (True, "ask"), None, None]
        change = watched.changed()
        file.write_text(CHANGED)
        live.edit([Edit.replace(line) for line in CHANGED.splitlines()[1:5] if not line.startswith("table")])
        live.replace("route large when args.amount > 10 -> ask", table="approval")
        router.swap(Rules.from_text(CHANGED))
        await change
        assert await answers(*followers[0]) == [(True, "allow"), (True, "ask"), None, None]
        for follower in followers[1:]:
            assert await answers(*follower) == [(True, "ask"), (False, "allow"), "hours", "hours"]
        # Rules without payloads and flows leave unknown tools, and no flow to find.
        router.swap(Rules.from_text("default -> chat"))
        guard, flows, _ = followers[3]
        assert guard.check({"name": "refund", "arguments": {}}).feedback.startswith("There is no tool `refund`.")
        assert guard.tools == [] and flows.find("your hours?") is None and flows.intents == []

    asyncio.run(asyncio.wait_for(main(), 60))


def test_rules_that_are_no_rules_are_refused() -> None:
    wrong: Any = "desk.rules"
    for make in (Guard, Flows):
        with pytest.raises(TypeError, match="`WatchedRules` or a `Router` are wanted, and not a <class 'str'>"):
            make(wrong)


def test_live_rules_have_what_rules_have(tmp_path: Path) -> None:
    text = """
    input { n?: int, now?: datetime, user?: string }
    history by user keep 24h
    route again when (count p in history: p.n == n) >= 1 -> deny
    default -> run
    table size { route big when n > 9 -> many  default -> few }
    """
    live, store = LiveRules.from_text(text), MemoryStore()
    assert live.decide_json('{"n": 12}', entry="size").target == "many"
    assert [decision.target for decision in live.decide_many([{"n": 12}, {"n": 1}], entry="size")] == ["many", "few"]
    with pytest.raises(MessageError, match="message 1: "):
        live.decide_many([{}, {"n": object()}])
    with pytest.raises(UnknownName, match="did you mean `size`"):
        live.decide_json("{}", entry="sizes")
    live.replace("route big when n > 99 -> many", table="size")
    assert live.explain({"n": 12}, entry="size").target == "few"
    assert live.decide(Rules.from_text(text).prepare({"n": 12}), entry="size").target == "few"
    message = {"n": 1, "user": "ann", "now": "2026-01-31T12:00:00Z"}
    assert live.decide_and_record(message, history=store).target == "run"
    assert live.decide_with_history(message, history=store).target == "deny"
    assert live.decide_with_history(message, history=store, entry="size").target == "few"
    live.insert("route blocked priority 5 when (count p in history: p.decision.target == \"deny\") >= 1 -> block")
    live.record(message, live.decide_with_history(message, history=store), history=store)
    live.observe({**message, "n": 7}, history=store)
    assert live.decide_with_history({**message, "n": 7}, history=store).target == "block"
    with pytest.raises(RulecError, match="keep no history"):
        LiveRules.from_text("default -> run").observe(message, history=store)

    artifact = Rules.from_text(text).to_artifact()
    path = tmp_path / "rules.rulec"
    path.write_bytes(artifact)
    for source in (artifact, path):
        loaded = LiveRules.from_artifact(source)
        assert loaded.decide({"n": 12}, entry="size").target == "many"
    watched = WatchedRules(path)
    assert watched.explain({"n": 12}, entry="size").target == "many" and watched.stats()["messages"]["decided"] == 0
    path.write_text(DESK)
    assert WatchedRules(path).flows().find("opening hours?")


FINALIZERS = """
import asyncio, gc, threading
from rulec import Flows, LiveRules, Router

FLOW = 'flow hours keyword contains ["hours"] -> "hours"\\n'

class Called:
    def __call__(self, number):
        return True
    def __del__(self):
        print("finalizer", flows.find("hours?").id, flush=True)

def rules():
    text = FLOW + "extern fn flag(n: number) -> bool\\nroute a when flag(1) -> a\\ndefault -> b"
    return LiveRules.from_text(text, functions={"flag": Called()})

router = Router(rules(), {"a": print, "b": print}, keep=0)
flows = Flows(router)
router.swap(LiveRules.from_text(FLOW + "default -> b"))
gc.collect()
print("found", flows.find("hours?").id, flush=True)
flows.find("hours?")
"""


def test_a_finalizer_may_use_the_rules_in_force() -> None:
    """Regression test: the former rules were dropped under a lock for which a finalizer waited forever."""
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n{FINALIZERS}"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0 and sorted(ran.stdout.split()[:4]) == ["finalizer", "found", "hours", "hours"], ran


CHOICE = "choice plan { default branch paid; branch a { x > 1 } }\n"


def test_live_rules_decide_by_the_entry_that_rules_decide_by(tmp_path: Path) -> None:
    message, file = {"x": 2, "user": "ann", "now": "2026-01-31T12:00:00Z"}, tmp_path / "plan.rules"
    live = LiveRules.from_text(CHOICE)
    file.write_text(CHOICE)
    watched = WatchedRules(file)
    for rules in (live, watched):
        assert (rules.decide(message).entry, rules.decide(message).branch) == ("plan", "a")
    assert live.decide_json('{"x": 2}').branch == "a" and live.decide_many([message])[0].branch == "a"
    assert live.matched(message) == ["a", "paid"]
    # A route outside tables decides, before the routes are merged and after.
    live.insert("route r when x > 1 -> h")
    assert live.decide(message).chosen == "r"
    live.merge()
    assert live.decide(message).chosen == "r"
    several = "input { now: datetime, user: string, x: number }\nhistory by user keep 1d\n" + CHOICE
    store, only = MemoryStore(), LiveRules.from_text(several)
    assert only.decide_with_history(message, history=store).branch == "a"
    with pytest.raises(UnknownName, match="call `decide_with_history`, then `record`"):
        only.decide_and_record(message, history=store)
    several += CHOICE.replace("plan", "size")
    live = LiveRules.from_text(several)
    file.write_text(several)
    calls: list[Any] = [
        lambda: Rules.from_text(several).decide(message),
        lambda: live.decide(message),
        lambda: live.decide_json("{}"),
        lambda: live.decide_many([message]),
        lambda: live.matched(message),
        lambda: live.explain(message),
        lambda: live.decide_with_history(message, history=store),
        lambda: live.decide_and_record(message, history=store),
        lambda: WatchedRules(file).decide(message),
    ]
    for call in calls:
        with pytest.raises(UnknownName, match="name the `entry` that decides: plan, size"):
            call()


def test_an_open_guard_rejects_a_renamed_tool_without_its_kind() -> None:
    """Regression test: after an edit removed the kind of a tool, its calls were accepted without a check."""
    kind = 'payload shell { command: string; forbid "no.rm" at command when command contains "rm" else "no" }'
    live = LiveRules.from_text(kind)
    guard = Guard(live, tools={"bash": "shell"}, closed=False)
    call = {"name": "bash", "input": {"command": "rm -rf /"}, "type": "tool_use", "id": "x"}
    assert not guard.check(call).ok and guard.check({"name": "other", "input": {}}).ok
    live.edit([Edit.remove("payload shell"), Edit.insert(kind.replace("shell", "run"))])
    verdict = guard.check(call)
    assert not verdict.ok and verdict.feedback.startswith("There is no tool `bash`.") and guard.tools == ["run"]
    assert guard.check({"name": "other", "input": {}}).ok
