"""Analysis, tests, comparisons and conditions of rules."""

from __future__ import annotations

import pytest

import rulec
from rulec import Condition, Rules, RulecError, UnknownName

SUPPORT = """
input { text: string, ctx?: { message_count?: int, secret?: string @private } }
route busy priority 5 when ctx.message_count > 3 -> queue
route very_busy priority 1 when ctx.message_count > 10 -> manager
route refund when text contains word "refund" -> billing(reason: text)
default -> chat
test "a refund goes to billing" { given text = "a refund please" expect refund }
test "a wrong expectation" { given text = "hello" expect refund }
"""


@pytest.fixture(scope="module")
def rules() -> Rules:
    return Rules.from_text(SUPPORT)


def test_analyse_finds_a_route_that_cannot_match(rules: Rules) -> None:
    findings = [finding for finding in rules.analyse() if "very_busy" in finding.diagnostic.message]
    assert findings, rules.analyse()
    assert findings[0].diagnostic.line == 4
    assert "very_busy" in str(findings[0])


def test_the_witness_of_a_finding_demonstrates_it() -> None:
    rules = Rules.from_text('input { n: int }\nroute a when n > 3 -> x\nroute b when n < 9 -> y')
    witnesses = [finding.witness for finding in rules.analyse(strict_ties=True) if finding.witness]
    assert witnesses
    assert set(rules.matched(witnesses[0])) == {"a", "b"}


def test_costs_and_overlaps_are_reported(rules: Rules) -> None:
    assert [table["table"] for table in rules.cost()] == ["routes"]
    pairs = rules.overlaps()
    assert "very_busy" in str(pairs)
    with pytest.raises(UnknownName, match="nowhere"):
        rules.overlaps("nowhere")


def test_test_blocks_run(rules: Rules) -> None:
    passed, failed = rules.run_tests()
    assert (passed.name, passed.passed, passed.explanation) == ("a refund goes to billing", True, None)
    assert (failed.passed, failed.expected, failed.actual) == (False, "refund", "default")
    assert failed.explanation is not None
    assert failed.explanation.chosen == "default"
    assert (failed.file, failed.line) == ("<text>", 8)


def test_versions_are_compared(rules: Rules) -> None:
    assert rules.diff(rules)["verdict"] == "same"
    newer = Rules.from_text(SUPPORT.replace("> 10", "> 10 and false").replace("> 3", "> 4"))
    report = rules.diff(newer)
    assert report["verdict"] == "different"
    message = report["entries"][0]["changes"][0]["examples"][0]["message"]
    assert rules.decide(message) != newer.decide(message)


def test_why_not_finds_the_change_that_leads_to_a_route(rules: Rules) -> None:
    message = {"text": "hello", "ctx": {"message_count": 2, "secret": "TOKEN"}}
    result = rules.why_not(message, "busy")
    assert "TOKEN" not in str(result)
    changed = result["remedy"]["change"]["fields"]
    assert [change["field"] for change in changed] == ["ctx.message_count"]
    with pytest.raises(UnknownName, match="busi"):
        rules.why_not(message, "busi")


def test_skipped_conditions_of_a_choice() -> None:
    rules = Rules.from_text(
        'choice next { default branch c  branch b any { steps.pay.paid == "no" } branch a any { steps.pay.paid == "yes" } }'
    )
    first, second = rules.skipped("next", {"steps": {}})
    assert (first["branch"], second["branch"]) == ("b", "a")
    assert "steps" in first["reason"]


def test_schemas_of_messages_and_arguments(rules: Rules) -> None:
    assert rules.input_schema()["properties"]["text"] == {"type": "string"}
    assert rules.args_schema("billing")["required"] == ["reason"]
    with pytest.raises(UnknownName, match="nobody"):
        rules.args_schema("nobody")


def test_conditions_are_compiled_from_text() -> None:
    condition = Condition.compile("rows > 10 and ${fetch.status} == \"ok\"")
    assert condition.holds({"rows": 12, "fetch": {"status": "ok"}})
    assert not condition.holds({"rows": 12})
    with pytest.raises(RulecError, match="write a condition"):
        Condition.compile(" ")


def test_all_errors_have_one_base_class(rules: Rules) -> None:
    with pytest.raises(RulecError):
        rules.decide_json("[]")
    with pytest.raises(ValueError, match="message"):
        rules.decide_json("[]")
    with pytest.raises(RulecError):
        rules.decide({"text": ""}, entry="nowhere")
    with pytest.raises(LookupError):
        rules.decide({"text": ""}, entry="nowhere")
    assert rulec.MessageError.__module__ == "rulec"
