"""Small things that users tripped over."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import logging
import pickle
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import rulec
from rulec import Classifier, CompileError, MessageError, Policy, Router, RulecError, Rules
from rulec.agents import Bus, Coordinator
from rulec.choices import ChoiceCall
from rulec.flows import ChatModel, HttpClient, HttpError
from rulec.guard import Guard

DESK = Rules.from_text("""
input { text?: string  n?: number  price?: decimal }
route busy priority 5 when n > 3 -> queue(n: n, price: price) { kind: "list" }
default -> chat
""")


def test_the_version() -> None:
    assert rulec.__version__.count(".") == 2


def test_warnings_are_as_in_check() -> None:
    rules = Rules.from_text("route a when n > 3 -> x\nroute b when n > 9 -> y\ndefault -> z")
    assert [warning.message for warning in rules.warnings] == [
        "`b` can never be chosen: `a` matches every message that it matches"
    ]
    assert [warning.code for warning in rules.warnings] == [finding.diagnostic.code for finding in rules.analyse()]


def test_functions_that_rules_cannot_call_are_an_error_at_once() -> None:
    text = "extern fn score(text: string) -> int\nroute long when score(text) > 3 -> essays\ndefault -> notes"

    async def score(text: str) -> int:
        return len(text)

    with pytest.raises(RulecError, match="`score` is an async function; .*no `async def`"):
        Rules.from_text(text, functions={"score": score})
    with pytest.raises(RulecError, match="no `extern fn` of the rules names `skore`.*they declare score"):
        Rules.from_text(text, functions={"score": len, "skore": len})
    assert Rules.from_text(text, functions={"score": len}).decide({"text": "four"}).target == "essays"


def test_decisions_are_pickled_and_copied() -> None:
    made = DESK.decide({"n": 4, "price": "1.10", "text": 7})
    for decision in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), pickle.loads(pickle.dumps(copy.copy(made)))):
        assert decision == made and hash(decision) == hash(made) and repr(decision) == repr(made)
        assert decision.to_dict() == made.to_dict() and decision.to_json() == made.to_json()
        names = [name for name in dir(type(made)) if not name.startswith(("_", "to_json", "to_dict"))]
        assert len(names) >= 18
        for name in names:
            assert getattr(decision, name) == getattr(made, name), name
    assert str(made.args["price"]) == "1.1" and made.breaches


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_none_are_reported(value: float) -> None:
    for decide in (DESK.decide, DESK.session().decide, lambda message: DESK.decide_many([message])):
        with pytest.raises(MessageError, match="`n` is (NaN|inf), which JSON has no form for; give None"):
            decide({"n": value})


def test_reprs_say_what_it_is() -> None:
    flows = Rules.from_text('flow a keyword exact ["a"] -> "a"').flows()
    policy = Policy(time_limit=1, retries=(2, 0.5), fallbacks=["chat"])
    assert repr(flows) == "<Flows: 0 intents>"
    assert repr(policy) == 'Policy(time_limit=1, retries=(2, 0.5), fallbacks=["chat"])' == repr(eval(repr(policy)))
    assert repr(DESK.prepare({"n": 1})) == '<Prepared {"n":1}>' and repr(DESK.session()) == "<Session of routes>"
    rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }\nchoice size { default branch small }\ndefault -> chat")
    assert repr(rules) == f"<Rules: 1 route, 1 choice case, 3 payload rules, generation {rules.generation}>"
    client = HttpClient(allow=["a.example.com", "localhost:9"])
    assert repr(client) == "<HttpClient for a.example.com, localhost:9>"
    assert repr(ChatModel("http://localhost:9/v1", "small", client=client)) == "<ChatModel small at http://localhost:9/v1>"
    assert repr(Coordinator(rules)) == "<Coordinator: 1 payload kind, 0 subscribers>" and repr(Bus()) == "<Bus: 0 subscribers>"
    assert repr(ChoiceCall(rules, "size")) == "<ChoiceCall size>" and repr(Guard(rules)) == "<Guard of refund>"
    edit = rulec.Edit.insert("default -> a", table="t")
    assert repr(edit) == 'Edit.insert("default -> a", table="t")'
    assert "Router: 2 routes" in repr(Router(DESK, {"queue": print, "chat": print})) and "2 handlers" in repr(Router(DESK, {"queue": print, "chat": print}))
    shown: list[str] = []
    router = Router(DESK, {"queue": print, "chat": lambda request: shown.append(repr(request))}, after=lambda done: shown.append(repr(done)))
    asyncio.run(asyncio.wait_for(router.route({"n": 1}), 20))
    assert shown[0] == "<Request of default for chat, attempt 1>" and shown[1].startswith("<Finished <Outcome")


def test_guards_take_lists_and_refuse_rules_without_payloads() -> None:
    guard = Guard(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
    calls = [{"name": "refund", "arguments": {"amount": amount}} for amount in (20, 900)]
    answer = {"content": [{"type": "text", "text": "I"}, {"type": "tool_use", "name": "refund", "input": {"amount": 20}}]}
    assert [verdict.ok for verdict in guard.check_all(calls)] == [True, False]
    assert [verdict.ok for verdict in guard.check_all({"content": None, "tool_calls": calls})] == [True, False]
    assert [verdict.ok for verdict in guard.check_all(answer)] == [True]
    assert guard.check_all({"content": "hello"}) == []
    with pytest.raises(RulecError, match="no `payload`.*closed=False"):
        Guard(DESK)
    assert Guard(DESK, closed=False).check(calls[0]).ok


def test_judges_explain() -> None:
    judge = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 clamp; currency: string default \"EUR\" }").judge("refund")
    [why] = judge.why({"amount": 900, "currency": "EUR"})
    assert why["rule"] == "refund.amount.range" and "900" in json.dumps(why["when"])
    judgement = judge.judge({"amount": 900})
    assert sorted(judgement.corrections) == [("clamp", "$.amount"), ("default", "$.currency")]
    rules = Rules.from_text("input { context?: { limit: number } }\npayload refund rank 1 { amount: number\n require \"refund.below\": amount <= context.limit }")
    assert [rule for rule, _, _ in rules.judge("refund").judge({"amount": 9}).unchecked] == ["refund.below"]


def test_a_classifier_is_trained() -> None:
    classifier = Classifier.train([("refund", ["I want my money back"]), ("status", ["where is my parcel"])], threshold=0.1)
    assert classifier.ids == ["refund", "status"] and classifier.classify("where is the parcel") == "status"
    assert classifier.ranked("where is the parcel")[0][0] == "status" and classifier.classify("zzz") is None
    with pytest.raises(RulecError):
        Classifier.train([("refund", ["a"])], threshold=7)


def test_engines_are_chosen_by_name() -> None:
    text = "route big when n > 3 -> many\ndefault -> few"
    for tier in ("auto", "reference", "vm", "jit"):
        for index in ("auto", "always", "never"):
            assert Rules.from_text(text, tier=tier, index=index).decide({"n": 4}).target == "many"
    with pytest.raises(RulecError, match="no engine `fast`; choose auto"):
        Rules.from_text(text, tier="fast")
    with pytest.raises(RulecError, match="no indexing `some`; choose auto"):
        Rules.from_text(text, index="some")


def test_sessions_and_sequences_of_texts() -> None:
    rules = Rules.from_text("table t { route big when n > 3 -> many default -> few }")
    texts: list[Any] = [json.dumps({"n": n}) for n in range(3000)]
    texts[1] = texts[1].encode()
    for threads in (1, 2, 3, 2000):
        decisions = rules.decide_json_many(texts, entry="t", threads=threads)
        assert [decision.target for decision in decisions] == ["few"] * 4 + ["many"] * 2996
    assert rules.decide_json_many([], entry="t", threads=2) == []
    with pytest.raises(MessageError, match="message 2: "):
        rules.decide_json_many(["{}", "{}", "{"], entry="t", threads=2)
    # Of several invalid messages, the first is named, whichever thread finds it.
    with pytest.raises(MessageError, match="message 600: "):
        rules.decide_json_many([*["{}"] * 600, "{", *["{}"] * 1000, "{"], entry="t", threads=2)
    session = rules.session(entry="t")
    assert session.decide({"n": 4}).target == "many" and session.decide_json(b'{"n": 1}').target == "few"
    assert session.decide(rules.prepare({"n": 4})).target == "many"
    with pytest.raises(MessageError):
        session.decide_json("{")


def test_reports_go_to_logging(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    async def main() -> None:
        router = Router(Rules.from_text("default -> chat"), {"chat": lambda request: "hi"})
        rulec.log_level("info")
        try:
            await router.route({"text": "hello"})
            router.swap(Rules.from_text("default -> chat"))
            while len(caplog.records) < 2:
                await asyncio.sleep(0.01)
        finally:
            rulec.log_level("warning")
        await router.route({"text": "hello"})
        await asyncio.sleep(0.1)

    with caplog.at_level(logging.INFO, logger="rulec"):
        asyncio.run(asyncio.wait_for(main(), 20))
    records = {record.name: record for record in caplog.records}
    assert sorted(records) == ["rulec.decision", "rulec.router"] and len(caplog.records) == 2
    decided: Any = records["rulec.decision"]
    assert decided.levelno == logging.INFO and decided.rulec["handler"] == "chat" and "handler=chat" in decided.getMessage()
    assert records["rulec.router"].getMessage().startswith("rules swapped")
    with pytest.raises(RulecError, match="`loud` is no level"):
        rulec.log_level("loud")


def test_a_broken_file_is_a_record_and_a_status(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    path = tmp_path / "desk.rules"
    path.write_text("default -> chat")
    rules = rulec.WatchedRules(path)

    async def main() -> None:
        path.write_text("default ->")
        assert (await rules.changed()).refused == 1
        while not caplog.records:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 20))
    assert caplog.records[0].name.startswith("rulec.") and caplog.records[0].levelno == logging.WARNING
    assert rules.decide({}).target == "chat"


def test_rules_that_do_not_compile_are_data() -> None:
    with pytest.raises(CompileError) as error:
        Rules.from_text("let a = 1 let a = 2")
    assert error.value.diagnostics[0].to_dict()["code"] == "E0203"


def test_errors_speak_python() -> None:
    text = "extern fn score(text: string) -> int\nroute long when score(text) > 3 -> essays\ndefault -> notes"
    with pytest.raises(CompileError) as error:
        Rules.from_text(text)
    advice = 'give the function where you load the rules: `functions={"score": …}`'
    assert advice in str(error.value) and error.value.diagnostics[0].help == advice and error.value.rendered == str(error.value)
    wrong: Any = {"score": 3}
    with pytest.raises(RulecError, match="`score` is no function, but a <class 'int'>"):
        Rules.from_text(text, functions=wrong)
    with pytest.raises(RulecError, match="`support.rules` is the name of a file.*`from_path`"):
        Rules.from_text("support.rules")
    message: Any = {"text": "x"}
    with pytest.raises(TypeError, match="JSON text is `str` or `bytes`, and this is a `dict`; give a dict.* to `decide`"):
        DESK.decide_json(message)


def test_a_router_names_what_does_not_fit() -> None:
    rules, handlers = Rules.from_text("default -> chat"), {"chat": lambda request: "hi"}
    unfit: Any
    with pytest.raises(rulec.RouterError, match="lead to `chat`, which has no handler; register one of this name"):
        Router(rules, {})
    for unfit, problem in [
        ({"handlers": {"chat": "hi"}}, "the handler `chat` is no function, but a <class 'str'>"),
        ({"handlers": handlers, "policies": {"chat": 3}}, "the policy of `chat` is no `Policy`, but a <class 'int'>"),
    ]:
        with pytest.raises(rulec.RouterError, match=problem):
            Router(rules, **unfit)
    unfit = "support.rules"
    with pytest.raises(TypeError, match="`Rules` or `LiveRules` are wanted, and not a <class 'str'>"):
        Router(unfit, handlers)
    with pytest.raises(rulec.RouterError, match="-1 is no number of seconds; give 0 or more"):
        Policy(time_limit=-1)


def test_likely_mistakes_of_a_router_are_records(caplog: pytest.LogCaptureFixture) -> None:
    router = Router(
        Rules.from_text("default -> chat"),
        {"caht": print},
        otherwise=print,
        policies={"chatt": Policy(time_limit=1), "chat": Policy(time_limit=1)},
    )
    assert router.warnings == [
        "no route leads to the handler `caht`",
        "a policy or time limit is set for `chatt`, to which no route leads; did you mean `chat`?",
    ]
    assert records_of(caplog, 2) == [("rulec.router", warning) for warning in router.warnings]


LIMITS = Rules.from_text("""
input { tool?: string, now: datetime }
history keep 24h
router after(output) { otherwise -> next[0] }
choice size { default branch small }
table approval { route again when (count p in history: true) >= 1 -> ask  default -> allow }
default -> run
""")


def test_objects_without_a_history_say_so(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    import pyarrow

    from rulec import batch
    from rulec.adapters.langgraph import edge

    file = tmp_path / "limits.rules"
    file.write_text("input { now: datetime }\nhistory keep 24h\ndefault -> run")
    watched = rulec.WatchedRules(file)
    message = {"now": "2026-01-31T12:00:00Z"}
    makers: list[tuple[str, Any]] = [
        ("rulec.router", lambda: Router(LIMITS, {"run": print})),
        ("rulec.history", lambda: [watched.decide(message) for _ in range(3)]),
        ("rulec.history", lambda: Guard(LIMITS, approval="approval", closed=False)),
        ("rulec.history", lambda: edge(LIMITS, "after")),
        ("rulec.history", lambda: ChoiceCall(LIMITS, "size")),
        ("rulec.history", lambda: batch.decide(LIMITS, pyarrow.table({"now": ["2026-01-31T12:00:00Z"]}), allow_missing=True)),
    ]
    for logger, make in makers:
        make()
        [(name, text)] = records_of(caplog, 1)
        assert name == logger and "as if nothing happened before; a session with a store decides with the history" in text
        caplog.clear()


def records_of(caplog: pytest.LogCaptureFixture, count: int) -> list[tuple[str, str]]:
    """Waits for a number of records, which another thread makes, and returns their loggers and texts."""
    for _ in range(1000):
        if len(caplog.records) >= count:
            break
        time.sleep(0.01)
    return [(record.name, record.getMessage()) for record in caplog.records]


def test_errors_name_what_a_python_program_can_change(tmp_path: Path) -> None:
    router = Router(Rules.from_text("default -> chat"), {"chat": print})
    with pytest.raises(RulecError, match="their texts are not kept; load them as `LiveRules`, from a file or a text"):
        router.edit([rulec.Edit.insert("route a when n > 3 -> chat")])
    live = rulec.LiveRules.from_text("default -> chat")
    with pytest.raises(RulecError, match="give `edit` an edit for each"):
        live.insert("route a when x == 1 -> y route b when x == 2 -> z")
    log = tmp_path / "no folder" / "log.jsonl"
    with pytest.raises(FileNotFoundError, match=r"No such file.*log\.jsonl") as error:
        Router(Rules.from_text("default -> chat"), {"chat": print}, log=log)
    assert error.value.filename == log
    ran = subprocess.run([sys.executable, "-m", "rulec", "serve", "x.rules"], capture_output=True, text=True)
    assert "the Python package never has it" in ran.stderr
    unfit: Any
    for unfit in (3, [3]):
        with pytest.raises(TypeError, match="a list of texts is wanted, and not <class 'int'>"):
            HttpClient(allow=unfit)
        with pytest.raises(TypeError, match="a list of texts is wanted, and not <class 'int'>"):
            Policy(fallbacks=unfit)


def test_an_unknown_argument_is_an_error_with_the_nearest_one(tmp_path: Path) -> None:
    make: Any
    for make, wrong, help in [
        (lambda **wrong: Router(Rules.from_text("default -> chat"), {"chat": print}, **wrong), "permission", "did you mean `permissions`"),
        (lambda **wrong: Rules.from_text("default -> chat", **wrong), "function", "did you mean `functions`"),
        (lambda **wrong: Rules.from_path(tmp_path / "a.rules", **wrong), "rooot", "did you mean `root`"),
        (lambda **wrong: rulec.WatchedRules(tmp_path / "a.rules", **wrong), "tyer", "did you mean `tier`"),
        (Policy, "timeout", "it has time_limit, chain_limit, retries, circuit, fallbacks"),
    ]:
        with pytest.raises(TypeError, match=f"has no argument `{wrong}`; {help}"):
            make(**{wrong: 3})


def test_one_slow_decision_does_not_make_later_ones_release_the_lock() -> None:
    """Counts how often another thread gets the interpreter lock. It gets the lock only if a decision releases it."""
    waits, turns, ended = [0.002], [0], [False]

    def wait() -> bool:
        time.sleep(waits[0])
        return True

    def other() -> None:
        while not ended[0]:
            turns[0] += 1
            time.sleep(0)

    rules = Rules.from_text("extern fn wait() -> bool\nroute slow when n > 1 and wait() -> a\ndefault -> b", functions={"wait": wait})
    thread, interval = threading.Thread(target=other), sys.getswitchinterval()
    thread.start()
    sys.setswitchinterval(1000)
    try:
        for _ in range(64):
            rules.decide_json('{"n": 2}')  # One of these is timed, and slow.
        waits[0] = 0
        undisturbed = False
        # A fast decision that is timed counts as slow if the system interrupts its thread.
        for _ in range(50):
            for _ in range(64):
                rules.decide_json('{"n": 1}')
            before = turns[0]
            for _ in range(60):
                rules.decide_json('{"n": 1}')
            undisturbed = undisturbed or turns[0] == before
        assert undisturbed
    finally:
        ended[0] = True
        sys.setswitchinterval(interval)
        thread.join()


def test_a_text_is_one_name() -> None:
    with pytest.raises(HttpError, match="`localhost:9`"):
        ChatModel("http://localhost:9/v1", "small", client=HttpClient(allow="example.com"))
    ChatModel("http://localhost:9/v1", "small", client=HttpClient(allow="localhost:9"))

    async def main() -> None:
        rules = Rules.from_text('handler admin() requires permission "execute"\ndefault -> admin')
        handlers = {"admin": lambda request: "done"}
        assert (await Router(rules, handlers).route({}, permissions="execute")).reply == "done"
        assert (await Router(rules, handlers, permissions=lambda message: "execute").route({})).reply == "done"

    asyncio.run(asyncio.wait_for(main(), 20))


def test_a_model_reads_nothing_of_a_shell() -> None:
    guard = Guard(Rules.from_text("payload refund rank 1 { amount: number }"))
    feedback = guard.check({"name": "refund", "arguments": "{amount: 20}"}).feedback
    assert "write keys in double quotes" in feedback and "shell" not in feedback


def test_decisions_of_choices_name_the_skipped_conditions() -> None:
    rules = Rules.from_text("choice size { default branch small  branch big all { a.n as number > 9; q == 3 } }\ndefault -> chat")
    message = {"a": {"n": "x"}}
    skipped = rules.skipped("size", message)
    assert [(item["branch"], "reason" in item) for item in skipped] == [("big", True), ("big", True)]
    text = json.dumps(message)
    live = rulec.LiveRules.from_text("choice size { default branch small  branch big all { a.n as number > 9; q == 3 } }")
    session = rules.session(entry="size")
    for decision in [
        rules.decide(message, entry="size"),
        rules.decide(rules.prepare(message), entry="size"),
        rules.decide_json(text, entry="size"),
        *rules.decide_many([message], entry="size"),
        *rules.decide_json_many([text, text], entry="size"),
        *rules.decide_json_many([text, text], entry="size", threads=2),
        session.decide(message),
        session.decide_json(text),
        live.decide(message, entry="size"),
        live.decide_json(text, entry="size"),
    ]:
        assert decision.branch == "small" and decision.skipped == skipped and decision.to_dict()["skipped"] == skipped
        assert "skipped" not in json.loads(decision.to_json())
        copied = pickle.loads(pickle.dumps(decision))
        assert copied.skipped == skipped and copied.to_dict() == decision.to_dict()
    assert rules.decide(message).skipped == [] and "skipped" not in rules.decide(message).to_dict()
    assert rules.decide({"a": {"n": 1}, "q": 3}, entry="size").skipped == []


def test_decisions_of_choices_keep_the_message_and_log_nothing(caplog: pytest.LogCaptureFixture) -> None:
    rules = Rules.from_text("choice size { default branch small  branch big { q == 3 } }")

    class Part(dict[str, Any]):
        pass

    message: dict[str, Any] = {"part": Part()}
    decisions = [rules.decide(message), rules.session().decide(message)]
    message["q"] = 3
    message["part"]["later"] = object()
    for decision in decisions:
        assert [item["branch"] for item in decision.skipped] == ["big"] and decision.to_dict()["skipped"]
    del message["part"]["later"]
    assert rules.decide(message).skipped == []
    time.sleep(0.1)
    assert records_of(caplog, 0) == []
    # A query reports what it finds.
    assert rules.skipped("size", {}) == decisions[0].skipped
    assert [name for name, _ in records_of(caplog, 1)] == ["rulec.choice"]
    # A decision inside its own message is garbage that Python finds.
    message["part"]["decision"] = rules.decide(message)
    part = weakref.ref(message["part"])
    del message, decisions, decision
    gc.collect()
    assert part() is None


def test_what_logs_and_tools_need() -> None:
    text = """
    input { user: string @private, amount: number }
    extern fn slow(text: string) -> int
    route large when amount > 9 and slow(user) > 2 -> desk(user: user, amount: amount)
    default -> chat
    payload refund rank 1 { card: { number: string @private }; amount: number default 5 }
    """

    def slow(text: str) -> int:
        time.sleep(0.01)
        return len(text)

    rules = Rules.from_text(text, functions={"slow": slow})
    decision = rules.decide({"user": "ann-7", "amount": 12})
    assert decision.args == {"user": "ann-7", "amount": 12} and decision.host_time >= 0.01
    assert decision.masked_args["amount"] == 12 and "ann-7" not in str(decision.masked_args)
    assert pickle.loads(pickle.dumps(decision)).masked_args == decision.masked_args
    assert "ann-7" not in str(rules.masked_message({"user": "ann-7", "amount": 12}))
    assert rules.texts == [("<text>", text)] and Rules.from_artifact(rules.to_artifact(strip_source=True), allow_missing_functions=True).texts != rules.texts
    # A tool without the functions of the program inspects the rules: the results of functions are missing.
    with pytest.raises(CompileError, match="slow"):
        Rules.from_text(text)
    inspected = Rules.from_text(text, allow_missing_functions=True)
    assert inspected.decide({"user": "ann-7", "amount": 12}).target == "chat" and inspected.analyse() == []
    for tier in ("auto", "vm", "jit"):
        Rules.from_text("default -> chat", tier=tier).warm_up()
    judge = rules.judge("refund")
    payload = {"card": {"number": "4711"}}
    judgement = judge.judge({"card": 4711})
    assert judgement.exceeded == [] and judgement.masked_correction is None
    corrected = judge.judge(payload)
    assert corrected.corrected == payload | {"amount": 5} and corrected.masked_correction is not None
    assert corrected.masked_correction["amount"] == 5 and "4711" not in str(corrected.masked_correction)
    assert "4711" not in str(judge.masked_payload(payload))
