"""Differential test: answers from Python must equal the answers of the reference evaluator in Rust.

``RULEC_TIMES=50`` runs fifty times as many programs; ``RULEC_SEED=1`` runs other programs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rulec import Rules, batch

ROOT = Path(__file__).parents[2]
EXAMPLE = ["--package", "rulec-arrow", "--features", "formats,jit", "--example", "random_programs"]


def is_long(text: str) -> bool:
    if "文" in text:
        raise ValueError("no opinion")
    return len(text.encode()) > 6


def score(text: str, n: int) -> float:
    # The remainder has the sign of the dividend, as in Rust.
    return len(text.encode()) / 3 + (n % 100 if n >= 0 else -(-n % 100))


def programs() -> Iterator[dict[str, Any]]:
    built = os.environ.get("RULEC_PROGRAMS")
    command = [built] if built else ["cargo", "run", "--quiet", "--locked", *EXAMPLE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    assert process.returncode == 0, command


# Answer keys for failed functions and exceeded limits. Engines may differ in these keys, because
# they may evaluate different conditions.
CHOSEN = ("failures", "exceeded")


def alike(one: str, other: str) -> bool:
    """True if two answers are equal; keys in which engines may differ are ignored."""
    if not any(f'"{name}":' in answer for answer in (one, other) for name in CHOSEN):
        return one == other
    first, second = json.loads(one), json.loads(other)
    for name in CHOSEN:
        first.pop(name, None), second.pop(name, None)
    return bool(first == second)


def is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def columns(messages: list[dict[str, Any]], typed: bool) -> tuple[pa.Table, list[str]]:
    """Returns messages as a table, and the names of its JSON columns.

    If ``typed``, columns that contain only texts are text columns; otherwise all columns are JSON.
    """
    names = sorted({name for message in messages for name in message})
    plain = {name for name in names if typed and all(is_text(message.get(name)) for message in messages)}
    told = {name: [json.dumps(message[name]) if name in message else None for message in messages] for name in names}
    told |= {name: [message.get(name) for message in messages] for name in plain}
    return pa.table({name: pa.array(values, pa.string()) for name, values in told.items()}), sorted({*names} - plain)


def answers(rules: Rules, entry: str, messages: list[dict[str, Any]], typed: bool) -> list[str]:
    table, told = columns(messages, typed)
    decided = batch.decide(rules, table, entry=entry, json=told, allow_missing=True, matched=True)
    return batch.lines(decided).decode().split("\n")[:-1]


def limit_ints(answer: str) -> str:
    """Returns an answer without each ``int`` argument that does not fit into an Int64 column.

    Such an argument is null in the answer columns, and nulls are left out.
    """

    def limited(match: re.Match[str]) -> str:
        return "" if int(match[1]) >= 2**63 else match[0]

    return re.sub(r'"(?:n|count)":(\d{19,20})(?:,|(?=}))', limited, answer, count=1)


def line(number: int, answer: str, matched: list[str]) -> str:
    """Returns an answer as a line of ``rulec run``."""
    names = json.dumps(matched, ensure_ascii=False, separators=(",", ":"))
    return f'{{"line":{number},{answer[1:-1]},"matched":{names}}}'


def check(program: dict[str, Any]) -> tuple[int, int]:
    """Decides all messages of a program through every API, and compares the answers.

    Returns the number of messages, and of messages that were also decided from text columns.
    """
    entry, cases = program["entry"], program["cases"]
    known: dict[str, Any] = {"is_long": is_long, "score": score}
    given = {name: function for name, function in known.items() if f"extern fn {name}(" in program["source"]}
    rules = Rules.from_text(program["source"], functions=given)
    messages = [json.loads(case["message"]) for case in cases]
    expected = [case["answer"] for case in cases]
    lines = [line(number, case["answer"], case["matched"]) for number, case in enumerate(cases, 1)]

    def same(found: list[str], wanted: list[str], way: str) -> None:
        for one, other, case in zip(found, wanted, cases, strict=True):
            where = f"{way}, seed {program['seed']}, {entry}: {case['message']}\n{program['source']}"
            limited = limit_ints(other) if way.startswith("columns") else other
            assert alike(one, other) or alike(one, limited), f"{where}\n{one}\n{other}"

    same([rules.decide(message, entry=entry).to_json() for message in messages], expected, "dicts")
    same([one.to_json() for one in rules.decide_many(messages, entry=entry)], expected, "many dicts")
    same([rules.decide_json(case["message"], entry=entry).to_json() for case in cases], expected, "texts")
    same([rules.decide(rules.prepare(message), entry=entry).to_json() for message in messages], expected, "prepared")
    assert [rules.matched(message, entry=entry) for message in messages] == [case["matched"] for case in cases]
    same(answers(rules, entry, messages, typed=False), lines, "columns of JSON")
    # Messages whose `text` and `now` are a text, null or missing. These can be text columns.
    texts = [at for at, message in enumerate(messages) if is_text(message.get("text")) and is_text(message.get("now"))]
    cases, messages = [cases[at] for at in texts], [messages[at] for at in texts]
    lines = [line(number, case["answer"], case["matched"]) for number, case in enumerate(cases, 1)]
    same(answers(rules, entry, messages, typed=True), lines, "columns of texts")
    return len(expected), len(texts)


def test_random_programs_are_answered_as_the_reference_answers() -> None:
    count = plain = 0
    targets = set[str]()
    for program in programs():
        asked, texts = check(program)
        count, plain = count + asked, plain + texts
        targets.update(json.loads(case["answer"]).get("target") or "" for case in program["cases"])
    assert count > 5000 and plain * 2 > count, (count, plain)
    assert len(targets) > 5, targets


@pytest.mark.parametrize("way", ["answer", "matched"])
def test_a_difference_is_found(way: str) -> None:
    """``check`` fails if one case has a wrong answer."""
    source = "route a when ctx.n > 3 -> h(n: ctx.n)\ndefault -> z"
    program: dict[str, Any] = {"seed": 0, "entry": "routes", "source": source, "cases": []}
    rules = Rules.from_text(program["source"])
    for n in (1, 4):
        message = {"ctx": {"n": n}}
        program["cases"].append({"message": json.dumps(message), "answer": rules.decide(message).to_json(), "matched": rules.matched(message)})
    assert check(program) == (2, 2)
    case = program["cases"][1]
    case[way] = case[way].replace('"n":4', '"n":5') if way == "answer" else []
    with pytest.raises(AssertionError):
        check(program)
