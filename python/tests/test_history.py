"""Rules that read earlier messages: sessions with a store."""

from __future__ import annotations

import json
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from rulec import LiveRules, MessageError, RulecError, Rules, UnknownName
from rulec.history import DurableStore, MemoryStore, SharedStore, Store

RULES = Rules.from_text("""
input { tool: string, user?: string, cents?: int, now: datetime }
history by user keep 1d at most 100
route leak priority 10 when tool == "send" and any p in history within 1h: p.tool == "read_secret" -> deny
route budget when tool == "pay" and (sum p.cents for p in history: p.decision.target == "pay") + cents > 1000 -> ask
route pay when tool == "pay" -> pay
default -> run
table calm { route repeated when previous.tool == tool -> deny default -> run }
""")
NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


def call(tool: str, user: str = "ann", minutes: int = 0, **fields: Any) -> dict[str, Any]:
    return {"tool": tool, "user": user, "now": NOON + timedelta(minutes=minutes), **fields}


def test_a_session_decides_by_what_happened_before() -> None:
    store = MemoryStore()
    session = RULES.session(history=store)
    assert RULES.has_history and not Rules.from_text("default -> chat").has_history
    assert session.decide_and_record(call("read_secret")).target == "run"
    assert session.decide_with_history(call("send", minutes=5)).target == "deny"
    assert session.decide_with_history(call("send", minutes=61)).target == "run"
    assert session.decide_with_history(call("send", "bob")).target == "run"
    assert session.decide(call("send", minutes=5)).target == "run"
    assert RULES.session(history=store).decide_with_history(call("send")).target == "deny"
    assert store.key_count == 1 and repr(store) == "<MemoryStore: 1 key>"


def test_messages_are_observed_and_recorded_later() -> None:
    session = RULES.session(history=MemoryStore())
    session.observe(call("pay", cents=900))
    decision = session.decide_with_history(call("pay", cents=900))
    # A message without a decision was not paid.
    assert decision.target == "pay"
    session.record(call("pay", cents=900), decision)
    assert session.decide_with_history(call("pay", cents=200)).target == "ask"
    assert session.decide_with_history(call("pay", cents=100)).target == "pay"
    with pytest.raises(RulecError, match="a pickled decision cannot be recorded"):
        session.record(call("pay"), pickle.loads(pickle.dumps(decision)))


def test_entries_and_prepared_messages() -> None:
    session = RULES.session(entry="calm", history=MemoryStore())
    prepared = RULES.prepare(call("search"))
    assert [session.decide_and_record(prepared).target for _ in range(2)] == ["run", "deny"]
    with pytest.raises(UnknownName, match="calm"):
        RULES.session(entry="clam", history=MemoryStore())


def test_threads_never_spend_a_budget_twice() -> None:
    store = MemoryStore()
    paid: list[str | None] = []

    def spend() -> None:
        session = RULES.session(history=store)
        for _ in range(20):
            paid.append(session.decide_and_record(call("pay", cents=100)).target)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paid.count("pay") == 10 and paid.count("ask") == 70


def test_functions_of_python_are_called_while_histories_are_locked() -> None:
    rules = Rules.from_text(
        """
        extern fn limit(user: string) -> int
        input { user: string, now: datetime }
        history by user keep 1d
        route full when (count p in history: p.user == user) >= limit(user) -> stop
        default -> go
        """,
        functions={"limit": lambda user: len(user)},
    )
    store = MemoryStore()
    targets: list[str | None] = []

    def decide() -> None:
        session = rules.session(history=store)
        targets.extend(session.decide_and_record({"user": "ann", "now": NOON}).target for _ in range(200))

    threads = [threading.Thread(target=decide) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert targets.count("go") == 3 and len(targets) == 600


def test_errors_name_the_remedy() -> None:
    session = RULES.session(history=MemoryStore())
    with pytest.raises(MessageError, match="no `user`, which separates histories"):
        session.decide_and_record({"tool": "send", "now": NOON})
    with pytest.raises(MessageError, match="no time `now`"):
        session.observe({"tool": "send", "user": "ann"})
    with pytest.raises(MessageError, match="a message has fields"):
        session.observe("send")  # type: ignore[arg-type]
    with pytest.raises(RulecError, match=r"no store of earlier messages; give it one: `rules.session\(history=MemoryStore\(\)\)`"):
        RULES.session().decide_and_record(call("send"))
    with pytest.raises(RulecError, match="keep no history; declare one"):
        Rules.from_text("default -> chat").session(history=MemoryStore())
    with pytest.raises(RulecError, match="give a store of `rulec.history`, or an object with the method `with_key`"):
        RULES.session(history={})  # type: ignore[arg-type]


class FileStore:
    """Keeps each key in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.Lock()

    @contextmanager
    def with_key(self, key: str) -> Iterator[list[dict[str, Any]]]:
        path = self.folder / f"{key.encode().hex()}.json"
        with self.lock:
            messages: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
            yield messages
            path.write_text(json.dumps(messages))


def test_a_store_in_python(tmp_path: Path) -> None:
    store: Store = FileStore(tmp_path)
    first = RULES.session(history=store)
    targets = [first.decide_and_record(call("pay", cents=400, minutes=at)).target for at in range(4)]
    assert targets == ["pay", "pay", "ask", "ask"]
    memory = RULES.session(history=MemoryStore())
    assert [memory.decide_and_record(call("pay", cents=400, minutes=at)).target for at in range(4)] == targets
    # The messages are there for the session of another process.
    later = RULES.session(history=FileStore(tmp_path))
    assert later.decide_with_history(call("pay", cents=200, minutes=9)).target == "pay"
    assert later.decide_with_history(call("pay", cents=201, minutes=9)).target == "ask"
    [file] = tmp_path.iterdir()
    assert [message["decision"]["target"] for message in json.loads(file.read_text())] == targets


def test_a_store_in_python_keeps_hashes_of_private_texts(tmp_path: Path) -> None:
    rules = Rules.from_text("""
        input { tool: string, card: string @private, now: datetime }
        history keep 1d
        route again when any p in history: p.card == card -> ask
        default -> run
    """)
    with pytest.raises(RulecError, match="an attribute `hash_key`, 16 random bytes"):
        rules.session(history=FileStore(tmp_path))

    class KeyedStore(FileStore):
        hash_key = b"0123456789abcdef"

    message = {"tool": "pay", "card": "4000-1", "now": "2026-01-31T12:00:00Z"}
    sessions = [rules.session(history=KeyedStore(tmp_path)) for _ in range(2)]
    assert [session.decide_and_record(message).target for session in sessions] == ["run", "ask"]
    [file] = tmp_path.iterdir()
    assert "4000-1" not in file.read_text()

    class ShortKey(FileStore):
        hash_key = b"short"

    with pytest.raises(RulecError, match="the `hash_key` of a store is 16 bytes"):
        rules.session(history=ShortKey(tmp_path))


def test_a_store_that_fails(tmp_path: Path) -> None:
    class Broken:
        @contextmanager
        def with_key(self, key: str) -> Iterator[Any]:
            if key.endswith("ann"):
                raise OSError("the disk is full")
            yield "no list"

    session = RULES.session(history=Broken())
    with pytest.raises(RulecError, match="cannot be kept: OSError: the disk is full"):
        session.decide_and_record(call("pay", cents=1))
    with pytest.raises(RulecError, match="gives a list of dicts"):
        session.decide_and_record(call("pay", "bob", cents=1))
    assert session.decide(call("pay", cents=1)).target == "pay"


def test_a_store_outlives_its_rules_and_is_bounded() -> None:
    store = MemoryStore(max_keys=64)
    RULES.session(history=store).observe(call("read_secret"))
    changed = Rules.from_text("""
        input { tool: string, user?: string, now: datetime }
        history by user keep 1d
        route careful when any p in history: p.tool == "read_secret" -> ask
        default -> run
    """)
    assert changed.session(history=store).decide_with_history(call("send")).target == "ask"
    for at in range(1000):
        RULES.session(history=store).observe(call("send", f"user {at}"))
    assert 0 < store.key_count <= 64


def test_decisions_with_a_history_name_no_skipped_conditions() -> None:
    """Regression test: the condition that chose the branch was listed as skipped."""
    rules = Rules.from_text("""
    input { user: string, n: number, now: datetime }
    history by user keep 1d
    choice plan { default branch paid  branch again any { previous.n > 5; n > 100 } }
    """)
    session, message = rules.session(history=MemoryStore()), {"user": "ann", "n": 9, "now": NOON}
    alone = rules.decide(message)
    assert alone.branch == "paid" and [item["branch"] for item in alone.skipped] == ["again"]
    assert session.decide_and_record(message).skipped == alone.skipped
    for decision in (session.decide_with_history(message), session.decide_and_record(message)):
        assert decision.branch == "again" and decision.skipped == [] and "skipped" not in decision.to_dict()


GUARD = """
input { tool: string, user?: string, cents?: int, now: datetime }
history by user keep 1d at most 3
route leak priority 10 when tool == "send" and any p in history within 1h: p.tool == "read_secret" -> deny
route again when previous.tool == tool -> ask
default -> run
payload call {
  decision: any const decision
  cents: int
  require "rate" at cents: (count p in history within 1h: p.tool == tool) < 2 else "too many calls"
}
choice plan { default branch calm  branch wild any { previous.cents > 5; cents > 100 } }
"""


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """Runs a Redis server, and gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    keeps = ["--save", "", "--appendonly", "yes", "--appendfsync", "always", "--dir", str(folder)]
    with subprocess.Popen(
        ["redis-server", "--bind", "127.0.0.1", "--port", str(port), *keeps], stdout=subprocess.DEVNULL
    ) as server:
        try:
            for _ in range(1000):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    time.sleep(0.01)
            yield f"redis://127.0.0.1:{port}"
        finally:
            server.kill()


@pytest.fixture(params=["memory", "python", "durable", "shared"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore | DurableStore | SharedStore | Store]:
    match request.param:
        case "memory":
            yield MemoryStore()
        case "python":
            yield FileStore(tmp_path)
        case "durable":
            yield DurableStore(tmp_path / "past")
        case _:
            with redis(tmp_path) as address:
                yield SharedStore(f"{address}#guard")


def test_every_question_is_answered_with_the_history(any_store: MemoryStore | DurableStore | SharedStore | Store) -> None:
    rules = Rules.from_text(GUARD)
    session = rules.session(history=any_store)
    session.observe(call("read_secret", cents=9))
    mail = call("send", minutes=5)
    decision = session.decide_with_history(mail)
    assert decision.chosen == "leak" and decision.history_gap is None
    for explanation in (session.explain(mail), rules.explain(mail, history=any_store), rules.explain(rules.prepare(mail), history=any_store)):
        assert (explanation.chosen, explanation.target) == ("leak", "deny")
    assert rules.explain(mail).chosen == "default"
    assert session.matched(mail) == rules.matched(mail, history=any_store) == ["leak"]
    assert rules.matched(mail) == []
    repeated = call("read_secret", minutes=6)
    for answer in (session.why_not(repeated, "leak"), rules.why_not(repeated, "leak", history=any_store)):
        [change] = answer["remedy"]["change"]["fields"]
        assert (answer["taken_by"], change["field"], change["would_be"]) == ("again", "tool", "send")
    without = rules.why_not(repeated, "leak")
    assert (without["taken_by"], without["remedy"]) == ("default", "unknown")
    assert rules.skipped("plan", mail, history=any_store) != rules.skipped("plan", mail)
    assert rules.explain(mail, entry="plan", history=any_store).chosen == "wild"
    live = LiveRules.from_text(GUARD)
    live.replace('route again when previous.tool == "read_secret" -> ask')
    later = call("search", minutes=7)
    assert live.explain(later, history=any_store).chosen == live.decide_with_history(later, history=any_store).chosen == "again"
    assert live.explain(later).chosen == "default"
    with pytest.raises(UnknownName, match="leek"):
        session.why_not(mail, "leek")


def test_payloads_are_judged_with_the_history(any_store: MemoryStore | DurableStore | SharedStore | Store) -> None:
    rules = Rules.from_text(GUARD)
    session = rules.session(history=any_store)
    inputs = call("pay", minutes=9)
    judge, judges = rules.judge("call", inputs=inputs, history=any_store), rules.judge_by("decision", inputs=inputs, history=any_store)
    payload = {"decision": "call", "cents": 3}
    assert repr(judge) == "<Judge of call with a history>" and repr(rules.judge("call")) == "<Judge of call>"
    for minutes in range(2):
        assert judge.judge(payload).is_accepted and judges.judge(json.dumps(payload)).is_accepted and judge.why(payload) == []
        session.observe(call("pay", minutes=minutes))
    for judgement in (judge.judge(payload), judge.judge(json.dumps(payload)), judges.judge(payload), judges.judge(json.dumps(payload))):
        assert [violation.rule for violation in judgement.violations] == ["rate"]
        assert judgement.history_gap is None and "history_gap" not in judgement.to_dict()
    assert [reason["rule"] for reason in judge.why(payload)] == ["rate"]
    assert rules.judge("call", inputs=inputs).judge(payload).is_accepted
    assert judges.judge({"decision": "cull"}).violations[0].rule == "decision.match"
    with pytest.raises(MessageError, match="the payload|JSON|object"):
        judge.judge("{")


def test_a_gap_of_the_history_is_reported() -> None:
    rules, store = Rules.from_text(GUARD), MemoryStore()
    session = rules.session(history=store)
    nobody = {"tool": "pay", "now": NOON}
    payload = {"decision": "call", "cents": 3}
    assert session.decide_with_history(nobody).history_gap == "no_key"
    judgement = rules.judge("call", inputs=nobody, history=store).judge(payload)
    assert judgement.is_accepted and judgement.history_gap == judgement.to_dict()["history_gap"] == "no_key"
    for minutes in range(4):
        decision = session.decide_and_record(call("pay", minutes=minutes))
    assert decision.history_gap is None and session.decide_with_history(call("pay", minutes=5)).history_gap == "dropped"
    assert rules.judge("call", inputs=call("pay", minutes=5), history=store).judge(payload).history_gap == "dropped"
    assert pickle.loads(pickle.dumps(session.decide_with_history(call("pay", minutes=5)))).history_gap == "dropped"
    assert session.decide(call("pay")).history_gap is None


def test_questions_with_a_history_name_the_remedy() -> None:
    ask: Callable[[], object]
    without = Rules.from_text("route a when n > 3 -> x default -> chat\npayload call { n: int }")
    for ask in (
        lambda: without.explain({}, history=MemoryStore()),
        lambda: without.why_not({}, "a", history=MemoryStore()),
        lambda: without.judge("call", history=MemoryStore()),
    ):
        with pytest.raises(RulecError, match="keep no history; declare one"):
            ask()
    rules = Rules.from_text(GUARD)
    alone = rules.session()
    for ask in (lambda: alone.explain(call("send")), lambda: alone.why_not(call("send"), "leak"), lambda: alone.matched(call("send"))):
        with pytest.raises(RulecError, match="no store of earlier messages; give it one"):
            ask()
    with pytest.raises(RulecError, match="give a store of `rulec.history`, or an object"):
        rules.explain(call("send"), history={})  # type: ignore[arg-type]

    class Broken:
        @contextmanager
        def with_key(self, key: str) -> Iterator[list[dict[str, Any]]]:
            raise OSError("the disk is full")
            yield []

    for ask in (
        lambda: rules.explain(call("send"), history=Broken()),
        lambda: rules.judge("call", inputs=call("send"), history=Broken()).judge({"decision": "call", "cents": 3}),
    ):
        with pytest.raises(RulecError, match="the disk is full"):
            ask()


def test_a_folder_keeps_the_history(tmp_path: Path) -> None:
    rules, folder = Rules.from_text(GUARD), tmp_path / "past"
    store = DurableStore(folder)
    assert repr(store) == f"<DurableStore {folder}>"
    rules.session(history=store).observe(call("read_secret"))
    with pytest.raises(RulecError, match="the history cannot be kept"):
        DurableStore(folder)
    del store
    store = DurableStore(folder)
    session = rules.session(history=store)
    assert session.decide_with_history(call("send", minutes=5)).chosen == "leak"
    assert store.compact() == 0 and store.compact(before=NOON + timedelta(minutes=1)) == 1
    assert session.decide_with_history(call("send", minutes=5)).chosen == "default"
    with pytest.raises(RulecError, match="noon"):
        store.compact("noon")
    with pytest.raises(RulecError, match="a time is a datetime"):
        store.compact(12)  # type: ignore[arg-type]
    del store, session
    # The command line of the package uses the same folder.
    guard = tmp_path / "guard.rules"
    guard.write_text(GUARD)
    lines = "".join(json.dumps(call(tool) | {"now": NOON.isoformat()}) + "\n" for tool in ("read_secret", "send"))
    run = [sys.executable, "-m", "rulec", "run", str(guard), "-", "--history", str(folder)]
    ran = subprocess.run(run, input=lines, capture_output=True, text=True)
    assert [json.loads(line)["chosen"] for line in ran.stdout.splitlines()] == ["default", "leak"], ran.stderr


def test_a_server_shares_the_history(tmp_path: Path) -> None:
    rules = Rules.from_text(GUARD)
    with redis(tmp_path) as address:
        first, second = SharedStore(address, name="guard"), SharedStore(f"{address}/0#guard", name="other")
        assert repr(first) == repr(second) == "<SharedStore guard>"
        rules.session(history=first).observe(call("read_secret"))
        assert rules.session(history=second).decide_with_history(call("send", minutes=5)).chosen == "leak"
        assert first.compact(NOON + timedelta(days=2)) == 1
        assert rules.session(history=second).decide_with_history(call("send", minutes=5)).chosen == "default"
        with pytest.raises(RulecError, match="name"):
            SharedStore(address)
        with pytest.raises(RulecError):
            SharedStore(address, name="guard", password="wrong")
    with pytest.raises(RulecError, match="is no address of a Redis server"):
        SharedStore("localhost")
