"""Small things that users tripped over."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest

import rulec
from rulec import Classifier, CompileError, MessageError, Policy, Router, RulecError, Rules
from rulec.guard import Guard

DESK = Rules.from_text("""
input { text?: string  n?: number  price?: decimal }
route busy priority 5 when n > 3 -> queue(n: n, price: price) { kind: "list" }
default -> chat
""")


def test_the_version() -> None:
    assert rulec.__version__.count(".") == 2


def test_warnings_are_those_of_check() -> None:
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
    assert repr(flows) == "<Flows: 0 intents>" and "time_limit: Some(1s)" in repr(Policy(time_limit=1))
    assert repr(DESK.prepare({"n": 1})) == '<Prepared {"n":1}>' and repr(DESK.session()) == "<Session>"
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
        rules.decide_json_many(["{}", "{}", "{"], threads=2)
    # Of several invalid messages, the first is named, whichever thread finds it.
    with pytest.raises(MessageError, match="message 600: "):
        rules.decide_json_many([*["{}"] * 600, "{", *["{}"] * 1000, "{"], threads=2)
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
