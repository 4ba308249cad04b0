"""Rules from other systems' JSON documents, and back."""

from __future__ import annotations

import asyncio
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from rulec import LiveRules, Router, RulecError, Rules, UnknownName, WatchedRules
from rulec._rulec import RulesInForce

FLOWS = {
    "flows": [
        {"flow_id": "greeting", "type": "keyword", "trigger_patterns": ["hello", " "], "match_type": "exact"},
        {"flow_id": "odd", "type": "keyword", "trigger_patterns": ["(?!x)"], "match_type": "regex"},
        {"flow_id": "status", "description": "says where an order is"},
    ]
}


EXAMPLES = Path(__file__).parents[2] / "examples" / "documents"


def _example(name: str) -> Any:
    return json.loads((EXAMPLES / name).read_text(encoding="utf-8"))


def test_one_bad_item_of_an_example_changes_no_other_answer() -> None:
    phone = {"step_id": "form", "type": "STRING", "name": "phone"}
    lookahead = {"left": phone, "operate": "REGEX_MATCH", "right": {"type": "STRING", "value": "0(?=1)"}}
    branch = {"branch_id": "bad", "is_default": False, "logic": "AND", "conditions": [lookahead]}
    route = {"name": "bad", "priority": 999, "handler": "h", "condition": {"type": "RegexCondition", "pattern": "a(?!b)"}}
    flow = {"flow_id": "bad", "type": "keyword", "trigger_patterns": [" "], "match_type": "contains"}
    examples: list[tuple[str, str, str, Any, Any]] = [
        ("routing", "routes", "routes", Rules.from_routes, route),
        ("choice", "choices", "after_scoring", Rules.from_choices, {**branch, "logic": "XOR"}),
        ("choice", "choices", "after_scoring", Rules.from_choices, branch),
        ("flows", "flows", "flows", Rules.from_flows, flow),
    ]
    for name, items, entry, load, bad in examples:
        document = _example(f"{name}.json")
        lines = (EXAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        expected = [load(document).decide(json.loads(line), entry=entry).to_dict() for line in lines]
        document[items].append(bad)
        rules = load(document)
        assert [rules.decide(json.loads(line), entry=entry).to_dict() for line in lines] == expected
        assert [item.name for item in rules.report if item.outcome == "skipped" and item.kind != "pattern"] == ["bad"]
        with pytest.raises(RulecError, match="bad"):
            load(document, strict=True)


def test_a_bad_item_is_skipped_and_reported() -> None:
    for document in (FLOWS, json.dumps(FLOWS), json.dumps(FLOWS).encode()):
        rules = Rules.from_flows(document)
        assert rules.decide({"text": " HELLO "}, entry="flows").flow == "greeting"
        outcomes = [(item.kind, item.name, item.outcome) for item in rules.report]
        assert outcomes == [
            ("flow", "greeting", "adapted"),
            ("pattern", " ", "skipped"),
            ("flow", "odd", "skipped"),
            ("flow", "status", "loaded"),
        ]
        assert rules.report[1].pointer == "/flows/0/trigger_patterns/1"
        assert rules.report[1].notes == ["this pattern is blank; remove it"]
        assert (rules.report[1].line is None) == isinstance(document, dict)
        assert rules.report[1].to_dict()["outcome"] == "skipped"
    with pytest.raises(RulecError, match="blank"):
        Rules.from_flows(FLOWS, strict=True)
    with pytest.raises(RulecError, match="needs `flows`"):
        Rules.from_flows({})


def test_a_value_that_is_no_json_is_skipped_without_a_line() -> None:
    bad = {"flow_id": "bad", "type": "keyword", "trigger_patterns": ["x"], "weight": float("nan")}
    good = {"flow_id": "good", "type": "keyword", "trigger_patterns": ["y"]}
    report = Rules.from_flows([bad, good]).report
    skipped = [item for item in report if item.outcome == "skipped"]
    assert [(item.name, item.line) for item in skipped] == [("bad", None)]
    with pytest.raises(RulecError, match="NaN, which JSON has no form for"):
        Rules.from_flows([bad, good], strict=True)
    with pytest.raises(RulecError, match="a key of type `int`"):
        Rules.from_flows([good, {1: "x"}])
    # Only values that are no JSON are skipped, so the key is an error here too.
    with pytest.raises(RulecError):
        Rules.from_flows([bad, {1: "x"}])


def test_routes_and_choices() -> None:
    text = {"type": "TextCondition", "contains": ["file"]}
    routes = [
        {"name": "files", "handler": "h", "condition": text},
        {"name": "odd", "handler": "h", "condition": {"type": "Odd"}},
    ]
    rules = Rules.from_routes(routes)
    assert rules.decide({"text": "my file"}).chosen == "files"
    assert [item.outcome for item in rules.report] == ["loaded", "skipped"]
    condition = {
        "left": {"step_id": "s", "type": "number", "value": "n"},
        "operate": "number_greater_than",
        "right": {"type": "number", "value": 3},
    }
    branches = [
        {"branch_id": "default"},
        {"branch_id": "many", "is_default": False, "logic": "and", "conditions": [condition]},
        {"branch_id": "odd", "is_default": False, "logic": "XOR", "conditions": [condition]},
    ]
    rules = Rules.from_choices(branches)
    assert rules.decide({"steps": {"s": {"n": 5}}}, entry="next_step").branch == "many"
    assert rules.report[-1].name == "odd" and rules.report[-1].outcome == "skipped"
    document, report = rules.export("choice")
    # The skipped branch is in the document again, so only a strict import refuses the document.
    again = Rules.from_choices(document)
    assert again.decide({"steps": {"s": {"n": 5}}}, entry="next_step").branch == "many"
    with pytest.raises(RulecError, match="choices\\[2\\].logic"):
        Rules.from_choices(document, strict=True)
    assert all(item.outcome == "loaded" for item in report)


def test_the_only_entry_decides() -> None:
    flows = [{"flow_id": "greet", "type": "keyword", "trigger_patterns": ["hi"], "match_type": "exact"}]
    rules = Rules.from_flows(flows)
    assert rules.decide({"text": "hi"}).flow == "greet"
    assert rules.decide_json('{"text": "hi"}').flow == "greet"
    assert rules.session().decide({"text": "hi"}).flow == "greet"
    step = [{"branch_id": "b", "is_default": True}]
    assert Rules.from_choices(step).decide({"steps": {}}).branch == "b"
    several = Rules.from_choices([{"id": "one", "choices": step}, {"id": "two", "choices": step}])
    with pytest.raises(UnknownName, match="name the `entry` that decides: one, two"):
        several.decide({"steps": {}})
    assert several.decide({"steps": {}}, entry="two").branch == "b"
    # Rules without any entry choose nothing.
    assert Rules.from_text("payload p { a: int }").decide({}).chosen is None


def test_the_context_of_payloads_is_used_and_pickled() -> None:
    context = {"workflows": {"good": {"status": "READY", "inputs": {}, "nodes": {}}, "bad": {"status": 7}}}
    rules = Rules.from_payload_context(context)
    assert [item.name for item in rules.report if item.outcome == "skipped"] == ["bad"]
    for loaded in (rules, pickle.loads(pickle.dumps(rules))):
        judge = loaded.judge("execute_workflow")
        payload = {"action_type": "execute_workflow"}
        assert judge.judge({**payload, "workflow_id": "good"}).is_accepted
        assert not judge.judge({**payload, "workflow_id": "bad"}).is_accepted
    assert Rules.from_text("default -> h").report == []


def test_own_rules_are_loaded_with_a_context_and_pickled() -> None:
    text = """
        extern fn known(name: string) -> bool
        input { context?: { workflows?: dict<any> } }
        payload run strict {
          id: string
          require "run.known" at id: context.workflows has_key id and known(id)
        }
    """
    own = Rules.from_text(text, functions={"known": _known})
    context = {"workflows": {"good": {"status": "READY"}, "bad": {"status": 7}}}
    rules = Rules.from_payload_context(context, rules=own)
    assert [item.name for item in rules.report if item.outcome == "skipped"] == ["bad"]
    for loaded in (rules, pickle.loads(pickle.dumps(rules))):
        judge = loaded.judge("run")
        assert judge.judge({"id": "good"}).is_accepted
        assert not judge.judge({"id": "bad"}).is_accepted
    with pytest.raises(RulecError, match="expected a text, found a number"):
        Rules.from_payload_context(context, strict=True, rules=own)


def _known(name: str) -> bool:
    return bool(name)


def test_flows_match_literally() -> None:
    flows = [{"flow_id": "us", "type": "keyword", "trigger_patterns": ["US"], "match_type": "exact"}]
    rules = Rules.from_flows(flows, literal=True)
    assert rules.decide({"text": "US"}, entry="flows").flow == "us"
    for text in ("us", " US"):
        assert rules.decide({"text": text}, entry="flows").flow is None
        assert Rules.from_flows(flows).decide({"text": text}, entry="flows").flow == "us"


def test_a_router_of_nodes_is_one_call() -> None:
    rules = Rules.from_text(
        """
        router loop_next(output) { when output.should_exit -> next[1]  otherwise -> next[0] loopback }
        router vote_next(output) { when output.approved -> next[0]  otherwise -> next[1] }
        """
    )

    class LoopProcessor:
        def get_next_nodes(self, output: dict[str, object], all_next_ids: list[str]) -> list[str]:
            if output.get("should_exit") is True:
                return all_next_ids[1:2] or all_next_ids
            return all_next_ids[:1]

    class VoteProcessor:
        def get_next_nodes(self, output: dict[str, object], all_next_ids: list[str]) -> list[str]:
            if output.get("approved") is True:
                return all_next_ids[:1]
            return all_next_ids[1:2] or all_next_ids

    for name, before in (("loop_next", LoopProcessor()), ("vote_next", VoteProcessor())):
        for value in (True, False, None, "true"):
            for next_ids in (["debate", "ballot"], ["debate"]):
                output: dict[str, object] = {"should_exit": value, "approved": value}
                assert rules.next_nodes(name, output, next_ids) == before.get_next_nodes(output, next_ids)


def test_an_analysis_is_a_record() -> None:
    rules = Rules.from_text(
        """
        intent refund { keywords ["refund"]  examples ["I want my money back"] }
        intent status { examples ["where is my order"] }
        lexicon urgency { "asap": 1.0 }
        let context_score = ctx.message_count / 10
        """
    )
    info = rules.analyze("refund order 7, asap", {"message_count": 4})
    assert (info["intent"], info["urgency"], info["context_score"]) == ("refund", 1.0, 0.4)
    entity = info["entities"][0]
    assert "refund order 7, asap"[entity["start"] : entity["end"]] == entity["value"] == "7"
    assert info["keywords"][0] == "refund"
    assert rules.analyze("hello", {})["context_score"] is None


def test_a_watched_document_skips_its_bad_items(tmp_path: Path) -> None:
    file = tmp_path / "bot.json"
    file.write_text(json.dumps(FLOWS))
    rules = WatchedRules(file)
    assert rules.decide({"text": "hello"}, entry="flows").flow == "greeting"
    skipped = [item.name for item in rules.status.report if item.outcome == "skipped"]
    assert skipped == [" ", "odd"]

    async def replace(text: str) -> None:
        change = rules.changed()
        file.write_text(text)
        await asyncio.wait_for(change, 20)

    async def watch() -> None:
        await replace(json.dumps(FLOWS).replace("hello", "good day"))
        assert rules.decide({"text": "good day"}, entry="flows").flow == "greeting"
        await replace("{")

    asyncio.run(watch())
    # No JSON: the last good version stays, with its report.
    assert (rules.status.loaded, rules.status.refused) == (2, 1)
    assert rules.status.error is not None and "line 1" in rules.status.error
    assert rules.decide({"text": "good day"}, entry="flows").flow == "greeting"
    assert [item.name for item in rules.status.report if item.outcome == "skipped"] == skipped


def test_a_watched_document_may_be_strict_literal_or_named(tmp_path: Path) -> None:
    file = tmp_path / "bot.json"
    file.write_text(json.dumps(FLOWS))
    with pytest.raises(RulecError, match="blank"):
        WatchedRules(file, strict=True)
    literal = WatchedRules(file, literal=True)
    assert literal.decide({"text": "Hello"}, entry="flows").flow is None
    file.rename(tmp_path / "bot")
    assert WatchedRules(tmp_path / "bot", system="flows").status.report
    with pytest.raises(UnknownName, match="songs"):
        WatchedRules(tmp_path / "bot", system="songs")
    plain = tmp_path / "a.rules"
    plain.write_text("default -> chat")
    assert WatchedRules(plain).status.report == []


def test_a_router_watches_a_document(tmp_path: Path) -> None:
    file = tmp_path / "router.json"
    text = {"type": "TextCondition", "contains": ["file"]}
    file.write_text(json.dumps([{"name": "files", "handler": "h", "condition": text}, {"name": "odd"}]))

    async def main() -> Any:
        router = Router(Rules.from_text("default -> h"), {"h": lambda request: request.route})
        watch = await router.watch(file)
        assert [item.outcome for item in watch.status.report] == ["loaded", "skipped"]
        with pytest.raises(RulecError, match="needs `handler`"):
            await router.watch(file, strict=True)
        return (await router.route({"text": "my file"})).reply

    assert asyncio.run(main()) == "files"


def test_the_context_of_a_watched_document_reaches_each_judge(tmp_path: Path) -> None:
    file = tmp_path / "guard.json"
    file.write_text(json.dumps({"workflows": {"sales": {"status": "READY"}, "odd": 7}, "subagents": {}}))
    watched = WatchedRules(file)
    assert [item.name for item in watched.status.report if item.outcome == "skipped"] == ["odd"]
    live: LiveRules = watched.rules
    for rules in (RulesInForce(watched).current(), RulesInForce(live).current(), live.snapshot()):
        judge = rules.judge("execute_workflow")
        for workflow, outcome in (("sales", "accept"), ("other", "reject")):
            assert judge.judge({"action_type": "execute_workflow", "workflow_id": workflow}).outcome == outcome
